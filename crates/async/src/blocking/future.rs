//! The result of a closure that runs on another thread.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use mely::Take;

use super::error::BlockingError;
use super::threads::{Job, Refusal, Threads, Ticket};
use crate::wake::{drop_safely, lock, wake_safely};

type Outcome<R> = Result<R, BlockingError>;

enum Answer<R> {
    Pending(Option<Waker>),
    Ready(Outcome<R>),
    /// Nobody wants it, or it was taken.
    Gone,
}

/// What a job and its future share.
struct Slot<R>(Mutex<Answer<R>>);

impl<R> Slot<R> {
    fn replace(&self, answer: Answer<R>) -> Answer<R> {
        std::mem::replace(&mut *lock(&self.0), answer)
    }
}

/// Answers once, with an error if it is dropped.
struct Answerer<R>(Option<Arc<Slot<R>>>);

impl<R> Answerer<R> {
    fn answer(&mut self, outcome: Outcome<R>) {
        let Some(slot) = self.0.take() else { return };
        let mut answer = lock(&slot.0);
        match &mut *answer {
            Answer::Pending(waker) => {
                let waker = waker.take();
                *answer = Answer::Ready(outcome);
                drop(answer);
                wake_safely(waker);
            }
            Answer::Ready(_) | Answer::Gone => {
                drop(answer);
                drop_safely(outcome);
            }
        }
    }
}

impl<R> Drop for Answerer<R> {
    fn drop(&mut self) {
        self.answer(Err(BlockingError::Ended));
    }
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> Box<str> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("its payload is no text").into()
}

/// A closure to run, and where its result will be.
pub(super) struct Work<R, F> {
    closure: F,
    slot: Arc<Slot<R>>,
}

impl<R: Send + 'static, F: FnOnce() -> R + Send + 'static> Work<R, F> {
    pub(super) fn new(closure: F) -> Self {
        let slot = Arc::new(Slot(Mutex::new(Answer::Pending(None))));
        Self { closure, slot }
    }

    /// The job for a thread, and the future of its result before it has a place.
    pub(super) fn start(self, threads: &Arc<Threads>) -> (Job, Blocking<R>) {
        let Self { closure, slot } = self;
        let mut answerer = Answerer(Some(Arc::clone(&slot)));
        let job = move || {
            let outcome = catch_unwind(AssertUnwindSafe(closure)).map_err(|panic| {
                let message = message_of(&*panic);
                drop_safely(panic);
                BlockingError::Panicked(message)
            });
            answerer.answer(outcome);
        };
        let blocking = Blocking {
            slot,
            threads: Arc::clone(threads),
            stage: Stage::Over,
        };
        (Box::new(job), blocking)
    }
}

/// What one has for himself: a closure may not be shared, but what it is in may.
struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the closure is.
enum Stage {
    /// Here, waiting for room in the queue.
    Waits(Take, Exclusive<Job>),
    /// In the queue, or with a thread.
    Placed(Ticket),
    Over,
}

/// The result of a closure that runs on a thread of a [`BlockingPool`](crate::BlockingPool):
/// a future, to be polled under any color and in any async runtime.
///
/// Dropped, it takes the closure back, if that has not begun: it is dropped unrun, by whoever
/// drops the future. So what the tasks of a runtime have queued does not outlive them. A closure
/// that runs goes on, and its result is dropped; [`detach`](Self::detach) lets one go on in any
/// case.
///
/// # Errors
///
/// A [`BlockingError`], also where the closure panicked.
#[must_use = "a closure that nobody waits for is taken back: await it, or detach it"]
pub struct Blocking<R> {
    slot: Arc<Slot<R>>,
    threads: Arc<Threads>,
    stage: Stage,
}

impl<R> Blocking<R> {
    pub(super) fn waits(&mut self, take: Take, job: Job) {
        self.stage = Stage::Waits(take, Exclusive(Mutex::new(job)));
    }

    pub(super) fn placed(&mut self, ticket: Ticket) {
        self.stage = Stage::Placed(ticket);
    }

    /// Nothing comes of it.
    pub(super) fn refused(&mut self, refusal: Refusal) {
        let error = match refusal {
            Refusal::Ended => BlockingError::Ended,
            Refusal::NoThread(error) => BlockingError::NoThread(error.kind()),
        };
        let before = self.slot.replace(Answer::Ready(Err(error)));
        drop_safely(before);
    }

    /// Lets the closure run though nobody waits for it, unless its pool ends before.
    ///
    /// ```
    /// use mely_async::BlockingPool;
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let pool = BlockingPool::shared();
    /// let tells = pool.try_spawn(move || tell.send("done")).map_err(|_| "full")?;
    /// assert!(tells.detach().is_ok());
    /// assert_eq!(told.recv()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The future, if the closure still waits for room in the queue, which takes somebody who
    /// polls. What [`try_spawn`](crate::BlockingPool::try_spawn) gives has its room.
    pub fn detach(mut self) -> Result<(), Self> {
        if matches!(self.stage, Stage::Waits(..)) {
            return Err(self);
        }
        self.stage = Stage::Over;
        Ok(())
    }

    /// The same, beyond what the queue has room for: for what the program believes done.
    pub(crate) fn insist(mut self) {
        if let Stage::Waits(_, job) = std::mem::replace(&mut self.stage, Stage::Over) {
            let job = job.into_inner();
            match self.threads.place() {
                Ok(place) => drop(place.put(job, None)),
                Err(_) => drop_safely(job),
            }
        }
    }

    /// Queues the closure, once there is room.
    fn poll_place(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Stage::Waits(take, _) = &mut self.stage else {
            return Poll::Ready(());
        };
        let room = ready!(Pin::new(take).poll(cx));
        if let Stage::Waits(_, job) = std::mem::replace(&mut self.stage, Stage::Over) {
            let (job, threads) = (job.into_inner(), Arc::clone(&self.threads));
            match threads.place() {
                // There is always room for one.
                Ok(place) => self.placed(place.put(job, room.ok())),
                Err(refusal) => {
                    self.refused(refusal);
                    drop_safely(job);
                }
            }
        }
        Poll::Ready(())
    }
}

impl<R> Future for Blocking<R> {
    type Output = Outcome<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.poll_place(cx));
        let waker = cx.waker().clone();
        let mut answer = lock(&self.slot.0);
        let (poll, before) = match std::mem::replace(&mut *answer, Answer::Gone) {
            Answer::Pending(before) => {
                *answer = Answer::Pending(Some(waker));
                (Poll::Pending, before)
            }
            Answer::Ready(outcome) => (Poll::Ready(outcome), Some(waker)),
            Answer::Gone => (Poll::Ready(Err(BlockingError::Ended)), Some(waker)),
        };
        drop(answer);
        drop_safely(before);
        if poll.is_ready() {
            self.stage = Stage::Over;
        }
        poll
    }
}

impl<R> Drop for Blocking<R> {
    fn drop(&mut self) {
        // First, or the job that is dropped would wake whoever waited.
        let before = self.slot.replace(Answer::Gone);
        drop_safely(before);
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Waits(take, job) => drop_safely((take, job)),
            Stage::Placed(ticket) => self.threads.take_back(ticket),
            Stage::Over => {}
        }
    }
}

impl<R> fmt::Debug for Blocking<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking")
            .field("waits_for_room", &matches!(self.stage, Stage::Waits(..)))
            .finish_non_exhaustive()
    }
}
