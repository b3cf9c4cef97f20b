//! How long locks take: waiting for them, and all the rest.

#[cfg(not(loom))]
use std::sync::TryLockError;

use crate::machine::clock::Clock;
use crate::machine::sync::{Mutex, MutexGuard, lock};

/// Who locks, and may want to know how long that takes.
pub(crate) trait Waiter {
    /// Waits for a lock that another thread has.
    fn wait<G>(&mut self, lock: impl FnOnce() -> G) -> G;
}

/// Locks as [`lock`] does, on behalf of `waiter`.
#[cfg(not(loom))]
#[inline]
pub(crate) fn lock_by<'a, T>(waiter: &mut impl Waiter, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    match mutex.try_lock() {
        Ok(locked) => locked,
        Err(TryLockError::Poisoned(left)) => left.into_inner(),
        Err(TryLockError::WouldBlock) => waiter.wait(|| lock(mutex)),
    }
}

/// The same; to try first would only double what loom searches.
#[cfg(loom)]
pub(crate) fn lock_by<'a, T>(waiter: &mut impl Waiter, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    waiter.wait(|| lock(mutex))
}

/// Nobody wants to know.
pub(crate) struct Untimed;

impl Waiter for Untimed {
    fn wait<G>(&mut self, lock: impl FnOnce() -> G) -> G {
        lock()
    }
}

/// Measures waiting and the rest, both without what reading the counter takes.
pub(crate) struct LockTimer<'a> {
    clock: &'a dyn Clock,
    reading_cycles: u64,
    last: u64,
    waiting: u64,
    working: u64,
}

impl<'a> LockTimer<'a> {
    /// Begins before the first lock.
    #[inline]
    pub(crate) fn begin(clock: &'a dyn Clock, reading_cycles: u64) -> Self {
        Self {
            clock,
            reading_cycles,
            last: clock.cycles(),
            waiting: 0,
            working: 0,
        }
    }

    /// Tells the cycles of waiting and those of the rest, after the last lock.
    #[inline]
    pub(crate) fn end(mut self, tell: impl FnOnce(u64, u64)) {
        self.working += self.lap();
        tell(self.waiting, self.working);
    }

    /// The cycles since the last reading.
    #[inline]
    fn lap(&mut self) -> u64 {
        let now = self.clock.cycles();
        let since = now.saturating_sub(self.last);
        self.last = now;
        since.saturating_sub(self.reading_cycles)
    }
}

impl Waiter for LockTimer<'_> {
    #[cold]
    fn wait<G>(&mut self, lock: impl FnOnce() -> G) -> G {
        self.working += self.lap();
        let locked = lock();
        self.waiting += self.lap();
        locked
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Instant;

    use super::*;
    use crate::machine::clock::reading_cycles;

    /// A counter that goes on by 20 whenever it is read.
    #[derive(Default)]
    struct Ticking(AtomicU64);

    impl Clock for Ticking {
        fn now(&self) -> Instant {
            Instant::now()
        }

        fn cycles(&self) -> u64 {
            self.0.fetch_add(20, Relaxed)
        }
    }

    #[test]
    fn waiting_is_told_from_the_rest_and_reading_is_neither() {
        let clock = Ticking::default();
        let pass = |cycles| clock.0.fetch_add(cycles, Relaxed);
        assert_eq!(reading_cycles(&clock), 20);
        let mut timer = LockTimer::begin(&clock, 20);
        pass(7);
        for waited in [1_000, 30] {
            timer.wait(|| pass(waited));
            pass(5);
        }
        timer.end(|waiting, working| assert_eq!((waiting, working), (1_030, 17)));
    }

    #[test]
    fn a_lock_that_nobody_has_is_not_waited_for() {
        let clock = Ticking::default();
        let (mutex, mut timer) = (Mutex::new(1), LockTimer::begin(&clock, 20));
        for _ in 0..3 {
            *lock_by(&mut timer, &mutex) += 1;
        }
        timer.end(|waiting, _| assert_eq!(waiting, 0));
        assert_eq!(*lock(&mutex), 4);
    }
}
