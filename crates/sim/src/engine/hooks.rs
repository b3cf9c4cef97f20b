//! The machine, as the scheduler sees it.

use std::time::Duration;

use super::cores::Doing;
use super::locks::Taken;
use super::{Engine, Idle, Next, OUTSIDE, Order, Outcome};
use crate::mely::Access;
use crate::mely::simulated::{Hooks, Work};

/// Kinds of operations in a trace, besides those of memory.
const SPEND: u64 = 3;
const WAKE: u64 = 4;
const SLEEP: u64 = 5;
const LOCK: u64 = 6;

impl Engine {
    /// A duration in cycles, rounded up: a core that sleeps so long finds that the
    /// time has come.
    pub(super) fn cycles_of(&self, time: Duration) -> u64 {
        (time.as_nanos() as f64 * self.hertz / 1e9).ceil() as u64
    }

    /// Cycles as a duration, rounded down.
    pub(super) fn duration_of(&self, cycles: u64) -> Duration {
        Duration::from_nanos((cycles as f64 * 1e9 / self.hertz) as u64)
    }

    /// Touches memory, and says what that takes.
    #[inline]
    fn charge(&self, core: usize, at: (u64, usize), how: Access) -> u64 {
        let now = self.clock.get();
        let mut memory = self.memory.borrow_mut();
        let (cycles, id) = memory.access(self.cpus[core], at, how, now);
        self.trace.operation(core, how as u64, id, now);
        cycles
    }

    /// Waits on a core for a lock that another one has.
    fn wait_for_lock(&self, core: usize, address: u64) {
        self.locks.borrow_mut().wait(address, core);
        self.cores.wait(core, self.clock.get());
        // Even while the core panics: the one that has the lock must go on.
        self.leave(core);
        let cycles = self.charge(core, (address, 1), Access::Update);
        self.clock.set(self.clock.get() + cycles);
    }

    /// Waits for a lock outside of the cores, by letting them run.
    fn wait_for_lock_outside(&self, address: u64) {
        self.locks.borrow_mut().wait(address, OUTSIDE);
        let is_ours = || self.locks.borrow().is_held_by(address, OUTSIDE);
        while !is_ours() {
            // What comes from outside next may be what waits here: it comes after.
            match self.next_before(u64::MAX, u64::MAX) {
                Next::Core(core, first) => self.resume(core, first, u64::MAX),
                Next::Arrival | Next::Later | Next::Nothing => {
                    panic!("a lock is held by a core that waits for ever")
                }
            }
        }
    }
}

impl Hooks for Engine {
    #[inline]
    fn access(&self, address: u64, bytes: usize, how: Access) {
        let core = self.running.get();
        if core != OUTSIDE {
            let cycles = self.charge(core, (address, bytes), how);
            self.pass(core, cycles);
        }
    }

    #[inline]
    fn prefetch(&self, address: u64, how: Access) {
        let core = self.running.get();
        if core != OUTSIDE {
            let now = self.clock.get();
            let mut memory = self.memory.borrow_mut();
            memory.prefetch(self.cpus[core], address, how, now);
        }
    }

    fn born(&self, address: u64, bytes: usize) {
        self.memory.borrow_mut().born(address, bytes);
    }

    #[inline]
    fn work(&self, work: Work, times: u64) {
        let core = self.running.get();
        if core != OUTSIDE {
            if work == Work::Turn {
                self.cores.work(core);
            }
            let cycles = self.costs.of(work) * times;
            self.clock.set(self.clock.get() + cycles);
        }
    }

    fn spend(&self, cycles: u64) {
        let core = self.running.get();
        if core == OUTSIDE || std::thread::panicking() {
            return;
        }
        let now = self.clock.get();
        self.trace.operation(core, SPEND, cycles, now);
        match self.order {
            Order::Time { .. } => self.pass(core, cycles),
            // Others go on meanwhile, in the one time that there is.
            Order::Random { .. } => {
                self.cores.pause(core, now + cycles);
                self.leave(core);
            }
        }
    }

    #[inline]
    fn cycles(&self) -> u64 {
        if self.running.get() != OUTSIDE {
            self.clock.set(self.clock.get() + self.costs.clock);
        }
        self.clock.get()
    }

    fn elapsed(&self) -> Duration {
        let ahead = self.fault.clock_ahead();
        self.duration_of(self.clock.get() + ahead)
    }

    fn cycles_per_second(&self) -> f64 {
        self.hertz
    }

    fn lock(&self, address: u64) {
        self.access(address, 1, Access::Update);
        let core = self.running.get();
        self.trace.operation(core, LOCK, 0, self.clock.get());
        let looked = self.locks.borrow_mut().look(address, self.clock.get());
        match (looked, core) {
            (Taken::No, OUTSIDE) => return self.wait_for_lock_outside(address),
            (Taken::No, _) => return self.wait_for_lock(core, address),
            (Taken::At(time), _) if core != OUTSIDE => self.clock.set(time),
            _ => {}
        }
        let now = self.clock.get();
        self.locks.borrow_mut().take(address, core, now);
    }

    fn try_lock(&self, address: u64) -> bool {
        self.access(address, 1, Access::Update);
        let (core, now) = (self.running.get(), self.clock.get());
        let mut locks = self.locks.borrow_mut();
        let free = match locks.look(address, now) {
            Taken::Now => true,
            Taken::At(_) => core == OUTSIDE,
            Taken::No => false,
        };
        if free {
            locks.take(address, core, now);
        }
        free
    }

    fn unlocked(&self, address: u64) {
        let now = self.clock.get();
        let next = self.locks.borrow_mut().free(address, now);
        if let Some((next, waiting)) = next.filter(|&(next, _)| next != OUTSIDE) {
            let handover = self.costs.handover + self.costs.spinner * waiting as u64;
            let due = self.cores.get_lock(next, now + handover);
            self.lower_limit(due);
        }
    }

    fn wait(&self, worker: usize, at_most: Option<Duration>) {
        let core = self.running.get();
        debug_assert_eq!(core, worker, "a worker sleeps on its own core");
        let start = self.clock.get();
        let poll = match self.idle {
            Idle::Sleep => None,
            Idle::Poll { cycles } => Some(cycles),
        };
        self.clock.set(start + poll.map_or(self.costs.sleep, |_| 0));
        if self.cores.was_woken(core) || at_most.is_some_and(|time| time.is_zero()) {
            return;
        }
        self.trace.operation(core, SLEEP, 0, start);
        let now = self.clock.get();
        // From before the system call: that is when the worker knew the time.
        let due = at_most.map(|time| now.max(start.saturating_add(self.cycles_of(time))));
        let look = poll.filter(|_| self.cores.someone_works_beside(core));
        let due = look.map_or(due, |cycles| {
            Some(due.unwrap_or(u64::MAX).min(now + cycles))
        });
        self.cores.sleep(core, now, due);
        self.leave(core);
    }

    fn wake(&self, worker: usize) {
        let core = self.running.get();
        // Who polls is not woken, and looks by itself.
        let (wake, latency) = match self.idle {
            Idle::Sleep => (self.costs.wake, self.costs.wake_latency),
            Idle::Poll { .. } => (0, 0),
        };
        if core != OUTSIDE {
            self.clock.set(self.clock.get() + wake);
        }
        let now = self.clock.get();
        self.trace.operation(core, WAKE, worker as u64, now);
        if self.fault.loses_wake() {
            return;
        }
        if let Some(due) = self.cores.wake(worker, now + latency) {
            self.lower_limit(due);
        }
    }

    fn pause(&self, time: Option<Duration>) {
        if self.running.get() != OUTSIDE {
            return;
        }
        let before = self.switches.get();
        let until = time.map_or(u64::MAX, |time| self.clock.get() + self.cycles_of(time));
        let enough = || time.is_none() && self.switches.get() != before;
        let came = self.run(until, enough);
        let cores = self.cores.that(|doing| doing != Doing::Ended);
        // Where something ran, the caller looks again first.
        let came = matches!(came, Ok(Outcome::TimeIsUp)) || self.switches.get() != before;
        assert!(
            came,
            "what is waited for outside of the workers will never come: cores {cores:?} sleep"
        );
    }
}
