//! Wakers that own what they wait for, and such as panic when they are dropped.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mely::{Budget, CallError, PostError, Runtime};

use crate::support::{Gate, OpenOnDrop, block_on, bounded, runtime, silent_panic};

/// A waker that owns a runtime.
struct Owner {
    _runtime: Mutex<Runtime>,
}

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

/// The reply drops its old waker, which drops the runtime, which drops the event, which
/// answers the reply.
#[test]
fn a_waker_that_owns_the_runtime_can_be_replaced() {
    bounded("a waker that owns the runtime", || {
        let rt = runtime(1);
        let (held, began) = (rt.new_color(), Gate::default());
        let began_there = began.clone();
        held.post_or_shed(move |(), cx| {
            began_there.arrive();
            let other = cx.handle().new_color();
            // Until the runtime has stopped: then what waits is dropped.
            while !matches!(other.post(|(), _| ()), Err(PostError::Closed(_))) {
                std::thread::yield_now();
            }
        });
        began.pass("the worker is held");
        let mut reply = Box::pin(held.call(|(), _| ()));
        let owner = Waker::from(Arc::new(Owner {
            _runtime: Mutex::new(rt),
        }));
        assert!(
            reply
                .as_mut()
                .poll(&mut Context::from_waker(&owner))
                .is_pending()
        );
        drop(owner);
        assert_eq!(block_on(reply), Err(CallError::Dropped));
    });
}

/// A waker whose destructor panics.
struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Bad {
    fn drop(&mut self) {
        silent_panic();
    }
}

/// Polls a future that has the last of a bad waker then.
fn keeps_bad<F: Future + Unpin>(future: &mut F) {
    let bad = Waker::from(Arc::new(Bad));
    assert!(
        Pin::new(future)
            .poll(&mut Context::from_waker(&bad))
            .is_pending()
    );
}

fn polled<F: Future + Unpin>(future: &mut F) {
    let another = &mut Context::from_waker(Waker::noop());
    assert!(Pin::new(future).poll(another).is_pending());
}

#[test]
fn a_waker_whose_destructor_panics_is_dropped_by_whoever_waits() {
    bounded("a bad destructor", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(1).new_color().expect("no home");
        let (begun, goes_on) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begins, waits) = (begun.clone(), goes_on.0.clone());
        color.post_or_shed(move |(), _| {
            begins.arrive();
            waits.pass("all have waited");
        });
        begun.pass("the worker is held");
        color.post_or_shed(|(), _| ());
        let (mut post, mut dropped) = (
            color.post_when_room(|(), _| ()),
            color.post_when_room(|(), _| ()),
        );
        let budget = Budget::new(1);
        let all = budget.try_take(1).expect("it is all there");
        let mut take = budget.take(1);
        let (mut call, mut late) = (
            rt.new_color().call(|(), _| 1),
            rt.new_color().call(|(), _| 2),
        );
        for _ in 0..2 {
            keeps_bad(&mut post);
            polled(&mut post);
            keeps_bad(&mut take);
            polled(&mut take);
            keeps_bad(&mut call);
            polled(&mut call);
        }
        keeps_bad(&mut dropped);
        drop(dropped);
        keeps_bad(&mut take);
        drop(take);
        keeps_bad(&mut late);
        let mut late = late.wait_timeout(Duration::ZERO).expect_err("held");
        keeps_bad(&mut late);
        drop((goes_on, all));
        assert!(block_on(post).is_ok() && block_on(budget.take(1)).is_ok());
        assert_eq!((call.wait(), late.wait()), (Ok(1), Ok(2)));
    });
}
