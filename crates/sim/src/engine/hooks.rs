//! The machine, as the scheduler sees it.

use std::time::Duration;

use super::cores::Doing;
use super::locks::Taken;
use super::{DEADLOCK, Engine, Idle, NEVER_COMES, NEVER_STOPS, Next, OUTSIDE, Order, Outcome};
use crate::mely::Access;
use crate::mely::simulated::{Hooks, meter};

/// Kinds of operations in a trace, besides those of memory.
const SPEND: u64 = 3;
const WAKE: u64 = 4;
const SLEEP: u64 = 5;
const LOCK: u64 = 6;

/// Where a fault is planted code outside waits for no more switches than this.
const SWITCHES_MAX: u64 = 2_000_000;

/// After so many cycles a thread that waits looks again.
const LOOK_CYCLES: u64 = 1_000;

/// How often threads look while nobody else goes on: more than there are threads.
const LOOKS_IN_VAIN_MAX: u32 = 1_000;

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
    fn charge(&self, core: usize, at: (u64, usize), how: Access) -> u64 {
        let now = meter::now();
        let (cycles, id) = meter::charge(at, how);
        self.trace.operation(core, how as u64, id, now);
        cycles
    }

    /// Whether the core that runs panics; not, where one does that was left meanwhile.
    fn is_panicking(&self) -> bool {
        std::thread::panicking() && self.left_panicking.get() == 0
    }

    /// Waits on a core for a lock that another one has.
    fn wait_for_lock(&self, core: usize, address: u64) {
        self.locks.borrow_mut().wait(address, core);
        self.cores.wait(core, meter::now());
        // Even while the core panics: the one that has the lock must go on.
        let panics = u32::from(std::thread::panicking());
        self.left_panicking.set(self.left_panicking.get() + panics);
        self.leave(core);
        self.left_panicking.set(self.left_panicking.get() - panics);
        let cycles = self.charge(core, (address, 1), Access::Update);
        meter::set_now(meter::now() + cycles);
    }

    /// Waits for a lock outside of the cores, by letting them run.
    fn wait_for_lock_outside(&self, address: u64) {
        self.locks.borrow_mut().wait(address, OUTSIDE);
        let is_ours = || self.locks.borrow().is_held_by(address, OUTSIDE);
        while !is_ours() {
            // What comes from outside next may be what waits here: it comes after.
            match self.next_before(u64::MAX, u64::MAX) {
                Next::Core(core, now) => self.resume(core, now, u64::MAX),
                Next::Arrival | Next::Later | Next::Nothing => {
                    self.stands.set(true);
                    panic!(
                        "{DEADLOCK}: a lock that is waited for outside of the workers is never freed"
                    )
                }
            }
        }
    }
}

impl Engine {
    /// Gives a lock up, perhaps to who waits for it.
    fn unlock(&self, address: u64) {
        let now = meter::now();
        let next = self.locks.borrow_mut().free(address, now);
        if let Some((next, waiting)) = next.filter(|&(next, _)| next != OUTSIDE) {
            let handover = self.costs.handover + self.costs.spinner * waiting as u64;
            let due = self.cores.get_lock(next, now + handover);
            self.lower_limit(due);
        }
    }

    /// Gives up the lock that the core has kept for too long, as it was told to.
    #[inline]
    pub(super) fn unlock_late(&self) {
        if let Some(address) = self.fault.take_late() {
            self.unlock(address);
        }
    }

    /// A thread that waits for something lets others go on.
    fn look_again_later(&self) {
        let core = self.running.get();
        let looks = self.looks_again.borrow_mut().insert(core);
        debug_assert!(looks, "it left while it looked");
        let others_go_on = {
            let looking = self.looks_again.borrow();
            self.arrivals.next() < u64::MAX || self.cores.goes_on_beside(&looking)
        };
        // What it waits for may have come since it looked.
        let in_vain = match others_go_on {
            true => 0,
            false => self.looked_in_vain.get() + 1,
        };
        self.looked_in_vain.set(in_vain);
        if in_vain > LOOKS_IN_VAIN_MAX {
            panic!("{NEVER_COMES}: all others sleep");
        }
        self.cores.pause(core, meter::now() + LOOK_CYCLES);
        self.leave(core);
        self.looks_again.borrow_mut().remove(&core);
    }
}

impl Hooks for Engine {
    fn access(&self, address: u64, bytes: usize, how: Access) {
        let core = self.running.get();
        if core != OUTSIDE {
            let cycles = self.charge(core, (address, bytes), how);
            meter::pass(cycles);
        }
    }

    /// Lets another core go on, if it is its turn.
    fn give_way(&self) {
        let (core, now) = (self.running.get(), meter::now());
        // The standard library keeps one account of panics for the thread: a core that
        // panics goes on until it has been caught.
        self.unlock_late();
        if core == OUTSIDE || self.is_panicking() {
            return;
        }
        let turn = match self.order {
            Order::Time { .. } => true,
            Order::Random { leave_one_in, .. } => {
                now > self.horizon.get() || self.chance.borrow_mut().u32(..leave_one_in.max(1)) == 0
            }
        };
        if turn {
            self.cores.pause(core, now);
            self.leave(core);
        }
    }

    fn spend(&self, cycles: u64) {
        let core = self.running.get();
        if core == OUTSIDE || self.is_panicking() {
            return;
        }
        let now = meter::now();
        self.trace.operation(core, SPEND, cycles, now);
        match self.order {
            Order::Time { .. } => meter::pass(cycles),
            // Others go on meanwhile, in the one time that there is.
            Order::Random { .. } => {
                self.cores.pause(core, now + cycles);
                self.leave(core);
            }
        }
    }

    fn elapsed(&self) -> Duration {
        let ahead = self.fault.clock_ahead();
        self.duration_of(meter::now() + ahead)
    }

    fn cycles_per_second(&self) -> f64 {
        self.hertz
    }

    fn lock(&self, address: u64) {
        self.unlock_late();
        self.access(address, 1, Access::Update);
        let core = self.running.get();
        self.trace.operation(core, LOCK, 0, meter::now());
        let looked = self.locks.borrow_mut().look(address, meter::now());
        match (looked, core) {
            // A lock that is kept on purpose: the panic that tells of it goes on.
            (Taken::No, OUTSIDE) if self.stands.get() && self.fault.is_planted() => return,
            (Taken::No, OUTSIDE) => return self.wait_for_lock_outside(address),
            (Taken::No, _) => return self.wait_for_lock(core, address),
            (Taken::At(time), _) if core != OUTSIDE => meter::set_now(time),
            _ => {}
        }
        let now = meter::now();
        self.locks.borrow_mut().take(address, core, now);
    }

    fn try_lock(&self, address: u64) -> bool {
        self.unlock_late();
        self.access(address, 1, Access::Update);
        let (core, now) = (self.running.get(), meter::now());
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
        self.unlock_late();
        let core = self.running.get();
        if core != OUTSIDE && self.fault.keeps_lock() {
            // The core does not know that it still has it.
            *self.locks.borrow_mut().held(core) -= 1;
            return;
        }
        if !self.fault.is_late(address) {
            self.unlock(address);
        }
    }

    fn locks_held(&self) -> usize {
        *self.locks.borrow_mut().held(self.running.get())
    }

    fn wait(&self, worker: usize, at_most: Option<Duration>) {
        let core = self.running.get();
        debug_assert_eq!(core, worker, "a worker sleeps on its own core");
        let start = meter::now();
        let poll = match self.idle {
            Idle::Sleep => None,
            Idle::Poll { cycles } => Some(cycles),
        };
        meter::set_now(start + poll.map_or(self.costs.sleep, |_| 0));
        let goes_on = self.cores.was_woken(core) || self.fault.never_sleeps();
        if goes_on || at_most.is_some_and(|time| time.is_zero()) {
            return;
        }
        self.trace.operation(core, SLEEP, 0, start);
        let now = meter::now();
        // From before the system call: that is when the worker knew the time.
        let due = at_most.map(|time| now.max(start.saturating_add(self.cycles_of(time))));
        // The turns before this are no longer what it does.
        meter::take_turns();
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
            meter::set_now(meter::now() + wake);
        }
        let now = meter::now();
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
            return self.look_again_later();
        }
        let before = self.switches.get();
        if self.fault.is_planted() && before > SWITCHES_MAX {
            panic!("{NEVER_STOPS}: {before} switches, and code outside still waits");
        }
        let until = time.map_or(u64::MAX, |time| meter::now() + self.cycles_of(time));
        let enough = || time.is_none() && self.switches.get() != before;
        let came = self.run(until, enough);
        // Where something ran, the caller looks again first.
        if matches!(came, Ok(Outcome::TimeIsUp)) || self.switches.get() != before {
            return;
        }
        match came {
            Err(error) => panic!("{error}"),
            Ok(_) => {
                let cores = self.cores.that(|doing| doing != Doing::Ended);
                panic!("{NEVER_COMES}: cores {cores:?} sleep")
            }
        }
    }
}
