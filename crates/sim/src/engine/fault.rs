//! A machine that is broken on purpose.

use core::cell::Cell;

/// What a machine does wrong: to see that checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineFault {
    /// One in so many wake-ups does nothing.
    LosesWakes {
        /// 1 loses all.
        one_in: u64,
    },
    /// One in so many readings of the clock is ahead by so much.
    ClockAhead {
        /// 1 is all.
        one_in: u64,
        /// By how much.
        cycles: u64,
    },
    /// Locks that cores have are never freed.
    KeepsLocks {
        /// From so many releases on.
        after: u64,
    },
    /// One in so many locks is freed only when its core touches memory that is shared the
    /// next time.
    UnlocksLate {
        /// 1 is all.
        one_in: u64,
    },
    /// Cores that should sleep go on at once.
    NeverSleeps,
    /// A worker that goes to sleep panics.
    PanicsAsleep {
        /// One in so many times.
        one_in: u64,
    },
}

/// The fault that is planted, and how often it was asked for.
#[derive(Default)]
pub(super) struct Planted {
    fault: Cell<Option<MachineFault>>,
    asked: Cell<u64>,
    /// A lock that should have been freed.
    late: Cell<Option<u64>>,
}

impl Planted {
    pub(super) fn plant(&self, fault: Option<MachineFault>) {
        self.fault.set(fault);
    }

    pub(super) fn is_planted(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Whether this wake-up does nothing.
    #[inline]
    pub(super) fn loses_wake(&self) -> bool {
        match self.fault.get() {
            Some(MachineFault::LosesWakes { one_in }) => self.is_now(one_in),
            _ => false,
        }
    }

    /// How far ahead this reading of the clock is, in cycles.
    #[inline]
    pub(super) fn clock_ahead(&self) -> u64 {
        match self.fault.get() {
            Some(MachineFault::ClockAhead { one_in, cycles }) if self.is_now(one_in) => cycles,
            _ => 0,
        }
    }

    /// Whether a core keeps the lock that it frees.
    #[inline]
    pub(super) fn keeps_lock(&self) -> bool {
        match self.fault.get() {
            Some(MachineFault::KeepsLocks { after }) => {
                self.asked.set(self.asked.get() + 1);
                self.asked.get() > after
            }
            _ => false,
        }
    }

    /// Whether this lock is freed later.
    #[inline]
    pub(super) fn is_late(&self, address: u64) -> bool {
        match self.fault.get() {
            Some(MachineFault::UnlocksLate { one_in }) if self.is_now(one_in) => {
                self.late.set(Some(address));
                true
            }
            _ => false,
        }
    }

    /// The lock that is to be freed by now.
    #[inline]
    pub(super) fn take_late(&self) -> Option<u64> {
        self.late.take()
    }

    /// Whether a core that should sleep goes on.
    ///
    /// # Panics
    ///
    /// If that is the fault.
    pub(super) fn never_sleeps(&self) -> bool {
        match self.fault.get() {
            Some(MachineFault::NeverSleeps) => true,
            Some(MachineFault::PanicsAsleep { one_in }) if self.is_now(one_in) => {
                // Without the panic hook: it is no news.
                std::panic::resume_unwind(Box::new("planted"))
            }
            _ => false,
        }
    }

    fn is_now(&self, one_in: u64) -> bool {
        let asked = self.asked.get() + 1;
        self.asked.set(asked);
        asked.is_multiple_of(one_in.max(1))
    }
}
