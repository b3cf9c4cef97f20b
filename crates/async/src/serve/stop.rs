//! A wish to end, and those who wait for it.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::wake::{drop_safely, lock, wake_safely};

#[derive(Default)]
struct Waiters {
    last: u64,
    wakers: BTreeMap<u64, Waker>,
}

#[derive(Default)]
struct Wish {
    /// Set once, under the lock, before the wakers are taken: who does not see it and is
    /// among them will be woken.
    stopped: AtomicBool,
    waiters: Mutex<Waiters>,
}

/// Tells a server and its connections to end in order. Clones are the same wish.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stop = mely_async::Stop::new();
/// let waits = rt.new_color().spawn(stop.stopped());
/// stop.stop();
/// assert_eq!(waits.wait(), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Stop(Arc<Wish>);

impl Stop {
    /// A wish that nobody has yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wishes the end: whoever waits for that is told, and who waits later too.
    pub fn stop(&self) {
        let wakers = {
            let mut waiters = lock(&self.0.waiters);
            // Release pairs with `is_stopped`.
            self.0.stopped.store(true, Release);
            std::mem::take(&mut waiters.wakers)
        };
        for waker in wakers.into_values() {
            wake_safely(Some(waker));
        }
    }

    /// Whether the end is wished.
    pub fn is_stopped(&self) -> bool {
        // Acquire pairs with `stop`.
        self.0.stopped.load(Acquire)
    }

    /// Waits until the end is wished. It may be polled anywhere.
    pub fn stopped(&self) -> Stopped {
        let number = {
            let mut waiters = lock(&self.0.waiters);
            waiters.last += 1;
            waiters.last
        };
        Stopped {
            stop: self.clone(),
            number,
            enlisted: None,
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_stopped()).finish()
    }
}

/// Waits for the wish to end ([`Stop::stopped`]).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Stopped {
    stop: Stop,
    number: u64,
    /// Whom the end wakes: connections poll this with each request, and need no lock then.
    enlisted: Option<Waker>,
}

impl Future for Stopped {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_enlisted = self.enlisted.as_ref();
        let is_enlisted = is_enlisted.is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_enlisted && !self.stop.is_stopped() {
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        let mut waiters = lock(&self.stop.0.waiters);
        let (poll, before) = match self.stop.is_stopped() {
            true => (Poll::Ready(()), Some(waker)),
            false => {
                let before = waiters.wakers.insert(self.number, waker);
                (Poll::Pending, before)
            }
        };
        drop(waiters);
        drop_safely(before);
        let enlisted = poll.is_pending().then(|| cx.waker().clone());
        drop_safely(std::mem::replace(&mut self.enlisted, enlisted));
        poll
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let waker = lock(&self.stop.0.waiters).wakers.remove(&self.number);
        drop_safely(waker);
        drop_safely(self.enlisted.take());
    }
}
