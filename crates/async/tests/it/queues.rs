//! Queues of bytes that are to be written, of peers that do not read and owners that go.

use std::future::poll_fn;
use std::io::Read;
use std::os::unix::net::UnixStream as Peer;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mely::{Handle, Pending, Reply};
use mely_async::{PushError, UnixStream, WhenFull, WriteQueue, Writing};

use crate::support::{WAIT, bounded, dropped, eventually, runtime, silent_panic};

/// What a queue of 1000 bytes takes of pieces of 100.
const FULL: (usize, PushError) = (10, PushError::Full);

/// More than a Unix socket has room for.
const MUCH: usize = 1 << 20;

type Socket = std::os::unix::net::UnixStream;

fn queue(limit: usize, when_full: WhenFull) -> (WriteQueue, Writing<Socket>, Peer) {
    let (here, there) = Socket::pair().expect("a pair");
    there.set_read_timeout(Some(WAIT)).expect("a limit");
    let (_reader, writer) = UnixStream::from_std(here).expect("a socket").into_split();
    let (queue, writing) = writer.into_queue(limit, when_full);
    (queue, writing, there)
}

/// The same, of a stream that has no more room, as its peer does not read; what its peer has
/// not read is zeros.
fn stuck(limit: usize, when_full: WhenFull) -> (WriteQueue, Writing<Socket>, Peer) {
    let (here, there) = Socket::pair().expect("a pair");
    there.set_read_timeout(Some(WAIT)).expect("a limit");
    let (_reader, writer) = UnixStream::from_std(here).expect("a socket").into_split();
    while writer.as_stream().try_write(&[0; 4096]).is_ok() {}
    let (queue, writing) = writer.into_queue(limit, when_full);
    (queue, writing, there)
}

/// What the peer has read, but for the zeros.
fn after_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

/// A connection that does nothing but write.
fn connection(rt: &Handle, writing: Writing<Socket>) -> Reply<std::io::Result<()>> {
    rt.new_color().spawn(writing)
}

fn reason(ended: std::io::Result<()>) -> Option<PushError> {
    let error = ended.expect_err("it was cut off");
    error
        .get_ref()
        .and_then(|inner| inner.downcast_ref().copied())
}

fn push_until_refused(queue: &WriteQueue, bytes: &[u8]) -> (usize, PushError) {
    for count in 0..1_000_000 {
        if let Err(error) = queue.push(bytes) {
            return (count, error);
        }
    }
    panic!("there is always room");
}

fn rest_of(mut peer: Peer) -> Vec<u8> {
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).expect("the end");
    rest
}

#[test]
fn a_peer_that_never_reads_is_closed_and_costs_no_more_memory() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, mut writing, peer) = stuck(1000, WhenFull::Close);
        let ended = rt.new_color().spawn(async move {
            let other = writing.during(std::future::pending::<()>()).await;
            assert_eq!(other, None);
            writing.await
        });
        queue.push(&[1; 500]).expect("there is room");
        // The writer has taken it, and waits: there is as much room as before.
        rt.wait_idle();
        assert_eq!(queue.unwritten(), 500);
        assert_eq!(push_until_refused(&queue, &[1; 100]), (5, PushError::Full));
        assert_eq!(queue.push(&[1]), Err(PushError::Closed));
        assert!(queue.is_closed());
        assert_eq!(
            reason(ended.wait().expect("no panic")),
            Some(PushError::Full)
        );
        assert_eq!((queue.unwritten(), queue.shed()), (0, 1));
        assert!(after_zeros(&rest_of(peer)).is_empty());
    });
}

#[test]
fn a_peer_that_may_miss_something_misses_whole_messages() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, mut peer) = queue(10_000, WhenFull::Shed);
        let ended = connection(&rt, writing);
        let mut number = 0_u32;
        let mut sent = Vec::new();
        for _ in 0..3 {
            let mut refused = 0;
            while refused < 100 {
                match queue.push(&number.to_le_bytes().repeat(100)) {
                    Ok(()) => sent.push(number),
                    Err(error) => {
                        assert_eq!(error, PushError::Full);
                        refused += 1;
                    }
                }
                number += 1;
            }
            let mut message = [0; 400];
            for sent in sent.drain(..) {
                peer.read_exact(&mut message).expect("a message");
                assert_eq!(message, *sent.to_le_bytes().repeat(100));
            }
        }
        assert_eq!(queue.shed(), 300);
        drop(queue);
        ended.wait().expect("no panic").expect("all is written");
        assert!(rest_of(peer).is_empty());
    });
}

#[test]
fn what_is_too_long_for_an_empty_queue_is_refused() {
    let (queue, _writing, _peer) = queue(10, WhenFull::Shed);
    assert_eq!(queue.push(&[0; 11]), Err(PushError::Full));
    assert_eq!(queue.push(&[0; 10]), Ok(()));
    assert_eq!(queue.push(&[0; 1]), Err(PushError::Full));
    assert_eq!(queue.push(&[]), Ok(()));
    assert_eq!((queue.unwritten(), queue.shed()), (10, 2));
}

#[test]
fn a_runtime_ends_while_queues_are_full() {
    bounded(|| {
        let rt = runtime(2);
        let full: Vec<_> = (0..10)
            .map(|_| {
                let (queue, writing, peer) = stuck(1000, WhenFull::Shed);
                let ended = connection(&rt, writing);
                assert_eq!(push_until_refused(&queue, &[1; 100]), FULL);
                // The last handle of another one goes with the state of a color.
                let state = rt.colored(queue.clone());
                state.post(|_, _| ()).expect("it goes on");
                (queue, ended, peer)
            })
            .collect();
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        for (queue, ended, peer) in full {
            // Its task ended with the runtime, or found that no more was watched.
            assert!(ended.wait().is_ok_and(|ended| ended.is_err()) || queue.is_closed());
            assert_eq!(queue.push(&[1]), Err(PushError::Closed));
            assert_eq!(queue.unwritten(), 0);
            rest_of(peer);
        }
    });
}

#[test]
fn a_color_that_is_stopped_closes_its_connection_though_its_queue_is_full() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, peer) = stuck(1000, WhenFull::Shed);
        let color = rt.new_color();
        let ended = color.spawn(writing);
        assert_eq!(push_until_refused(&queue, &[1; 100]), FULL);
        color.stop(Pending::Drop);
        assert!(ended.wait().is_err());
        assert_eq!(queue.push(&[1]), Err(PushError::Closed));
        assert_eq!(queue.unwritten(), 0);
        rest_of(peer);
    });
}

struct LastWords(WriteQueue);

impl Drop for LastWords {
    fn drop(&mut self) {
        // Without the queue's lock, of whatever thread, and while nothing else may run.
        self.0.push(b" and goodbye").expect("there is room");
    }
}

#[test]
fn last_words_of_a_destructor_arrive() {
    bounded(|| {
        let rt = runtime(2);
        for stopped in [false, true] {
            let (queue, writing, peer) = queue(1000, WhenFull::Close);
            let ended = connection(&rt, writing);
            queue.push(b"hello").expect("there is room");
            let session = rt.colored(LastWords(queue));
            if stopped {
                session.stop(Pending::Drop);
            }
            drop(session);
            assert_eq!(rest_of(peer), b"hello and goodbye");
            ended.wait().expect("no panic").expect("all is written");
        }
    });
}

#[test]
fn what_waits_is_written_before_the_end() {
    bounded(|| {
        let rt = runtime(2);
        for closes in [false, true] {
            let (queue, writing, peer) = queue(MUCH, WhenFull::Close);
            let much: Vec<u8> = (0..MUCH).map(|at| (at % 251) as u8).collect();
            much.chunks(1000).for_each(|part| {
                queue.push(part).expect("there is room");
            });
            let ended = connection(&rt, writing);
            if closes {
                queue.close();
                assert_eq!(queue.push(b"x"), Err(PushError::Closed));
            } else {
                drop(queue);
            }
            assert!(rest_of(peer) == much);
            ended.wait().expect("no panic").expect("all is written");
        }
    });
}

#[test]
fn a_peer_that_takes_nothing_in_the_end_is_closed() {
    bounded(|| {
        let rt = runtime(2);
        for closes in [false, true] {
            let (queue, writing, peer) = stuck(1000, WhenFull::Shed);
            let ended = connection(&rt, writing.linger(Duration::from_millis(1)));
            queue.push(b"the end").expect("there is room");
            // Before the end is wished it waits for as long as the peer likes.
            rt.wait_idle();
            thread::sleep(Duration::from_millis(20));
            assert_eq!((queue.unwritten(), queue.is_closed()), (7, false));
            let _kept = closes.then(|| queue.clone());
            if closes {
                queue.close();
            }
            drop(queue);
            let error = ended.wait().expect("no panic").expect_err("it is stuck");
            assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
            assert!(after_zeros(&rest_of(peer)).is_empty());
        }
    });
}

/// The timer that ends its patience asks the connection's color for no room.
#[test]
fn a_peer_that_takes_nothing_in_the_end_is_closed_though_the_color_is_full() {
    bounded(|| {
        let rt = runtime(2);
        for capacity in [0, 3] {
            let (queue, writing, peer) = stuck(1000, WhenFull::Shed);
            let mut writing = writing.linger(Duration::from_millis(1));
            queue.push(b"the end").expect("there is room");
            drop(queue);
            let options = rt.color_options().capacity(capacity);
            let color = options.new_color().expect("no home was chosen");
            let full = color.clone();
            let ended = color.spawn(poll_fn(move |cx| {
                while full.post(|(), _| ()).is_ok() {}
                Pin::new(&mut writing).poll(cx)
            }));
            let error = ended.wait().expect("no panic").expect_err("it is stuck");
            assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
            assert!(after_zeros(&rest_of(peer)).is_empty());
        }
    });
}

#[test]
fn a_peer_that_is_slow_in_the_end_gets_all() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, mut peer) = stuck(MUCH, WhenFull::Shed);
        queue.push(&[1; MUCH]).expect("there is room");
        drop(queue);
        let ended = connection(&rt, writing.linger(Duration::from_secs(5)));
        let (mut bytes, mut ones) = (vec![0; 100_000], 0);
        while let count @ 1.. = peer.read(&mut bytes).expect("no error") {
            ones += bytes[..count].iter().filter(|byte| **byte == 1).count();
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ones, MUCH);
        ended.wait().expect("no panic").expect("all is written");
    });
}

#[test]
fn an_abort_ends_it_at_once() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, mut writing, peer) = queue(MUCH, WhenFull::Close);
        queue.push(&[1; MUCH]).expect("there is room");
        let ended = rt.new_color().spawn(async move {
            assert_eq!(writing.during(async { 5 }).await, Some(5));
            let waits = writing.during(std::future::pending::<()>()).await;
            (waits, reason(writing.await))
        });
        eventually("it writes", || queue.unwritten() < MUCH);
        queue.abort();
        queue.close();
        let (waits, why) = ended.wait().expect("no panic");
        assert_eq!((waits, why), (None, Some(PushError::Closed)));
        assert_eq!(queue.unwritten(), 0);
        assert!(rest_of(peer).len() < MUCH);
    });
}

#[test]
fn without_its_writer_a_queue_takes_nothing() {
    let (queue, mut writing, peer) = queue(100, WhenFull::Shed);
    queue.push(b"never written").expect("there is room");
    let (tells, quiet) = crate::support::Wakes::waker();
    // A future that is ready at once lets nothing be written.
    let ready = Pin::new(&mut Box::pin(writing.during(async {})))
        .as_mut()
        .poll(&mut Context::from_waker(&quiet));
    assert_eq!(ready, Poll::Ready(Some(())));
    drop(writing);
    assert_eq!((queue.unwritten(), tells.count()), (0, 0));
    assert_eq!(queue.push(b"x"), Err(PushError::Closed));
    assert!(rest_of(peer).is_empty());
}

#[test]
fn many_threads_push_and_nothing_is_torn() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, peer) = queue(5000, WhenFull::Shed);
        let ended = connection(&rt, writing);
        let threads: Vec<_> = (0..4_u8)
            .map(|thread| {
                let queue = queue.clone();
                thread::spawn(move || {
                    let pushed = (0..20_000_u32).filter(|number| {
                        let mut record = [thread; 20];
                        record[..4].copy_from_slice(&number.to_le_bytes());
                        queue.push(&record).is_ok()
                    });
                    pushed.collect::<Vec<_>>()
                })
            })
            .collect();
        drop(queue);
        let mut received: [Vec<u32>; 4] = Default::default();
        for record in rest_of(peer).chunks(20) {
            let thread = record[4];
            assert!(record[4..] == [thread; 16]);
            let number = u32::from_le_bytes(record[..4].try_into().expect("four bytes"));
            received[usize::from(thread)].push(number);
        }
        for (thread, received) in threads.into_iter().zip(received) {
            assert!(thread.join().expect("no panic") == received);
        }
        ended.wait().expect("no panic").expect("all is written");
    });
}

/// Does what it will with the queue when its writer is woken.
struct Meddler(Mutex<Option<WriteQueue>>, fn(WriteQueue));

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        let queue = self.0.lock().expect("no panic").take();
        if let Some(queue) = queue {
            (self.1)(queue);
        }
    }
}

#[test]
fn a_waker_may_push_close_drop_and_panic() {
    let meddles: [fn(WriteQueue); 5] = [
        |queue| queue.push(b"more").expect("there is room"),
        |queue| queue.close(),
        |queue| queue.abort(),
        |queue| drop(queue.clone()),
        |_queue| silent_panic(),
    ];
    for meddle in meddles {
        let (queue, mut writing, _peer) = queue(100, WhenFull::Close);
        let meddler = Arc::new(Meddler(Mutex::new(Some(queue.clone())), meddle));
        let waker = Waker::from(Arc::clone(&meddler));
        let polled = Pin::new(&mut writing).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        queue.push(b"first").expect("there is room");
        assert!(
            meddler.0.lock().expect("no panic").is_none(),
            "it was woken"
        );
        drop(queue);
    }
}

#[test]
fn a_session_that_has_its_own_queue_ends_with_its_connection() {
    bounded(|| {
        let rt = runtime(2);
        let (here, peer) = Socket::pair().expect("a pair");
        let (mut reader, writer) = UnixStream::from_std(here).expect("a socket").into_split();
        let (queue, mut writing) = writer.into_queue(1000, WhenFull::Close);
        let (alive, is_dropped) = dropped();
        let session = rt.colored((queue, alive));
        let ended = session.spawn(async move {
            let end = writing.during(reader.read(&mut [0; 1])).await;
            end.expect("nobody closes the queue")
        });
        drop(session);
        drop(peer);
        assert_eq!(ended.wait().expect("no panic").expect("the end"), 0);
        eventually("the session ends", is_dropped);
    });
}

#[test]
fn a_half_in_the_state_of_the_color_that_the_other_half_waits_under_keeps_it_no_longer() {
    bounded(|| {
        let rt = runtime(2);
        for peer_closes in [true, false] {
            let (here, peer) = Socket::pair().expect("a pair");
            let (mut reader, writer) = UnixStream::from_std(here).expect("a socket").into_split();
            let (alive, is_dropped) = dropped();
            let session = rt.colored((writer, alive));
            let reads = session.spawn(async move {
                let _ = reader.read(&mut [0; 1]).await;
            });
            if peer_closes {
                drop(peer);
                reads.wait().expect("no panic");
            } else {
                rt.wait_idle(); // it waits for its peer
                assert!(reads.cancel());
                drop(peer);
            }
            drop(session);
            eventually("the session ends", is_dropped);
        }
    });
}

#[test]
fn what_is_written_at_once_needs_no_writer() {
    bounded(|| {
        let (queue, writing, mut peer) = queue(1000, WhenFull::Close);
        assert_eq!(queue.write(b"hello"), Ok(()));
        let mut bytes = [0; 5];
        peer.read_exact(&mut bytes).expect("no one else writes");
        assert_eq!((&bytes, queue.unwritten()), (b"hello", 0));
        // What waits goes first.
        assert_eq!(queue.push(b"first,"), Ok(()));
        assert_eq!(queue.write(b" second"), Ok(()));
        assert_eq!(queue.unwritten(), 13);
        let rt = runtime(1);
        let ended = connection(&rt, writing);
        drop(queue);
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).expect("all of it");
        assert_eq!(rest, b"first, second");
        assert!(ended.wait().is_ok_and(|ended| ended.is_ok()));
    });
}

#[test]
fn what_there_is_no_room_for_waits_in_order_and_is_bounded() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, mut peer) = stuck(1000, WhenFull::Shed);
        let ended = connection(&rt, writing);
        let mut taken = 0;
        while queue.write(&[1 + taken as u8; 100]) == Ok(()) {
            taken += 1;
        }
        assert_eq!((taken, queue.unwritten(), queue.shed()), (10, 1000, 1));
        drop(queue);
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).expect("all of it");
        let expected: Vec<u8> = (1..=10).flat_map(|n| [n; 100]).collect();
        assert_eq!(after_zeros(&bytes), expected);
        assert!(ended.wait().is_ok_and(|ended| ended.is_ok()));
    });
}

#[test]
fn threads_that_write_and_push_mix_no_bytes() {
    bounded(|| {
        let rt = runtime(2);
        let (queue, writing, mut peer) = queue(MUCH, WhenFull::Close);
        let ended = connection(&rt, writing);
        let all = thread::scope(|scope| {
            for thread in 0..4u8 {
                let queue = queue.clone();
                scope.spawn(move || {
                    for n in 0..200u8 {
                        let line = [thread, n, thread, n];
                        let left = match n % 3 {
                            0 => queue.push(&line),
                            _ => queue.write(&line),
                        };
                        assert_eq!(left, Ok(()));
                    }
                });
            }
            drop(queue);
            let mut all = Vec::new();
            peer.read_to_end(&mut all).expect("all of it");
            all
        });
        let mut next = [0u8; 4];
        for line in all.chunks(4) {
            let thread = usize::from(line[0]);
            assert_eq!(line, [line[0], next[thread], line[0], next[thread]]);
            next[thread] += 1;
        }
        assert_eq!(next, [200; 4]);
        assert!(ended.wait().is_ok_and(|ended| ended.is_ok()));
    });
}

#[test]
fn who_writes_to_a_queue_that_was_closed_is_told() {
    let (queue, writing, _peer) = queue(10, WhenFull::Shed);
    assert_eq!(queue.write(&[0; 11]), Err(PushError::Full));
    drop(writing);
    assert_eq!(queue.write(b"late"), Err(PushError::Closed));
}
