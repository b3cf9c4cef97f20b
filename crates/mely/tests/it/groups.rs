//! Groups: who awaits them, and what joins late.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mely::{CallError, Pending};

use crate::support::{bounded, eventually, runtime};

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_group_forgets_who_awaits_it_no_more() {
    bounded("forgets", || {
        let rt = runtime(1);
        let group = rt.group();
        let member = group.colored(Arc::new(()));
        let wakers = [(); 3].map(|()| Arc::new(Nothing));
        let mut over = Box::pin(group.over());
        for waker in &wakers {
            let waker = Waker::from(Arc::clone(waker));
            assert!(
                over.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        let kept = || wakers.each_ref().map(|waker| Arc::strong_count(waker) - 1);
        assert_eq!(kept(), [0, 0, 1], "the last counts");
        drop(over);
        assert_eq!(kept(), [0; 3]);
        // A member's task that looks once keeps its color no longer.
        let own = group.clone();
        let looked = member.spawn(async move {
            let mut over = pin!(own.over());
            poll_fn(|cx| Poll::Ready(over.as_mut().poll(cx).is_ready())).await
        });
        assert_eq!(looked.wait(), Ok(false));
        drop(member);
        eventually("it is over", || group.is_over());
    });
}

#[test]
fn a_group_that_was_stopped_polls_nothing() {
    bounded("polls nothing", || {
        for workers in [1, 2] {
            let (rt, polled) = (runtime(workers), Arc::new(AtomicU32::new(0)));
            let group = rt.group();
            group.stop(Pending::Run);
            for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
                let polls = Arc::clone(&polled);
                let reply = group.spawn(async move { polls.fetch_add(1, SeqCst) });
                assert_eq!(reply.wait(), Err(CallError::Dropped));
            }
            assert_eq!((polled.load(SeqCst), group.wait()), (0, Ok(())));
        }
    });
}

#[test]
fn a_member_of_another_runtime_does_not_wait_for_its_group() {
    bounded("two runtimes", || {
        let (ours, other) = (runtime(1), runtime(1));
        let group = ours.group();
        let member = group.adopt(other.new_color(), 1_u8);
        let waiting = group.clone();
        let waited = member.call(move |_, _| waiting.wait());
        assert_eq!(waited.wait(), Ok(Err(CallError::InsideHandler)));
        // One that comes while somebody waits, too.
        let group = ours.group();
        let kept = group.colored(1_u8);
        let waiting = group.clone();
        let waited = other.new_color().call(move |_, _| waiting.wait());
        let late = group.adopt(other.new_color(), 1_u8);
        assert_eq!(waited.wait(), Ok(Err(CallError::InsideHandler)));
        drop((kept, late));
        assert_eq!(group.wait(), Ok(()));
    });
}

#[test]
fn a_group_is_waited_for_no_longer_than_asked() {
    bounded("no longer", || {
        let rt = runtime(1);
        let group = rt.group();
        assert_eq!(group.wait_timeout(Duration::ZERO), Ok(true), "it is empty");
        let kept = group.colored(1_u8);
        for time in [Duration::ZERO, Duration::from_millis(1)] {
            assert_eq!(group.wait_timeout(time), Ok(false));
        }
        // It stops nobody, and what ends while it waits wakes it.
        assert!(!kept.is_stopped());
        let waiting = group.clone();
        let waits = std::thread::spawn(move || waiting.wait_timeout(Duration::MAX));
        drop(kept);
        assert_eq!(waits.join().expect("no panic"), Ok(true));
        // Inside of an event it does not block, however short.
        let other = runtime(1);
        let late = group.adopt(other.new_color(), 1_u8);
        for rt in [&rt, &other] {
            let group = group.clone();
            let inside = rt
                .new_color()
                .call(move |_, _| group.wait_timeout(Duration::ZERO));
            assert_eq!(inside.wait(), Ok(Err(CallError::InsideHandler)));
        }
        drop(late);
        assert_eq!(group.wait_timeout(Duration::from_secs(3600)), Ok(true));
    });
}
