//! Wakers belong to the program: to wake, clone or drop one may panic, post, or poll.
//!
//! None of it is done here under a lock, and a panic of one keeps nothing from the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Locks. What is locked in this crate is whole at any time, also after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls what may panic, and gives the panic back.
fn caught(call: impl FnOnce()) -> Option<Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call)).err()
}

/// Drops what may panic where nobody could handle that. The panic hook has heard of it.
pub(crate) fn drop_safely<T>(value: T) {
    if let Some(panic) = caught(|| drop(value)) {
        // The payload is the program's, too.
        if let Some(again) = caught(|| drop(panic)) {
            std::mem::forget(again);
        }
    }
}

/// Wakes where nobody could handle a panic.
pub(crate) fn wake_safely(waker: Option<Waker>) {
    drop_safely(Wakes(waker));
}

struct Wakes(Option<Waker>);

impl Drop for Wakes {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}

/// Wakes all of them, and then goes on with the first panic.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    let mut first = None;
    for waker in wakers {
        let panic = caught(|| waker.wake());
        match first {
            None => first = panic,
            Some(_) => drop_safely(panic),
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::Wake;

    struct Counts(AtomicU32, bool);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
            if self.1 {
                resume_unwind(Box::new("planted by a test"));
            }
        }
    }

    #[test]
    fn one_that_panics_keeps_nothing_from_the_others() {
        let counts = [true, false, true].map(|panics| Arc::new(Counts(AtomicU32::new(0), panics)));
        let wakers = counts.each_ref().map(|c| Waker::from(Arc::clone(c)));
        assert!(caught(|| wake_all(wakers)).is_some());
        assert!(counts.iter().all(|c| c.0.load(Relaxed) == 1));
        wake_safely(Some(Waker::from(Arc::clone(&counts[0]))));
        assert_eq!(counts[0].0.load(Relaxed), 2);
    }
}
