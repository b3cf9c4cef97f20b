//! The machine under the workers: virtual cores, each with a time of its own, on one
//! thread.
//!
//! Every operation of the scheduler on memory that cores share, and all that a handler
//! says it does, comes here ([`Hooks`](crate::mely::simulated::Hooks)). It takes
//! cycles by a [`Memory`]; and where a core's time has passed that of another, that one
//! goes on. Sleeping, waking, timers and locks are in virtual time, exactly.
//!
//! ```
//! use std::time::Duration;
//! use mely_sim::engine::{Settings, Simulation};
//! use mely_sim::mely::{Builder, Policy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let builder = Builder::default().policy(Policy::MelyTimeLeft);
//! let simulation = Simulation::new(builder, Settings::xeon_e5410())?;
//! let color = simulation.handle().colored(0);
//! color.post(|sum, cx| {
//!     cx.spend(1_000);
//!     *sum += 1;
//! });
//! simulation.run_until_idle()?;
//! assert!(simulation.now() > 1_000);
//! assert_eq!(simulation.handle().metrics().events.run, 1);
//! simulation.shutdown(Duration::from_secs(1))?;
//! # Ok(())
//! # }
//! ```

mod arrivals;
mod cores;
mod coroutine;
mod fault;
mod hooks;
mod locks;
mod memory;
mod on_machine;
mod settings;
mod simulation;
#[cfg(test)]
mod tests;

use core::cell::{Cell, RefCell};
use std::io;

use self::arrivals::Arrivals;
pub use self::arrivals::Outside;
use self::cores::{Cores, Doing, First};
use self::coroutine::{Leave, Stack};
pub use self::fault::MachineFault;
use self::fault::Planted;
use self::locks::Locks;
use self::memory::Charged;
pub use self::memory::{FlatCosts, LINE_BYTES, Memory, MemoryModel};
pub use self::on_machine::CacheCounts;
pub use self::settings::{Costs, Idle, Order, Settings};
pub use self::simulation::{Counts, Outcome, Simulation, SimulationError};
use crate::mely::simulated::leave;

/// In place of a core: the code outside of all of them, which takes no time.
const OUTSIDE: usize = usize::MAX;

/// The machine.
pub(crate) struct Engine {
    cores: Cores,
    /// The CPU of each core in the topology.
    cpus: Box<[usize]>,
    stacks: Box<[RefCell<Option<Stack>>]>,
    leaves: Box<[Leave]>,
    costs: Costs,
    idle: Idle,
    hertz: f64,
    order: Order,
    chance: RefCell<fastrand::Rng>,
    memory: RefCell<Charged>,
    locks: RefCell<Locks>,
    arrivals: Arrivals,
    /// The core that runs, or [`OUTSIDE`].
    running: Cell<usize>,
    /// The time of what runs.
    clock: Cell<u64>,
    /// After this the core that runs looks whether another one is to go on.
    limit: Cell<u64>,
    /// No core runs longer.
    horizon: Cell<u64>,
    trace: Trace,
    switches: Cell<u64>,
    fault: Planted,
    /// The cores were left for good.
    given_up: Cell<bool>,
}

/// A running hash of what happened.
struct Trace {
    hash: Cell<u64>,
    all: bool,
}

impl Trace {
    /// Adds a word.
    #[inline]
    fn add(&self, word: u64) {
        // The constant of FxHash: odd, with its bits spread.
        let mixed = self.hash.get().rotate_left(5) ^ word;
        self.hash.set(mixed.wrapping_mul(0x51_7C_C1_B7_27_22_0A_95));
    }

    /// Adds an operation, where all of them count.
    #[inline]
    fn operation(&self, core: usize, kind: u64, id: u64, time: u64) {
        if self.all {
            self.add((core as u64) << 8 | kind);
            self.add(id);
            self.add(time);
        }
    }
}

/// What goes on next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Core(usize, First),
    /// Something from outside.
    Arrival,
    /// Nothing before the horizon.
    Later,
    /// Nothing ever.
    Nothing,
}

impl Engine {
    fn new(settings: Settings, cpus: Box<[usize]>) -> Self {
        let seed = match settings.order {
            Order::Random { seed, .. } => seed,
            Order::Time { .. } => 0,
        };
        Self {
            cores: Cores::new(cpus.len()),
            stacks: cpus.iter().map(|_| RefCell::new(None)).collect(),
            leaves: cpus.iter().map(|_| Leave::default()).collect(),
            cpus,
            costs: settings.costs,
            idle: settings.idle,
            hertz: settings.hertz,
            order: settings.order,
            chance: RefCell::new(fastrand::Rng::with_seed(seed)),
            memory: RefCell::new(Charged::new(settings.memory)),
            locks: RefCell::default(),
            arrivals: Arrivals::default(),
            running: Cell::new(OUTSIDE),
            clock: Cell::new(0),
            limit: Cell::new(0),
            horizon: Cell::new(u64::MAX),
            trace: Trace {
                hash: Cell::new(0),
                all: settings.trace,
            },
            switches: Cell::new(0),
            fault: Planted::default(),
            given_up: Cell::new(false),
        }
    }

    /// Puts a worker on a core.
    fn start(&self, core: usize, worker: impl FnOnce() + 'static) -> io::Result<()> {
        let stack = Stack::new(&self.leaves[core], worker)?;
        *self.stacks[core].borrow_mut() = Some(stack);
        Ok(())
    }

    /// Chooses what goes on next, no later than `until`.
    fn next(&self, until: u64) -> Next {
        self.next_before(self.arrivals.next(), until)
    }

    /// The same, with what comes from outside at the time `arrival`.
    fn next_before(&self, arrival: u64, until: u64) -> Next {
        let first = self.cores.first();
        let due = first.due;
        if due.min(arrival) == u64::MAX {
            return Next::Nothing;
        }
        if due.min(arrival) > until {
            return Next::Later;
        }
        let Order::Random { .. } = self.order else {
            return match arrival <= due {
                true => Next::Arrival,
                false => Next::Core(first.core, first),
            };
        };
        // One time for all: it goes on by itself only when all cores wait for it.
        let now = self.clock.get().max(due.min(arrival));
        if arrival <= now {
            return Next::Arrival;
        }
        self.clock.set(now);
        let choose = |cores: usize| self.chance.borrow_mut().usize(..cores);
        Next::Core(self.cores.any(now, choose), first)
    }

    /// Lets a core go on until it leaves.
    fn resume(&self, core: usize, first: First, until: u64) {
        let now = match self.order {
            Order::Time { slack } => {
                let others = first.next.min(self.arrivals.next());
                self.limit.set(others.saturating_add(slack).min(until));
                first.due
            }
            Order::Random { .. } => {
                self.limit.set(0);
                self.clock.get()
            }
        };
        self.horizon.set(until);
        self.clock.set(now);
        self.cores.go_on(core, now);
        self.trace.add(core as u64);
        self.trace.add(now);
        self.switches.set(self.switches.get() + 1);
        self.running.set(core);
        let ended = self.call(core);
        self.running.set(OUTSIDE);
        if ended {
            self.cores.end(core);
        }
    }

    /// Calls the function of a core, until it leaves or ends: whether it has ended.
    fn call(&self, core: usize) -> bool {
        let taken = self.stacks[core].borrow_mut().take();
        let Some(mut stack) = taken else {
            return true;
        };
        let ended = stack.resume();
        if !ended {
            *self.stacks[core].borrow_mut() = Some(stack);
        }
        ended
    }

    /// Leaves the cores where they are, for good: their stacks are not freed.
    fn give_up(&self) {
        self.given_up.set(true);
        for stack in &self.stacks {
            std::mem::forget(stack.take());
        }
    }

    /// The core that runs leaves, to go on when the engine comes back to it.
    fn leave(&self, core: usize) {
        leave(|| self.leaves[core].leave());
    }

    /// Cycles pass on the core that runs.
    #[inline]
    fn pass(&self, core: usize, cycles: u64) {
        let now = self.clock.get() + cycles;
        self.clock.set(now);
        if now > self.limit.get() {
            self.give_way(core, now);
        }
    }

    /// Lets another core go on, if it is its turn.
    #[cold]
    fn give_way(&self, core: usize, now: u64) {
        // The standard library keeps one account of panics for the thread: a core that
        // panics goes on until it has been caught.
        if std::thread::panicking() {
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

    /// A core will go on at `due`: the one that runs gives way to it then.
    fn lower_limit(&self, due: u64) {
        if let Order::Time { slack } = self.order {
            let limit = self.limit.get().min(due.saturating_add(slack));
            self.limit.set(limit);
        }
    }

    /// Runs what there is up to the time `until`; `enough` is asked after each switch.
    fn run(&self, until: u64, enough: impl Fn() -> bool) -> Result<Outcome, SimulationError> {
        loop {
            if enough() {
                return Ok(Outcome::Enough);
            }
            match self.next(until) {
                Next::Core(core, first) => self.resume(core, first, until),
                Next::Arrival => self.arrivals.come(self),
                Next::Later => {
                    self.clock.set(self.clock.get().max(until));
                    return Ok(Outcome::TimeIsUp);
                }
                Next::Nothing => {
                    if until < u64::MAX {
                        self.clock.set(self.clock.get().max(until));
                    }
                    return self.outcome();
                }
            }
        }
    }

    /// Why nothing goes on.
    fn outcome(&self) -> Result<Outcome, SimulationError> {
        let waiting = self.cores.that(|doing| doing == Doing::Waiting);
        if !waiting.is_empty() {
            return Err(SimulationError::Deadlock { cores: waiting });
        }
        let sleeping = self.cores.that(|doing| doing != Doing::Ended);
        Ok(match sleeping.is_empty() {
            true => Outcome::Ended,
            false => Outcome::Idle,
        })
    }
}
