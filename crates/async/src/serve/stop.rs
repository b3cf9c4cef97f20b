//! A wish to end, and those who wait for it.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::wake::{drop_safely, lock, wake_safely};

#[derive(Default)]
struct Waiters {
    stopped: bool,
    last: u64,
    wakers: BTreeMap<u64, Waker>,
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
pub struct Stop(Arc<Mutex<Waiters>>);

impl Stop {
    /// A wish that nobody has yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wishes the end: whoever waits for that is told, and who waits later too.
    pub fn stop(&self) {
        let wakers = {
            let mut waiters = lock(&self.0);
            waiters.stopped = true;
            std::mem::take(&mut waiters.wakers)
        };
        for waker in wakers.into_values() {
            wake_safely(Some(waker));
        }
    }

    /// Whether the end is wished.
    pub fn is_stopped(&self) -> bool {
        lock(&self.0).stopped
    }

    /// Waits until the end is wished. It may be polled anywhere.
    pub fn stopped(&self) -> Stopped {
        let number = {
            let mut waiters = lock(&self.0);
            waiters.last += 1;
            waiters.last
        };
        Stopped {
            stop: self.clone(),
            number,
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
}

impl Future for Stopped {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut waiters = lock(&self.stop.0);
        let poll = match waiters.stopped {
            true => (Poll::Ready(()), Some(waker)),
            false => (Poll::Pending, waiters.wakers.insert(self.number, waker)),
        };
        drop(waiters);
        drop_safely(poll.1);
        poll.0
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let waker = lock(&self.stop.0).wakers.remove(&self.number);
        drop_safely(waker);
    }
}
