//! A critical section that borrows from its caller, who waits for it.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use super::{Colored, WithHandler};
use crate::color::context::Context;
use crate::color::error::CallError;
use crate::color::reply;
use crate::color::waits::wait_for;

/// What the caller keeps on its stack while it waits.
struct Section<F, R> {
    call: Option<F>,
    result: Option<R>,
}

/// The way to the caller's stack.
struct SectionPtr<F, R>(NonNull<Section<F, R>>);

// SAFETY: the closure and its result may move between threads, and the pointer is
// used by one thread at a time: the caller waits until the event is gone.
unsafe impl<F: Send, R: Send> Send for SectionPtr<F, R> {}

impl<F, R> SectionPtr<F, R> {
    /// # Safety
    ///
    /// The caller of the section is still waiting.
    unsafe fn run<T>(self, state: &mut T)
    where
        F: FnOnce(&mut T) -> R,
    {
        // SAFETY: the section lives on the stack of the waiting caller, which does
        // not touch it meanwhile.
        let section = unsafe { &mut *self.0.as_ptr() };
        if let Some(call) = section.call.take() {
            section.result = Some(call(state));
        }
    }
}

impl<T: Send + 'static> Colored<T> {
    /// Runs a critical section under this color, and blocks the calling thread until its
    /// result is there: the remote form of locking of *Migrating Critical-Section Execution to
    /// Improve the Performance of Multithreaded Applications*. The closure may borrow from the
    /// caller.
    ///
    /// # Panics
    ///
    /// Where [`try_blocking_with`](Self::try_blocking_with) gives an error: inside a handler of the same
    /// runtime (of any color: waiting there could wait for itself) or of one that it waits
    /// for, when the color is full, [stopped](Self::stop) or poisoned, after a shutdown or where
    /// one drops the event, and when the closure panics.
    #[track_caller]
    pub fn blocking_with<R, F>(&self, section: F) -> R
    where
        R: Send,
        F: FnOnce(&mut T) -> R + Send,
    {
        match self.try_blocking_with(section) {
            Ok(result) => result,
            Err(error) => panic!("Colored::blocking_with: {error}"),
        }
    }

    /// Like [`blocking_with`](Self::blocking_with), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// A [`CallError`] that says why there is no result.
    pub fn try_blocking_with<R, F>(&self, section: F) -> Result<R, CallError>
    where
        R: Send,
        F: FnOnce(&mut T) -> R + Send,
    {
        call_and_wait(&self.unnamed(), section)
    }
}

/// Runs `section` under the color and waits until it is done or dropped.
fn call_and_wait<T, R, F>(target: &WithHandler<'_, T>, section: F) -> Result<R, CallError>
where
    T: Send + 'static,
    R: Send,
    F: FnOnce(&mut T) -> R + Send,
{
    let runtime = target.target.color_ref().shared().number;
    let _waiting = wait_for(runtime)?;
    let mut section = Section {
        call: Some(section),
        result: None,
    };
    let pointer = SectionPtr(NonNull::from(&mut section));
    let (answerer, done) = reply::channel(runtime);
    let event = move |state: &mut T, _: &mut Context<'_, T>| {
        // It answers last, after a panic too: only then may the caller go on.
        // SAFETY: the caller waits for the answerer.
        answerer.answer_by(|| unsafe { pointer.run(state) });
    };
    // SAFETY: the event is gone when `block` returns: it has run, or was dropped,
    // and either way the answerer was dropped after the last use of the pointer.
    // So nothing that it borrows is used after this call.
    let event = unsafe { erase(event) };
    if let Err(refused) = target.or_of::<F>().post(event) {
        return Err(CallError::from(&refused));
    }
    done.block()?;
    section.result.ok_or(CallError::Dropped)
}

type AnyEvent<'a, T> = dyn FnOnce(&mut T, &mut Context<'_, T>) + Send + 'a;

/// An event that pretends to borrow nothing.
///
/// # Safety
///
/// The result must be gone before anything that `event` borrows is.
unsafe fn erase<'a, T>(
    event: impl FnOnce(&mut T, &mut Context<'_, T>) + Send + 'a,
) -> Box<AnyEvent<'static, T>> {
    let event: Box<AnyEvent<'a, T>> = Box::new(event);
    // SAFETY: only the lifetime changes, and the caller vouches for it.
    unsafe { core::mem::transmute(event) }
}
