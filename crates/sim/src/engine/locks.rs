//! Who holds which lock, and who waits for it.

use std::collections::{HashMap, VecDeque};

use super::memory::Spreading;

/// With so many locks, those that nobody has are forgotten.
const LOCKS_MAX: usize = 4096;

/// How many past holders are remembered: for cores whose time is behind that of
/// others, by as many cycles as these took.
const HELD_MAX: usize = 8;

/// A lock, by what is known of it.
#[derive(Default)]
struct Lock {
    holder: Option<usize>,
    /// First come, first served.
    waiters: VecDeque<usize>,
    /// When it was last taken.
    taken_at: u64,
    /// From when until when somebody had it, of late.
    held: [(u64, u64); HELD_MAX],
    /// Which of these is overwritten next.
    oldest: usize,
    /// When the last of these ended.
    freed_at: u64,
}

impl Lock {
    /// When a core whose time is `now` finds it free.
    fn free_from(&self, now: u64) -> u64 {
        if self.freed_at <= now {
            return now;
        }
        let mut from = now;
        let holds = |at: u64| {
            self.held
                .iter()
                .find(|&&(start, end)| start <= at && at < end)
        };
        while let Some(&(_, end)) = holds(from) {
            from = end;
        }
        from
    }
}

/// All locks that were ever taken.
#[derive(Default)]
pub(super) struct Locks {
    locks: HashMap<u64, Lock, Spreading>,
    /// How many each core has; first of all, the code outside.
    held: Vec<usize>,
}

/// What trying to take a lock led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was free.
    Now,
    /// It is free now, but at the core's time another one had it, until then: that one
    /// has run ahead.
    At(u64),
    /// Another core has it.
    No,
}

impl Locks {
    /// Whether the core can have the lock at its time `now`.
    pub(super) fn look(&mut self, address: u64, now: u64) -> Taken {
        let Some(lock) = self.locks.get(&address) else {
            return Taken::Now;
        };
        match (lock.holder, lock.free_from(now)) {
            (Some(_), _) => Taken::No,
            (None, from) if from > now => Taken::At(from),
            (None, _) => Taken::Now,
        }
    }

    /// Gives a free lock to a core.
    pub(super) fn take(&mut self, address: u64, core: usize, now: u64) {
        if self.locks.len() >= LOCKS_MAX {
            self.locks
                .retain(|_, lock| lock.holder.is_some() || lock.freed_at > now);
        }
        let lock = self.locks.entry(address).or_default();
        debug_assert!(lock.holder.is_none(), "a lock has one holder");
        lock.holder = Some(core);
        lock.taken_at = now;
        *self.held(core) += 1;
    }

    /// A core waits until it is given the lock.
    pub(super) fn wait(&mut self, address: u64, core: usize) {
        self.locks
            .entry(address)
            .or_default()
            .waiters
            .push_back(core);
    }

    /// Whether a core has the lock.
    pub(super) fn is_held_by(&self, address: u64, core: usize) -> bool {
        self.locks
            .get(&address)
            .is_some_and(|lock| lock.holder == Some(core))
    }

    /// How many locks a core has.
    pub(super) fn held(&mut self, core: usize) -> &mut usize {
        let at = core.wrapping_add(1);
        if at >= self.held.len() {
            self.held.resize(at + 1, 0);
        }
        &mut self.held[at]
    }

    /// Frees a lock, or gives it to who waits longest: returns that one, and how many
    /// wait on.
    pub(super) fn free(&mut self, address: u64, now: u64) -> Option<(usize, usize)> {
        let lock = self.locks.get_mut(&address)?;
        let (before, next) = (lock.holder, lock.waiters.pop_front());
        lock.holder = next;
        lock.held[lock.oldest] = (lock.taken_at, now);
        lock.oldest = (lock.oldest + 1) % HELD_MAX;
        lock.freed_at = lock.freed_at.max(now);
        if next.is_some() {
            lock.taken_at = now;
        }
        let waiting = lock.waiters.len();
        if let Some(before) = before {
            *self.held(before) -= 1;
        }
        *self.held(next?) += 1;
        Some((next?, waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_goes_to_who_waits_longest() {
        let mut locks = Locks::default();
        assert_eq!(locks.look(64, 5), Taken::Now);
        locks.take(64, 0, 5);
        assert_eq!(locks.look(64, 6), Taken::No);
        locks.wait(64, 2);
        locks.wait(64, 1);
        assert_eq!(locks.free(64, 9), Some((2, 1)));
        assert_eq!([0, 1, 2].map(|core| *locks.held(core)), [0, 0, 1]);
        assert!(locks.is_held_by(64, 2) && !locks.is_held_by(64, 1));
        assert_eq!(locks.free(64, 12), Some((1, 0)));
        assert_eq!(locks.free(64, 15), None);
    }

    #[test]
    fn a_core_whose_time_is_behind_waits_for_one_that_ran_ahead() {
        let mut locks = Locks::default();
        locks.take(64, 0, 100);
        assert_eq!(locks.free(64, 150), None);
        locks.take(64, 0, 300);
        assert_eq!(locks.free(64, 320), None);
        let looks = [99, 100, 149, 150].map(|now| locks.look(64, now));
        assert_eq!(
            looks,
            [Taken::Now, Taken::At(150), Taken::At(150), Taken::Now]
        );
        locks.take(64, 1, 150);
        assert_eq!(locks.free(64, 310), None);
        assert_eq!(locks.look(64, 120), Taken::At(320));
    }
}
