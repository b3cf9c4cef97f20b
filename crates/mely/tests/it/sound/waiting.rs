//! Wakers that own what they wait for.

use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use mely::{CallError, PostError, Runtime};

use crate::support::{Gate, block_on, bounded, runtime};

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
