//! Tasks: futures that are polled only as events of a color.
//!
//! A future is in one place: in the [`Slot`] of its task while it waits, on the stack of
//! the event that polls it, or gone. Nothing of it is called under the slot's lock.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Weak};
use std::task::Wake;

use super::state::{Mark, TaskState};
use super::{Color, Colored};
use crate::cell::lives::EndsWithColor;
use crate::color::error::CallError;
use crate::color::reply::{self, Answerer, Reply};
use crate::color::spans::Inside;
use crate::event::handler::{Handler, HandlerOf};
use crate::machine::panics::{call_safely, drop_refused, drop_safely, message_of};
use crate::machine::probe;
use crate::machine::sync::{AtomicBool, AtomicUsize, Mutex, lock};
use crate::worker::Worker;

type Boxed<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// A future, and who waits for what comes of it.
struct Work<R>(Boxed<R>, Answerer<R>);

/// Where the future of a task is.
enum Slot<R> {
    Waiting(Work<R>),
    /// On the stack of the event that polls it, which looks here after.
    Polled,
    /// It has ended, or nobody will poll it again.
    Over,
}

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct Task<R: Send + 'static> {
    color: Color,
    /// What its polls are counted as: by the type of its future.
    handler: &'static Handler,
    /// What the one handle to the state of its color is known by, if it was given one.
    mark: Option<Mark>,
    /// A poll has been posted and has not begun.
    woken: AtomicBool,
    slot: Mutex<Slot<R>>,
    /// Its place among what ends with the color; [`UNLISTED`] if it has none.
    place: AtomicUsize,
}

const UNLISTED: usize = usize::MAX;

impl<R: Send + 'static> Task<R> {
    fn poll(self: &Arc<Self>, worker: &Worker) {
        // AcqRel pairs with the one in `schedule`: what the waker did before is seen.
        self.woken.swap(false, AcqRel);
        let Some(mut work) = self.take() else {
            return;
        };
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        let mark = Mark::address(self.mark.as_ref());
        let poll = || worker.poll_marked(mark, || work.0.as_mut().poll(&mut context));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => self.wait(work),
            Ok(Poll::Ready(result)) => self.end_with(work, Ok(result)),
            Err(panic) => {
                let message = message_of(&*panic);
                self.end_with(work, Err(CallError::Panicked(message)));
                resume_unwind(panic);
            }
        }
    }

    /// Puts the future back after a poll, unless the task is over.
    fn wait(&self, work: Work<R>) {
        let mut slot = lock(&self.slot);
        if matches!(*slot, Slot::Polled) {
            *slot = Slot::Waiting(work);
            return;
        }
        drop(slot);
        self.end_with(work, Err(CallError::Dropped));
    }

    /// Takes the future out to poll it, if it waits.
    fn take(&self) -> Option<Work<R>> {
        let mut slot = lock(&self.slot);
        match std::mem::replace(&mut *slot, Slot::Polled) {
            Slot::Waiting(work) => Some(work),
            Slot::Polled => None,
            Slot::Over => {
                *slot = Slot::Over;
                None
            }
        }
    }

    fn schedule(self: Arc<Self>) {
        // AcqRel: see `poll`.
        if self.woken.swap(true, AcqRel) {
            return;
        }
        let color = self.color.clone();
        let polls = color.with_handler(self.handler);
        let turn = Turn(Some(self));
        polls.post_always(move |(), cx| turn.run(cx.frame.worker));
    }

    /// Drops the future, so that whoever waits for the result knows. One that is
    /// being polled, perhaps by the caller, is dropped after the poll. Whether it was not over
    /// before.
    fn give_up(&self, drop: fn(Boxed<R>)) -> bool {
        let before = std::mem::replace(&mut *lock(&self.slot), Slot::Over);
        match before {
            Slot::Waiting(work) => self.end_by(drop, work, Err(CallError::Dropped)),
            Slot::Polled => {}
            Slot::Over => return false,
        }
        true
    }

    fn end_with(&self, work: Work<R>, answer: Result<R, CallError>) {
        *lock(&self.slot) = Slot::Over;
        self.end_by(drop_safely, work, answer);
    }

    /// Drops the future, and then answers.
    fn end_by(&self, drop: fn(Boxed<R>), work: Work<R>, answer: Result<R, CallError>) {
        // Relaxed: it was stored before the task was first posted.
        let place = self.place.swap(UNLISTED, Relaxed);
        if place != UNLISTED {
            let lives = self.color.color_ref().lives();
            lives.unlist(place, core::ptr::from_ref(self).cast());
        }
        let Work(future, answerer) = work;
        drop(future);
        // The result is the program's, too, and nobody may want it any more.
        call_safely(|| answerer.answer(answer));
    }
}

impl<R: Send + 'static> Drop for Task<R> {
    fn drop(&mut self) {
        // Whatever could have woken it is gone.
        self.give_up(drop_safely);
    }
}

impl<R: Send + 'static> Wake for Task<R> {
    fn wake(self: Arc<Self>) {
        self.schedule();
    }
}

impl<R: Send + 'static> EndsWithColor for Task<R> {
    fn end(&self) -> bool {
        self.give_up(drop_safely)
    }
}

/// A poll that was posted. If it is dropped instead of run, by a shutdown or with a
/// poisoned color, nobody will poll the task again.
struct Turn<R: Send + 'static>(Option<Arc<Task<R>>>);

impl<R: Send + 'static> Turn<R> {
    fn run(mut self, worker: &Worker) {
        if let Some(task) = self.0.take() {
            task.poll(worker);
        }
    }
}

impl<R: Send + 'static> Drop for Turn<R> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            // What it drops may spawn again.
            task.give_up(drop_refused);
        }
    }
}

impl<T: Send + 'static> Colored<T> {
    /// Runs a future under this color: it is polled only as an event of the color,
    /// so it never runs beside the color's other events.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let (from, to) = (rt.colored(10), rt.colored(0));
    /// let transfer = from.clone().spawn(async move {
    ///     let taken = from.call(|balance, _| std::mem::take(balance)).await?;
    ///     to.call(move |balance, _| { *balance += taken; *balance }).await
    /// });
    /// assert_eq!(transfer.wait(), Ok(Ok(10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<Fut>(&self, future: Fut) -> Reply<Fut::Output>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let (task, reply) = make_task(self.color(), None, HandlerOf::<Fut>::HANDLER, future);
        task.begin();
        reply
    }

    /// Runs a future under this color that reaches the color's state: `make` is called at
    /// once with a handle to it, and the future that it gives is polled as by
    /// [`spawn`](Self::spawn). Between two awaits [`TaskState::with`] lends the state,
    /// without an event and without a lock.
    ///
    /// Between the polls other events of the color run, and find and change the state.
    ///
    /// ```
    /// # use mely::{Runtime, TaskState};
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (account, bank) = (rt.colored(5), rt.colored(100));
    /// let task = account.spawn_with(async move |mut own: TaskState<i32>| {
    ///     let taken = bank.call(|balance, _| std::mem::take(balance)).await?;
    ///     Ok::<_, mely::CallError>(own.with(|balance| {
    ///         *balance += taken;
    ///         *balance
    ///     }))
    /// });
    /// assert_eq!(task.wait(), Ok(Ok(105)));
    /// assert_eq!(account.blocking_with(|balance| *balance), 105);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_with<F, Fut>(&self, make: F) -> Reply<Fut::Output>
    where
        F: FnOnce(TaskState<T>) -> Fut,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let mark = Mark::new();
        let state = TaskState::new(self.clone(), mark.clone());
        let handler = HandlerOf::<Fut>::HANDLER;
        let (task, reply) = make_task(self.color(), Some(mark), handler, make(state));
        task.begin();
        reply
    }
}

/// A task that has not been posted yet. Dropping it gives it up.
pub(super) struct NewTask<R: Send + 'static>(Arc<Task<R>>);

impl<R: Send + 'static> NewTask<R> {
    pub(super) fn weak(&self) -> Weak<dyn EndsWithColor> {
        let weak: Weak<Task<R>> = Arc::downgrade(&self.0);
        weak
    }

    /// Gives it up; what it drops may spawn again.
    pub(super) fn refuse(self) {
        self.0.give_up(drop_refused);
    }

    /// Lets it run.
    pub(super) fn begin(self) {
        self.0.schedule();
    }
}

/// Makes a task of `future`, to run under `color`.
pub(super) fn make_task<Fut>(
    color: Color,
    mark: Option<Mark>,
    handler: &'static Handler,
    future: Fut,
) -> (NewTask<Fut::Output>, Reply<Fut::Output>)
where
    Fut: Future + Send + 'static,
    Fut::Output: Send + 'static,
{
    let (answerer, reply) = reply::channel(color.color_ref().shared().number);
    let future = Inside::here().instrument(future);
    let work = Work(Box::pin(future) as Boxed<_>, answerer);
    let task = Arc::new(Task {
        color,
        handler,
        mark,
        woken: AtomicBool::new(false),
        slot: Mutex::new(Slot::Waiting(work)),
        place: AtomicUsize::new(UNLISTED),
    });
    probe::born(Arc::as_ptr(&task));
    let task = NewTask(task);
    if let Some(place) = task.0.color.color_ref().list(task.weak()) {
        // Relaxed: posting the task orders it.
        task.0.place.store(place, Relaxed);
    }
    let reply = reply.of_task(task.weak());
    (task, reply)
}
