//! A lock that is waited for in virtual time.
//!
//! Who holds it, and who waits in what order, the simulation knows; the standard
//! lock inside is free whenever the simulation lets somebody take it.

use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::machine::probe;
use crate::machine::region::Access;
use crate::machine::simulated::hooks;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

/// Its fields are dropped in their order: the lock is still held while the write
/// that frees it is under way.
pub(crate) struct MutexGuard<'a, T> {
    freeing: Freeing,
    held: std::sync::MutexGuard<'a, T>,
    freed: Freed,
    mutex: &'a Mutex<T>,
}

struct Freeing(u64);

impl Drop for Freeing {
    fn drop(&mut self) {
        probe::touch(
            core::ptr::without_provenance::<u8>(self.0 as usize),
            Access::Write,
        );
    }
}

struct Freed(u64);

impl Drop for Freed {
    fn drop(&mut self) {
        hooks::tell(|hooks| hooks.unlocked(self.0));
    }
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    fn address(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }

    fn guard<'a>(&'a self, held: std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let address = self.address();
        MutexGuard {
            freeing: Freeing(address),
            held,
            freed: Freed(address),
            mutex: self,
        }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        hooks::tell(|hooks| hooks.lock(self.address()));
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.guard(held))
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if hooks::ask(|hooks| hooks.try_lock(self.address())) == Some(false) {
            return Err(TryLockError::WouldBlock);
        }
        match self.0.try_lock() {
            Ok(held) => Ok(self.guard(held)),
            Err(TryLockError::Poisoned(left)) => Ok(self.guard(left.into_inner())),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// What a thread outside of the workers waits for: in a simulation, by letting the
/// workers run.
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    /// The same, no longer than so long: whether that is over.
    pub(crate) fn wait_at_most<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let mutex = guard.mutex;
        if hooks::are_there() {
            drop(guard);
            hooks::pause(Some(time));
            return (mutex.lock().unwrap_or_else(PoisonError::into_inner), true);
        }
        let MutexGuard {
            held,
            freeing,
            freed,
            ..
        } = guard;
        let waited = self.0.wait_timeout(held, time);
        let (held, result) = waited.unwrap_or_else(PoisonError::into_inner);
        let guard = MutexGuard {
            freeing,
            held,
            freed,
            mutex,
        };
        (guard, result.timed_out())
    }

    /// Wakes for no reason, too.
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        if hooks::are_there() {
            drop(guard);
            hooks::pause(None);
            return mutex.lock();
        }
        let MutexGuard {
            held,
            freeing,
            freed,
            ..
        } = guard;
        let held = self.0.wait(held).unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard {
            freeing,
            held,
            freed,
            mutex,
        })
    }
}
