//! Models of bounded colors: who waits for room beside who makes it, or takes it away.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::*;
use crate::color::Pending;
use crate::color::room::PostWhenRoom;

fn narrow(shared: &Arc<Shared>) -> Colored<Watched> {
    let traits = Traits {
        capacity: 1,
        ..shared.default_traits(0)
    };
    Colored::new(ColorRef::new(None, shared, 1, traits), Watched::new())
}

/// Polls until it is ready, sleeping in between until it is woken.
fn wait<F>(mut posting: PostWhenRoom<Watched, F>) -> bool
where
    F: FnOnce(&mut Watched, &mut crate::Context<'_, Watched>) + Send + 'static,
{
    for polls in 1.. {
        let gate = Gate::new();
        let waker = Waker::from(std::sync::Arc::clone(&gate));
        let polled = Pin::new(&mut posting).poll(&mut Context::from_waker(&waker));
        if let Poll::Ready(posted) = polled {
            return posted.is_ok();
        }
        assert!(polls < 4, "woken for nothing, again and again");
        gate.wait_for(1);
    }
    unreachable!("it polls for ever")
}

/// The event before it begins while somebody begins to wait: he comes to know.
#[test]
fn loom_who_waits_for_room_gets_it() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = narrow(&shared);
        let (first, second) = (color.clone(), color.clone());
        assert!(first.post(|list, _cx| _ = list.add(1)).is_ok());
        assert!(wait(second.post_when_room(|list, _cx| _ = list.add(2))));
        shared.enter(Phase::Draining);
        stop(&shared, vec![worker]);
    });
}

/// A color is stopped while somebody begins to wait for room in it: he is told.
#[test]
fn loom_who_waits_for_room_is_told_of_the_end() {
    loom::model(|| {
        let shared = shared(1);
        let color = narrow(&shared);
        assert!(color.post(|list, _cx| _ = list.add(1)).is_ok());
        let other = color.clone();
        let waiting = thread::spawn(move || {
            assert!(!wait(other.post_when_room(|list, _cx| _ = list.add(2))));
        });
        color.stop(Pending::Drop);
        waiting.join().unwrap();
        drop(color);
        let worker = start(&shared, 0);
        shared.enter(Phase::Draining);
        stop(&shared, vec![worker]);
    });
}
