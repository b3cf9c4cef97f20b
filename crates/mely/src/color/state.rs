//! The state of a color in the hands of a task.
#![allow(unsafe_code)]

use core::fmt;
use core::ptr;
use std::sync::Arc;

use super::Colored;
use crate::color::error::CallError;
use crate::worker;

/// What one task is known by, for as long as anybody has its mark: its address is that of
/// no other.
#[derive(Clone)]
pub(super) struct Mark(Arc<u8>);

impl Mark {
    pub(super) fn new() -> Self {
        Self(Arc::new(0))
    }

    /// Where it is; null if there is none.
    pub(super) fn address(mark: Option<&Self>) -> *const () {
        mark.map_or(ptr::null(), |mark| Arc::as_ptr(&mark.0).cast())
    }
}

/// The state of a color, in the hands of a task: as
/// [`Colored::spawn_with`](crate::Colored::spawn_with) gives it.
///
/// It lends the state while that very task is polled, and at no other time: wherever else
/// it was brought, it refuses. There is one for each task, and it cannot be cloned.
///
/// The state is lent to a closure, so no await can lie between its beginning and its end:
///
/// ```compile_fail,E0728
/// # use mely::{Runtime, TaskState};
/// # let rt = Runtime::builder().workers(1).build().unwrap();
/// rt.colored(1).spawn_with(async |mut own: TaskState<i32>| {
///     own.with(|n| std::future::ready(*n).await);
/// });
/// ```
///
/// Nor can the closure let it out:
///
/// ```compile_fail
/// # use mely::{Runtime, TaskState};
/// # let rt = Runtime::builder().workers(1).build().unwrap();
/// rt.colored(1).spawn_with(async |mut own: TaskState<i32>| {
///     let kept: &mut i32 = own.with(|n| n);
///     std::future::ready(()).await;
///     *kept += 1;
/// });
/// ```
///
/// ```compile_fail,E0596
/// # use mely::{Runtime, TaskState};
/// # let rt = Runtime::builder().workers(1).build().unwrap();
/// rt.colored(1).spawn_with(async |own: TaskState<i32>| {
///     own.with(|n| *n); // it takes the handle as `mut`: two closures never lie in each other
/// });
/// ```
///
/// It lends a state of its own type, and of none that lives longer:
///
/// ```compile_fail
/// use mely::TaskState;
/// fn longer(own: TaskState<for<'a> fn(&'a str)>) -> TaskState<fn(&'static str)> {
///     own
/// }
/// ```
pub struct TaskState<T> {
    target: Colored<T>,
    mark: Mark,
}

impl<T: Send + 'static> TaskState<T> {
    /// The only one with this mark.
    pub(super) fn new(target: Colored<T>, mark: Mark) -> Self {
        Self { target, mark }
    }

    /// Lends the state to `section`, at once: no event, no lock, no waiting.
    ///
    /// What `section` sees is what the events of the color have made of the state since the
    /// last await.
    ///
    /// # Panics
    ///
    /// Where [`try_with`](Self::try_with) gives an error; and when `section` panics, as any
    /// call.
    #[track_caller]
    pub fn with<R>(&mut self, section: impl FnOnce(&mut T) -> R) -> R {
        match self.try_with(section) {
            Ok(result) => result,
            Err(error) => panic!("TaskState::with: {error}"),
        }
    }

    /// Like [`with`](Self::with), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// [`CallError::OutsideTask`] unless the task that it was made for is being polled by
    /// the caller: in another task or event, of the same color too; on a thread of its own;
    /// in a destructor that runs because the task was given up; in the function that makes
    /// the future, which is called before the first poll.
    pub fn try_with<R>(&mut self, section: impl FnOnce(&mut T) -> R) -> Result<R, CallError> {
        let mark = Mark::address(Some(&self.mark));
        let is_polled = |worker: Option<&worker::Worker>| worker.is_some_and(|w| w.polls(mark));
        if !worker::with_any_current(is_polled) {
            return Err(CallError::OutsideTask);
        }
        let mut state = self.target.state;
        // SAFETY: this thread polls the task with this mark, which it does in an event of
        // the task's color alone, so the color, and with it its state, is there. Of the
        // frames of this thread none but `section` has the state: that event has none of
        // its own, what runs inside of it is of another color (this one is owned), and no
        // other handle has this mark, which is borrowed until `section` returns. Other
        // threads do not reach the state while an event of the color is being run.
        Ok(section(unsafe { state.as_mut() }))
    }

    /// The color with its state, to post to and to call.
    pub fn colored(&self) -> &Colored<T> {
        &self.target
    }
}

impl<T> fmt::Debug for TaskState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskState").field(&self.target).finish()
    }
}
