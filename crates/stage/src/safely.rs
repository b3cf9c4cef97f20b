//! What the program brings may panic anywhere: in destructors, hooks, wakers.
//!
//! None of it is called under a lock here, and a panic of one thing keeps nothing from others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. What is locked in this crate is whole at any time, also after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls what may panic; `None` if it did. The panic hook has heard of it.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Some(result),
        Err(payload) => {
            forget_payload(payload);
            None
        }
    }
}

/// The payload is the program's, too: its destructor may panic.
fn forget_payload(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// Drops what may panic where nobody could handle that.
pub(crate) fn drop_safely<T>(value: T) {
    caught(|| drop(value));
}
