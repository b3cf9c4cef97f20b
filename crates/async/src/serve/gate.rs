//! How many connections there may be.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use crate::wake::{drop_safely, lock, wake_safely};

#[derive(Default)]
struct Inside {
    count: usize,
    waker: Option<Waker>,
}

/// Counts who is inside. One waits before it.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<Mutex<Inside>>);

/// One who is inside, until this is dropped.
pub(super) struct Pass(Gate);

impl Gate {
    pub(super) fn enter(&self) -> Pass {
        lock(&self.0).count += 1;
        Pass(self.clone())
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.0).count
    }

    /// Waits until fewer than `max` are inside.
    pub(super) async fn fewer_than(&self, max: usize) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut inside = lock(&self.0);
            let (poll, before) = match inside.count < max {
                true => (Poll::Ready(()), Some(waker)),
                false => (Poll::Pending, inside.waker.replace(waker)),
            };
            drop(inside);
            drop_safely(before);
            poll
        })
        .await;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut inside = lock(&self.0.0);
        inside.count -= 1;
        let waker = inside.waker.take();
        drop(inside);
        wake_safely(waker);
    }
}
