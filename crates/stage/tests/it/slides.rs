//! Two ways in which the packet router of *Performance Aspects of the Staged Event-Driven
//! Architecture* went down, with protection off; and that it does not with protection on.

use std::os::unix::net::UnixStream as Peer;
use std::sync::mpsc::{Receiver, Sender, channel};

use mely::Runtime;
use mely_async::{UnixStream, WhenFull, WriteQueue};
use mely_sched::GovernorOptions;
use mely_sched::admission::{AdmissionChain, Class, ClassFilter, Tag};
use mely_stage::{Control, Ending, Manager, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

/// Much more of them than a socket has room for.
const PACKETS: usize = 2_000;
const PACKET: [u8; 4096] = [7; 4096];

/// The threshold of a connection's output.
const UNWRITTEN_MAX: usize = 64 << 10;

/// A connection whose peer never reads, with a threshold of its output.
fn clogged(rt: &Runtime, limit: usize, when_full: WhenFull) -> (WriteQueue, Peer) {
    let (here, there) = Peer::pair().expect("a pair");
    let (_reader, writer) = UnixStream::from_std(here).expect("a stream").into_split();
    let (queue, writing) = writer.into_queue(limit, when_full);
    rt.new_color().spawn(writing).detach();
    (queue, there)
}

/// Sends all packets to the peers by a stage that writes; gives the peers back with what waits.
fn route(limit: usize, when_full: WhenFull) -> [(usize, bool); 2] {
    let rt = runtime();
    let (stuck, _never_reads) = clogged(&rt, limit, when_full);
    let (other, _has_room) = clogged(&rt, limit, when_full);
    let peers = [stuck, other];
    let options = StageOptions::new().capacity(usize::MAX).colors(1);
    let connection = Manager::new(&rt).create("connection", options, {
        let peers = peers.clone();
        move |_| {
            let peers = peers.clone();
            // A connection that is cut refuses what comes: the packet has no route any more.
            each(move |peer: usize| _ = peers[peer].push(&PACKET))
        }
    });
    let connection = connection.expect("created");
    (0..PACKETS).for_each(|_| connection.sink().offer(0).expect("room"));
    (0..10).for_each(|_| connection.sink().offer(1).expect("room"));
    connection.destroy(Ending::Drain, LONG).expect("drained");
    assert_accounted(&connection.snapshot());
    peers.map(|peer| (peer.unwritten(), peer.is_closed()))
}

#[test]
fn a_clogged_connection_takes_all_memory_without_a_threshold() {
    let [(unwritten, is_closed), _] = route(usize::MAX, WhenFull::Shed);
    // All but what the socket has taken: nothing would end it but the memory.
    assert!(unwritten > PACKETS * PACKET.len() / 2, "{unwritten}");
    assert!(!is_closed);
}

#[test]
fn a_clogged_connection_is_closed_at_its_threshold_or_misses_packets() {
    let [(unwritten, is_closed), (_, is_other_closed)] = route(UNWRITTEN_MAX, WhenFull::Close);
    assert!(unwritten <= UNWRITTEN_MAX && is_closed, "{unwritten}");
    assert!(!is_other_closed, "others are served as before");
    let [(unwritten, is_closed), _] = route(UNWRITTEN_MAX, WhenFull::Shed);
    assert!(unwritten <= UNWRITTEN_MAX && !is_closed, "{unwritten}");
}

/// What waits in the router: packets, of which it keeps a list, and the timer that cleans it up.
enum Event {
    /// Overload: the router does nothing else until the other end is dropped.
    Busy(Receiver<()>),
    Query,
    CleanUp,
    HowMany(Sender<usize>),
}

/// A class of packets that may be dropped.
const QUERY: Class = Class::new(1);

/// Queries, or events, that may wait.
const THRESHOLD: u64 = 10;

fn router(rt: &Runtime, options: StageOptions<Event>) -> Control<Event> {
    let one = GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    };
    let options = options.threads(one).tag(|event| Tag {
        class: match event {
            Event::Query => QUERY,
            _ => Class::FIRST,
        },
        ..Tag::default()
    });
    let make = |_| {
        let mut recent = Vec::new();
        each(move |event| match event {
            // An error is what it waits for.
            Event::Busy(until) => _ = until.recv(),
            Event::Query => recent.push(PACKET),
            Event::CleanUp => recent.clear(),
            Event::HowMany(tell) => _ = tell.send(recent.len()),
        })
    };
    Manager::new(rt)
        .create("router", options, make)
        .expect("created")
}

/// The length of the list after each of some rounds of overload, with a timer in each.
fn lists(options: StageOptions<Event>) -> [usize; 5] {
    let rt = runtime();
    let router = router(&rt, options);
    [(); 5].map(|()| {
        let (over, until) = channel();
        let send = |event| rt.new_color().spawn(router.sink().offer_when_room(event));
        let sent = send(Event::Busy(until)).wait().expect("it runs");
        assert!(sent.is_ok());
        (0..5 * THRESHOLD).for_each(|_| _ = router.sink().offer_or_shed(Event::Query));
        router.sink().offer_or_shed(Event::CleanUp);
        drop(over);
        let (tell, told) = channel();
        let asked = send(Event::HowMany(tell)).wait().expect("it runs");
        assert!(asked.is_ok());
        told.recv_timeout(LONG).expect("an answer")
    })
}

#[test]
fn the_list_of_packets_grows_when_a_threshold_drops_its_timer_too() {
    let lengths = lists(StageOptions::new().capacity(THRESHOLD as usize));
    assert!(lengths.is_sorted_by(|a, b| a < b), "{lengths:?}");
}

#[test]
fn the_list_of_packets_stays_short_when_only_queries_are_dropped() {
    let filter = ClassFilter::new().with(QUERY, THRESHOLD);
    let chain = AdmissionChain::new().and(filter);
    assert_eq!(lists(StageOptions::new().admission(chain)), [0; 5]);
}
