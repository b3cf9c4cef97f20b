//! The primitives that the protocols between threads use: the standard library's,
//! or loom's when a model is checked.

pub(crate) use std::sync::Arc;

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize},
};

/// Goes on after a lock whatever a panicking holder left.
pub(crate) fn unpoison<G>(locked: Result<G, std::sync::PoisonError<G>>) -> G {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What holds a lock.
#[cfg(not(loom))]
pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;
/// The same for loom's mutex.
#[cfg(loom)]
pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

/// Locks, and goes on with what a panicking holder left: every structure behind
/// our locks is consistent between any two operations.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoison(mutex.lock())
}
