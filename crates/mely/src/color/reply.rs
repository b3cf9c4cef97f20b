//! The answer to a call: awaited from any async runtime, or waited for.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::cell::lives::EndsWithColor;
use crate::cell::origin::RuntimeNumber;
use crate::color::error::CallError;
use crate::color::waits::{left_of, wait_for};
use crate::machine::panics::{call_safely, drop_safely, message_of};
use crate::machine::probe;
use crate::machine::sync::{
    Condvar, Mutex, MutexGuard, UnsimulatedBool, lock, unpoison, wait_at_most,
};
use crate::worker::{self, CallNumber, Worker};

enum Answer<R> {
    Pending(Waits),
    Ready(Result<R, CallError>),
    Taken,
}

impl<R> Answer<R> {
    /// Takes the answer; if there is none yet, notes that a thread waits, and gives who
    /// waited before.
    fn take_or_wait(&mut self) -> Result<Result<R, CallError>, Waits> {
        match std::mem::replace(self, Self::Taken) {
            Self::Ready(result) => Ok(result),
            Self::Taken => Ok(Err(CallError::Dropped)),
            Self::Pending(before) => {
                *self = Self::Pending(Waits::Thread);
                Err(before)
            }
        }
    }
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
    /// Whether the event has begun, or was cancelled before.
    claimed: UnsimulatedBool,
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
pub struct Reply<R> {
    slot: Arc<Slot<R>>,
    /// What works on it, if that is a task.
    task: Option<Weak<dyn EndsWithColor>>,
    /// What it is the answer of, if that is a call.
    call: CallNumber,
}

/// The other end: answers once, with an error if it is dropped.
pub(crate) struct Answerer<R>(Option<Arc<Slot<R>>>);

pub(crate) fn channel<R>(runtime: RuntimeNumber) -> (Answerer<R>, Reply<R>) {
    let slot = Arc::new(Slot {
        runtime,
        claimed: UnsimulatedBool::new(false),
        answer: Mutex::new(Answer::Pending(Waits::Nobody)),
        ready: Condvar::new(),
    });
    probe::born(Arc::as_ptr(&slot));
    let reply = Reply {
        slot: Arc::clone(&slot),
        task: None,
        call: CallNumber::default(),
    };
    (Answerer(Some(slot)), reply)
}

impl<R> Answerer<R> {
    pub(crate) fn answer(mut self, result: Result<R, CallError>) {
        self.put(result);
    }

    /// Whether the event is to begin: it was not cancelled, nor will it be.
    pub(crate) fn begins(&self) -> bool {
        // Relaxed: only who comes first matters; the event comes to both by other ways.
        self.0
            .as_ref()
            .is_some_and(|slot| !slot.claimed.swap(true, Relaxed))
    }

    /// Answers with what `work` gives; on a panic with what that says, and lets it go on.
    pub(crate) fn answer_by(self, work: impl FnOnce() -> R) {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => self.answer(Ok(result)),
            Err(panic) => {
                self.answer(Err(CallError::Panicked(message_of(&*panic))));
                resume_unwind(panic);
            }
        }
    }

    fn put(&mut self, result: Result<R, CallError>) {
        let Some(slot) = self.0.take() else { return };
        // Who has the answer finds the event counted.
        worker::with_any_current(|worker| {
            if let Some(worker) = worker {
                worker.count_ahead();
            }
        });
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
        let poisoned =
            worker::with_any_current(|worker| worker.is_some_and(Worker::drops_of_poisoned));
        self.put(Err(match poisoned {
            true => CallError::Poisoned,
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
        let _waiting = wait_for(self.slot.runtime)?;
        self.block()
    }

    /// Blocks the calling thread until the result is there, but no longer than this; gives
    /// the reply back then, to wait again, to await it, or to [cancel](Self::cancel) it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let slow = rt.new_color().call(move |_, _| told.recv().ok());
    /// let late = slow.wait_timeout(Duration::from_millis(1)).unwrap_err();
    /// tell.send(5)?;
    /// assert_eq!(late.wait(), Ok(Some(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reply itself when the time is over; within, as [`wait`](Self::wait).
    pub fn wait_timeout(self, timeout: Duration) -> Result<Result<R, CallError>, Self> {
        let waiting = match wait_for(self.slot.runtime) {
            Ok(waiting) => waiting,
            Err(error) => return Ok(Err(error)),
        };
        let answered = self.block_until(left_of(timeout));
        drop(waiting);
        answered.ok_or(self)
    }

    /// Takes the event back, if it has not begun: whether that was in time. Nobody learns the
    /// result in any case.
    ///
    /// An event that was taken back still comes to its turn, where its closure is dropped
    /// unrun. A task is not polled again, and its future is dropped now, or, if it is being
    /// polled, after that; `false` then means that it was over before.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let color = rt.colored(0);
    /// // What runs before it holds the color's only worker.
    /// let (begin, begun) = std::sync::mpsc::channel::<()>();
    /// color.post(move |_, _| drop(begun.recv()))?;
    /// let reply = color.call(|n, _| *n += 1);
    /// assert!(reply.cancel());
    /// drop(begin);
    /// assert_eq!(color.blocking_with(|n| *n), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(self) -> bool {
        match &self.task {
            Some(task) => task.upgrade().is_some_and(|task| task.end()),
            None => {
                // One that was dropped or refused is not there to be taken back. Asked first:
                // an event that was taken back answers, too, when it is dropped unrun.
                // Relaxed: see `begins`.
                self.is_pending() && !self.slot.claimed.swap(true, Relaxed)
            }
        }
    }

    /// Lets the event or the task go on without anybody who learns the result: says in the
    /// program that this is meant, where to drop a reply may be an oversight.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let (count, other) = (rt.colored(0), rt.new_color());
    /// let adds = count.clone();
    /// other.spawn(async move { adds.call(|n, _cx| *n += 1).await }).detach();
    /// while count.blocking_with(|n| *n) == 0 {}
    /// # Ok::<(), mely::BuildError>(())
    /// ```
    pub fn detach(self) {}

    fn is_pending(&self) -> bool {
        matches!(&*self.slot.lock(), Answer::Pending(_))
    }

    /// Notes the call that it is the answer of.
    pub(crate) fn note_call(&mut self, call: CallNumber) {
        self.call = call;
    }

    /// Notes the task that answers.
    pub(crate) fn of_task(self, task: Weak<dyn EndsWithColor>) -> Self {
        let task = Some(task);
        Self { task, ..self }
    }

    /// Blocks, wherever it is; returns only once there is an answer.
    pub(crate) fn block(self) -> Result<R, CallError> {
        // A waker from before is the program's: it is dropped last, without the lock.
        let mut waiter_before = Waits::Nobody;
        let mut answer = self.slot.lock();
        loop {
            match answer.take_or_wait() {
                Ok(result) => {
                    drop(answer);
                    drop_safely(waiter_before);
                    return result;
                }
                Err(Waits::Thread) => {}
                Err(before) => waiter_before = before,
            }
            answer = unpoison(self.slot.ready.wait(answer));
        }
    }

    /// Blocks until there is an answer, or nothing is left of the time.
    fn block_until(&self, left: impl Fn() -> Duration) -> Option<Result<R, CallError>> {
        let mut waiter_before = Waits::Nobody;
        let mut answer = self.slot.lock();
        let mut is_over = false;
        let answered = loop {
            match answer.take_or_wait() {
                Ok(result) => break Some(result),
                Err(Waits::Thread) => {}
                Err(before) => waiter_before = before,
            }
            if is_over {
                break None;
            }
            (answer, is_over) = wait_at_most(&self.slot.ready, answer, left());
        };
        drop(answer);
        drop_safely(waiter_before);
        answered
    }
}

impl<R> Future for Reply<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Not if it is answered: others' events would run for nothing.
        if self.call != CallNumber::default() && self.is_pending() {
            worker::run_called(self.slot.runtime, self.call);
        }
        // A waker is the program's: it is cloned before the lock is taken, and the one
        // before it, or this one if it is not needed, dropped after.
        let waker = cx.waker().clone();
        let mut answer = self.slot.lock();
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Ready(result) => {
                drop(answer);
                drop_safely(waker);
                Poll::Ready(result)
            }
            Answer::Taken => {
                drop(answer);
                drop_safely(waker);
                Poll::Ready(Err(CallError::Dropped))
            }
            Answer::Pending(before) => {
                *answer = Answer::Pending(Waits::Task(waker));
                drop(answer);
                worker::note_awaits(self.slot.runtime);
                drop_safely(before);
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
