//! The primitives that the protocols between threads use: the standard library's,
//! loom's when a model is checked, or a simulator's.

pub(crate) use std::sync::Arc;

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize},
};
#[cfg(all(not(loom), not(feature = "virtual")))]
pub(crate) use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize},
};

#[cfg(feature = "virtual")]
mod atomics;
#[cfg(feature = "virtual")]
mod mutex;
#[cfg(feature = "virtual")]
pub(crate) use self::atomics::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, AtomicUsize};
#[cfg(feature = "virtual")]
pub(crate) use self::mutex::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicU32;
/// A color's home is not part of what loom searches.
#[cfg(not(feature = "virtual"))]
pub(crate) use std::sync::atomic::AtomicU16;
/// Readiness is not simulated.
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::AtomicU32;

/// A flag that no simulator sees, which would count what it costs.
#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicBool as UnsimulatedBool;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::AtomicBool as UnsimulatedBool;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::fence;
#[cfg(all(miri, not(loom)))]
pub(crate) use std::sync::atomic::fence;

#[cfg(loom)]
pub(crate) use loom::thread::yield_now as give_way;
#[cfg(not(loom))]
pub(crate) use std::thread::yield_now as give_way;

/// Reads, with acquire, what a simulator is not told of.
#[inline]
pub(crate) fn load_untold<T>(pointer: &AtomicPtr<T>) -> *mut T {
    #[cfg(feature = "virtual")]
    return pointer.load_untold();
    #[cfg(not(feature = "virtual"))]
    pointer.load(std::sync::atomic::Ordering::Acquire)
}

/// Locks beside the protocols that loom searches: the standard library's, but a
/// simulator's where nothing may block the one thread that it has.
pub(crate) mod plain {
    #[cfg(feature = "virtual")]
    pub(crate) use super::mutex::Mutex;
    #[cfg(not(feature = "virtual"))]
    pub(crate) use std::sync::Mutex;
}

/// Goes on after a lock whatever a panicking holder left.
pub(crate) fn unpoison<G>(locked: Result<G, std::sync::PoisonError<G>>) -> G {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What holds a lock.
#[cfg(all(not(loom), not(feature = "virtual")))]
pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;
/// The same for loom's mutex.
#[cfg(loom)]
pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

/// Locks, and goes on with what a panicking holder left: every structure behind
/// our locks is consistent between any two operations.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoison(mutex.lock())
}

/// Waits until it is woken, for some reason or none, but no longer than so long: whether that
/// time is over.
pub(crate) fn wait_at_most<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    time: std::time::Duration,
) -> (MutexGuard<'a, T>, bool) {
    #[cfg(feature = "virtual")]
    return condvar.wait_at_most(guard, time);
    #[cfg(not(feature = "virtual"))]
    {
        let (guard, result) = unpoison(condvar.wait_timeout(guard, time));
        (guard, result.timed_out())
    }
}

/// Lets some time pass on a thread that waits outside of the workers.
pub(crate) fn pause(time: std::time::Duration) {
    #[cfg(feature = "virtual")]
    if crate::machine::simulated::hooks::pause(Some(time)) {
        return;
    }
    std::thread::sleep(time);
}
