//! A worker that does not come: what waits behind it is done by the others.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mely::net::UnixStream;
use mely::{Color, Handler, Policy, Runtime};

use crate::support::{Gate, OpenOnDrop, WAIT, bounded, eventually};

static BLOCKS: Handler = Handler::new("held_up::Blocks");
static READY: Handler = Handler::new("held_up::Ready");

/// A runtime of two, of which the first is held, by a handler that was short before, until
/// the gate opens.
fn held(policy: Policy) -> (Runtime, OpenOnDrop) {
    let builder = Runtime::builder().workers(2).policy(policy);
    let rt = builder.build().expect("a runtime");
    let blocker = at_first(&rt);
    for _ in 0..2_000 {
        blocker.via(&BLOCKS).post(|(), _| ());
    }
    rt.settle();
    let (began, goes_on) = (Gate::default(), Gate::default());
    let (begins, waits) = (began.clone(), goes_on.clone());
    let pinned = rt.color_options().pinned(0).fresh().expect("a worker");
    pinned.via(&BLOCKS).post(move |(), _| {
        begins.arrive();
        assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
    });
    began.pass("the first worker is held");
    (rt, OpenOnDrop(goes_on))
}

fn at_first(rt: &Runtime) -> Color {
    rt.color_options().home(0).fresh().expect("a worker")
}

#[test]
fn timers_fire_in_order_behind_a_handler_that_blocks() {
    bounded("timers behind a handler", || {
        let (rt, open) = held(Policy::Adaptive);
        let color = rt
            .color_options()
            .home(0)
            .colored(Vec::new())
            .expect("a worker");
        let fired = Gate::default();
        for n in [3, 1, 2] {
            let fired = fired.clone();
            color.post_after(Duration::from_millis(n), move |seen, _| {
                seen.push(n);
                fired.arrive();
            });
        }
        assert!(
            fired.wait_for(3, WAIT),
            "timers wait for a handler that blocks"
        );
        assert_eq!(color.with(std::mem::take), [1, 2, 3]);
        drop(open);
    });
}

#[test]
fn sockets_are_served_behind_a_handler_that_blocks() {
    bounded("sockets behind a handler", || {
        let builder = Runtime::builder().workers(2);
        let rt = builder.build().expect("a runtime");
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let connection = rt.color_options().home(0).colored(None).expect("a worker");
        let mut stream = UnixStream::new(ours).expect("non-blocking");
        let target = connection.clone();
        connection.with(move |slot: &mut Option<UnixStream>| {
            let watched = stream.watch(&target, &READY, |slot, _, _| echo(slot));
            watched.expect("a watch");
            *slot = Some(stream);
        });
        let (began, goes_on) = (Gate::default(), Gate::default());
        let open = OpenOnDrop(goes_on.clone());
        let (begins, waits) = (began.clone(), goes_on);
        let pinned = rt.color_options().pinned(0).fresh().expect("a worker");
        pinned.post(move |(), _| {
            begins.arrive();
            assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
        });
        began.pass("the first worker is held");
        for _ in 0..3 {
            (&theirs).write_all(b"hello").expect("room for it");
            let mut answer = [0; 5];
            (&theirs).read_exact(&mut answer).expect("an answer");
            assert_eq!(&answer, b"hello");
        }
        drop(open);
    });
}

fn echo(slot: &mut Option<UnixStream>) {
    let mut bytes = [0; 16];
    while let Some(stream) = slot {
        match stream.read(&mut bytes) {
            Ok(count @ 1..) => stream.write_all(&bytes[..count]).expect("room for it"),
            Ok(0) => *slot = None,
            Err(_) => return,
        }
    }
}

#[test]
fn colors_that_were_sent_to_a_held_worker_run_elsewhere_in_order() {
    for policy in [Policy::Adaptive, Policy::Mely, Policy::MelyBase] {
        bounded("colors behind a handler", move || {
            let (rt, open) = held(policy);
            let colors: Vec<_> = (0..50).map(|_| at_first(&rt).attach(Vec::new())).collect();
            let run = Arc::new(AtomicU32::new(0));
            for n in 0..10 {
                for color in &colors {
                    let run = Arc::clone(&run);
                    color.post(move |seen, _| {
                        seen.push(n);
                        run.fetch_add(1, SeqCst);
                    });
                }
            }
            eventually("events behind a held worker run", || {
                run.load(SeqCst) == 500
            });
            for color in &colors {
                assert!(color.with(std::mem::take).into_iter().eq(0..10));
            }
            assert!(rt.metrics().workers[0].takeovers > 0);
            drop(open);
        });
    }
}

#[test]
fn a_pinned_color_waits_for_its_worker() {
    bounded("a pinned color behind a handler", || {
        let (rt, open) = held(Policy::Adaptive);
        let pinned = rt.color_options().pinned(0).fresh().expect("a worker");
        let ran_on = pinned.call(|(), cx| cx.worker());
        // Something that may move, sent later, runs before.
        assert_eq!(at_first(&rt).call(|(), cx| cx.worker()).wait(), Ok(1));
        drop(open);
        assert_eq!(ran_on.wait(), Ok(0));
    });
}
