//! The answer to a call: awaited from any async runtime, or waited for.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use crate::cell::origin::RuntimeNumber;
use crate::color::error::CallError;
use crate::color::waits::wait_for;
use crate::machine::panics::call_safely;
use crate::machine::probe;
use crate::machine::sync::{Condvar, Mutex, MutexGuard, lock, unpoison};

enum Answer<R> {
    Pending(Waits),
    Ready(Result<R, CallError>),
    Taken,
}

/// Who waits for an answer.
enum Waits {
    Nobody,
    Task(Waker),
    /// A thread that blocks: to tell it is a call of the system.
    Thread,
}

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct Slot<R> {
    /// Who answers.
    runtime: RuntimeNumber,
    answer: Mutex<Answer<R>>,
    ready: Condvar,
}

impl<R> Slot<R> {
    fn lock(&self) -> MutexGuard<'_, Answer<R>> {
        lock(&self.answer)
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

pub(crate) fn channel<R>(runtime: RuntimeNumber) -> (Answerer<R>, Reply<R>) {
    let slot = Arc::new(Slot {
        runtime,
        answer: Mutex::new(Answer::Pending(Waits::Nobody)),
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
        match before {
            Answer::Pending(Waits::Thread) => slot.ready.notify_all(),
            // It may be a handler's panic that ends this, and a second one would end the
            // process.
            Answer::Pending(Waits::Task(waker)) => {
                call_safely(|| waker.wake());
            }
            _ => {}
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
    /// As when awaited; [`CallError::InsideHandler`] inside a handler of the same runtime,
    /// or of one that it waits for: that could wait for itself.
    pub fn wait(self) -> Result<R, CallError> {
        let _waiting = wait_for(self.0.runtime)?;
        self.block()
    }

    /// Blocks, wherever it is; returns only once there is an answer.
    pub(crate) fn block(self) -> Result<R, CallError> {
        // A waker from before is the program's: it is dropped last, without the lock.
        let mut _before = Waits::Nobody;
        let mut answer = self.0.lock();
        loop {
            match std::mem::replace(&mut *answer, Answer::Taken) {
                Answer::Ready(result) => return result,
                Answer::Taken => return Err(CallError::Dropped),
                Answer::Pending(before) => {
                    *answer = Answer::Pending(Waits::Thread);
                    if !matches!(before, Waits::Thread) {
                        _before = before;
                    }
                    answer = unpoison(self.0.ready.wait(answer));
                }
            }
        }
    }
}

impl<R> Future for Reply<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A waker is the program's: it is cloned before the lock is taken, and the one
        // before it, or this one if it is not needed, dropped after.
        let waker = cx.waker().clone();
        let mut answer = self.0.lock();
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Ready(result) => {
                drop(answer);
                Poll::Ready(result)
            }
            Answer::Taken => {
                drop(answer);
                Poll::Ready(Err(CallError::Dropped))
            }
            Answer::Pending(before) => {
                *answer = Answer::Pending(Waits::Task(waker));
                drop(answer);
                drop(before);
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
