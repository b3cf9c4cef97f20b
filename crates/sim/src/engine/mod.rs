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
//! })?;
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
mod turns;

use core::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;

use self::arrivals::Arrivals;
pub use self::arrivals::Outside;
use self::cores::{Cores, Doing};
use self::coroutine::{Leave, Stack};
pub use self::fault::MachineFault;
use self::fault::Planted;
use self::locks::Locks;
pub use self::memory::{FlatCosts, LINE_BYTES, Memory, MemoryModel};
pub use self::on_machine::CacheCounts;
pub use self::settings::{Costs, Idle, Order, Settings};
pub use self::simulation::{Counts, Outcome, Simulation, SimulationError};
use crate::mely::simulated::{Tariff, leave, meter};

/// What is said of a deadlock begins so.
pub(crate) const DEADLOCK: &str = "a deadlock";

/// What is said begins so when code outside waits, and nothing goes on any more.
pub(crate) const NEVER_COMES: &str = "what is waited for outside of the workers will never come";

/// What is said begins so when workers do not end that should.
pub(crate) const NEVER_ENDS: &str = "the runtime was stopped and does not end";

/// What is said begins so when the machine goes on for ever.
pub(crate) const NEVER_STOPS: &str = "the machine never stops";

/// In place of a core: the code outside of all of them, which takes no time.
const OUTSIDE: usize = usize::MAX;

/// The machine.
pub(crate) struct Engine {
    cores: Cores,
    /// How many cores have workers: they come first.
    workers: usize,
    /// The CPU of each core in the topology.
    cpus: Box<[usize]>,
    stacks: Box<[RefCell<Option<Stack>>]>,
    leaves: Box<[Leave]>,
    costs: Costs,
    idle: Idle,
    hertz: f64,
    order: Order,
    chance: RefCell<fastrand::Rng>,
    locks: RefCell<Locks>,
    arrivals: Arrivals,
    /// The core that runs, or [`OUTSIDE`].
    running: Cell<usize>,
    /// No core runs longer.
    horizon: Cell<u64>,
    trace: Trace,
    switches: Cell<u64>,
    fault: Planted,
    /// The cores were left for good.
    given_up: Cell<bool>,
    /// Threads that wait for something, and look again and again.
    looks_again: RefCell<BTreeSet<usize>>,
    looked_in_vain: Cell<u32>,
    /// A deadlock has been told of.
    stands: Cell<bool>,
    /// Cores that panic, and wait for a lock meanwhile.
    left_panicking: Cell<u32>,
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
    /// That one, at that time.
    Core(usize, u64),
    /// Something from outside.
    Arrival,
    /// Nothing before the horizon.
    Later,
    /// Nothing ever.
    Nothing,
}

impl Engine {
    /// A machine, and what things take on it: for whoever installs it.
    fn new(settings: Settings, cpus: &[usize]) -> (Self, Tariff) {
        let workers = cpus.len();
        // Threads have numbers that no CPU of a worker has.
        let beyond = cpus.iter().max().map_or(0, |most| most + 1);
        let threads = beyond..beyond + settings.threads;
        let cpus: Box<[usize]> = cpus.iter().copied().chain(threads).collect();
        let cores = Cores::new(cpus.len());
        (workers..cpus.len()).for_each(|core| cores.end(core));
        let seed = match settings.order {
            Order::Random { seed, .. } => seed,
            Order::Time { .. } => 0,
        };
        let tariff = settings.costs.tariff(settings.memory, settings.trace);
        let engine = Self {
            cores,
            workers,
            stacks: cpus.iter().map(|_| RefCell::new(None)).collect(),
            leaves: cpus.iter().map(|_| Leave::default()).collect(),
            cpus,
            costs: settings.costs,
            idle: settings.idle,
            hertz: settings.hertz,
            order: settings.order,
            chance: RefCell::new(fastrand::Rng::with_seed(seed)),
            locks: RefCell::default(),
            arrivals: Arrivals::default(),
            running: Cell::new(OUTSIDE),
            horizon: Cell::new(u64::MAX),
            trace: Trace {
                hash: Cell::new(0),
                all: settings.trace,
            },
            switches: Cell::new(0),
            fault: Planted::default(),
            given_up: Cell::new(false),
            looks_again: RefCell::default(),
            looked_in_vain: Cell::new(0),
            stands: Cell::new(false),
            left_panicking: Cell::new(0),
        };
        (engine, tariff)
    }

    /// Puts a worker on a core.
    fn start(&self, core: usize, worker: impl FnOnce() + 'static) -> io::Result<()> {
        let stack = Stack::new(&self.leaves[core], worker)?;
        *self.stacks[core].borrow_mut() = Some(stack);
        Ok(())
    }

    /// Does something on a core that has no worker, or here if none is free.
    fn start_thread(&self, body: impl FnOnce() + 'static) {
        let Some(core) = self.cores.ended_behind(self.workers) else {
            return body();
        };
        // Without memory for its stack it does nothing: the program has less to do.
        if self.start(core, body).is_ok() {
            self.cores.begin(core, meter::now());
        }
    }

    /// Chooses what goes on next, no later than `until`.
    #[inline]
    fn next(&self, until: u64) -> Next {
        self.next_before(self.arrivals.next(), until)
    }

    /// The same, with what comes from outside at the time `arrival`.
    #[inline]
    fn next_before(&self, arrival: u64, until: u64) -> Next {
        let due = self.cores.first_due();
        if due.min(arrival) == u64::MAX {
            return Next::Nothing;
        }
        if due.min(arrival) > until {
            return Next::Later;
        }
        let Order::Random { .. } = self.order else {
            return match arrival <= due {
                true => Next::Arrival,
                false => Next::Core(self.cores.first_at(due), due),
            };
        };
        // One time for all: it goes on by itself only when all cores wait for it.
        let now = meter::now().max(due.min(arrival));
        if arrival <= now {
            return Next::Arrival;
        }
        meter::set_now(now);
        let choose = |cores: usize| self.chance.borrow_mut().usize(..cores);
        Next::Core(self.cores.any(now, choose), now)
    }

    /// Lets a core go on at the time `now` until it leaves.
    #[inline]
    fn resume(&self, core: usize, now: u64, until: u64) {
        self.cores.go_on(core, now);
        meter::set_limit(match self.order {
            Order::Time { slack } => {
                let others = self.cores.first_due().min(self.arrivals.next());
                others.saturating_add(slack).min(until)
            }
            Order::Random { .. } => 0,
        });
        self.horizon.set(until);
        meter::set_now(now);
        self.trace.add(core as u64);
        self.trace.add(now);
        self.switches.set(self.switches.get() + 1);
        self.running.set(core);
        meter::run_on(Some(self.cpus[core]));
        let ended = self.call(core);
        meter::run_on(None);
        self.running.set(OUTSIDE);
        if ended {
            self.cores.end(core);
        }
    }

    /// Calls the function of a core, until it leaves or ends: whether it has ended.
    #[inline]
    fn call(&self, core: usize) -> bool {
        let mut stack = self.stacks[core].borrow_mut();
        let ended = stack.as_mut().is_none_or(Stack::resume);
        if ended && let Some(stack) = stack.take() {
            stack.reuse();
        }
        ended
    }

    /// Leaves the cores where they are, for good: their stacks are not freed.
    fn give_up(&self) {
        self.given_up.set(true);
        for stack in &self.stacks {
            // One that is being called is not given up by who is called.
            let taken = stack
                .try_borrow_mut()
                .ok()
                .and_then(|mut stack| stack.take());
            match taken {
                Some(stack) if stack.has_ended() => stack.reuse(),
                taken => std::mem::forget(taken),
            }
        }
    }

    /// The core that runs leaves, to go on when the engine comes back to it.
    #[inline(always)]
    fn leave(&self, core: usize) {
        self.unlock_late();
        if meter::take_turns() {
            self.cores.work(core);
        }
        leave(|| self.leaves[core].leave());
    }

    /// A core will go on at `due`: the one that runs gives way to it then.
    fn lower_limit(&self, due: u64) {
        if let Order::Time { slack } = self.order {
            let limit = meter::limit().min(due.saturating_add(slack));
            meter::set_limit(limit);
        }
    }

    /// Runs what there is up to the time `until`; `enough` is asked after each switch.
    fn run(&self, until: u64, enough: impl Fn() -> bool) -> Result<Outcome, SimulationError> {
        loop {
            if enough() {
                return Ok(Outcome::Enough);
            }
            match self.next(until) {
                Next::Core(core, now) => self.resume(core, now, until),
                Next::Arrival => self.arrivals.come(self),
                Next::Later => {
                    meter::set_now(meter::now().max(until));
                    return Ok(Outcome::TimeIsUp);
                }
                Next::Nothing => {
                    if until < u64::MAX {
                        meter::set_now(meter::now().max(until));
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
