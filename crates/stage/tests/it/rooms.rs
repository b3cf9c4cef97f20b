//! Futures that wait for room.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};

use mely_stage::{Control, Ending, Manager, Refusal, Reservation, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

/// Counts how often it wakes, and panics then.
struct Panics(AtomicU32);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
        std::panic::resume_unwind(Box::new("in a waker"));
    }
}

/// A stage with room for one, which is taken.
fn full(rt: &mely::Runtime) -> (Control<u32>, Reservation<u32>) {
    let options = StageOptions::new().colors(1).capacity(1);
    let stage = Manager::new(rt).create("full", options, |_| each(|_| ()));
    let stage = stage.expect("created");
    let place = stage.sink().reserve(&0).expect("room");
    (stage, place)
}

#[test]
fn who_waits_is_woken_by_room_though_wakers_panic() {
    let rt = runtime();
    let (stage, place) = full(&rt);
    let wakes = [(); 3].map(|()| Arc::new(Panics(AtomicU32::new(0))));
    let sink = stage.sink();
    let mut waiting = [1, 2, 3].map(|n| Box::pin(sink.offer_when_room(n)));
    for (offer, wake) in waiting.iter_mut().zip(&wakes) {
        let waker = Waker::from(Arc::clone(wake));
        let polled = offer.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    stage.set_capacity(2);
    let woken = || wakes.each_ref().map(|wake| wake.0.load(Relaxed));
    assert_eq!(woken(), [1, 0, 0]);
    // Who was woken and goes passes it on.
    let [first, mut second, third] = waiting;
    drop(first);
    assert_eq!(woken(), [1, 1, 0]);
    let polled = second
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(()))));
    place.fill(0);
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(woken(), [1, 1, 1]);
    let polled = pin!(third).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(refused)) if refused.why == Refusal::Closed));
    assert_eq!(assert_accounted(&stage.snapshot()).handled, 2);
}

#[test]
fn nobody_waits_for_room_that_never_comes() {
    let rt = runtime();
    let (stage, _place) = full(&rt);
    stage.set_capacity(0);
    let polled =
        pin!(stage.sink().offer_when_room(7)).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(refused)) if refused.why == Refusal::Full));
    let polled = pin!(stage.sink().room()).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_ready());
}

#[test]
fn many_writers_through_a_queue_of_one_lose_nothing() {
    let rt = runtime();
    let options = StageOptions::new().capacity(1);
    let stage = Manager::new(&rt).create("narrow", options, |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    let writers: Vec<_> = (0..10)
        .map(|_| {
            let sink = stage.sink();
            rt.new_color().spawn(async move {
                for n in 0..100 {
                    sink.offer_when_room(n).await.expect("taken");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.wait().expect("no panic");
    }
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(assert_accounted(&stage.snapshot()).handled, 1_000);
}
