//! The answer to a call: awaited from any async runtime, or waited for.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, PoisonError};

use crate::error::CallError;
use crate::probe;
use crate::shared::Shared;
use crate::sync::plain::{Condvar, Mutex, MutexGuard};
use crate::worker;

enum Answer<R> {
    Pending(Option<Waker>),
    Ready(Result<R, CallError>),
    Taken,
}

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct Slot<R> {
    /// The address of the runtime that answers.
    runtime: usize,
    answer: Mutex<Answer<R>>,
    ready: Condvar,
}

impl<R> Slot<R> {
    fn lock(&self) -> MutexGuard<'_, Answer<R>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a [`call`](crate::Colored::call) or of a task: a future for any
/// async runtime. Dropping it does not take the event back.
///
/// # Errors
///
/// The output is a [`CallError`] if the event was refused, dropped or panicked.
#[must_use = "the result arrives only when it is awaited or waited for"]
pub struct Reply<R>(Arc<Slot<R>>);

/// The other end: answers once, with an error if it is dropped.
pub(crate) struct Answerer<R>(Option<Arc<Slot<R>>>);

pub(crate) fn channel<R>(shared: &crate::sync::Arc<Shared>) -> (Answerer<R>, Reply<R>) {
    let slot = Arc::new(Slot {
        runtime: crate::sync::Arc::as_ptr(shared).addr(),
        answer: Mutex::new(Answer::Pending(None)),
        ready: Condvar::new(),
    });
    probe::born(Arc::as_ptr(&slot));
    (Answerer(Some(Arc::clone(&slot))), Reply(slot))
}

impl<R> Answerer<R> {
    pub(crate) fn answer(mut self, result: Result<R, CallError>) {
        self.put(result);
    }

    fn put(&mut self, result: Result<R, CallError>) {
        let Some(slot) = self.0.take() else { return };
        let before = std::mem::replace(&mut *slot.lock(), Answer::Ready(result));
        slot.ready.notify_all();
        if let Answer::Pending(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<R> Drop for Answerer<R> {
    fn drop(&mut self) {
        self.put(Err(match std::thread::panicking() {
            true => CallError::Panicked,
            false => CallError::Dropped,
        }));
    }
}

impl<R> Reply<R> {
    /// Blocks the calling thread until the result is there.
    ///
    /// # Errors
    ///
    /// As when awaited; [`CallError::InsideHandler`] inside a handler of the same
    /// runtime, where waiting could wait for itself.
    pub fn wait(self) -> Result<R, CallError> {
        let here = worker::with_any_current(|worker| {
            worker.map(|worker| crate::sync::Arc::as_ptr(worker.shared()).addr())
        });
        if here == Some(self.0.runtime) {
            return Err(CallError::InsideHandler);
        }
        let mut answer = self.0.lock();
        loop {
            match std::mem::replace(&mut *answer, Answer::Taken) {
                Answer::Ready(result) => return result,
                Answer::Taken => return Err(CallError::Dropped),
                pending @ Answer::Pending(_) => {
                    *answer = pending;
                    let woken = self.0.ready.wait(answer);
                    answer = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl<R> Future for Reply<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = self.0.lock();
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Ready(result) => Poll::Ready(result),
            Answer::Taken => Poll::Ready(Err(CallError::Dropped)),
            Answer::Pending(_) => {
                *answer = Answer::Pending(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
