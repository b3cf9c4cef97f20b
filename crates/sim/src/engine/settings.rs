//! What a simulated machine is like.

use crate::mely::simulated::{Tariff, Work};
use crate::mely::topology::{Spec, Topology, TopologyError};

use super::memory::{FlatCosts, MemoryModel};

/// What the scheduler and the system take besides memory, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Making an event and putting it into a queue.
    pub post: u64,
    /// Taking an event out of a queue and calling it.
    pub event: u64,
    /// Beginning a turn of a color.
    pub turn: u64,
    /// Looking at a victim.
    pub steal: u64,
    /// Following one link of a list of events, and reading its color.
    pub scan: u64,
    /// Reading the cycle counter.
    pub clock: u64,
    /// Waking a core, for the one that wakes.
    pub wake: u64,
    /// From then until the core runs.
    pub wake_latency: u64,
    /// Going to sleep.
    pub sleep: u64,
    /// From the release of a lock until the core that waited for it has it, besides
    /// the line of the lock.
    pub handover: u64,
    /// How much later still, for each other core that waits for it too.
    pub spinner: u64,
}

impl Default for Costs {
    /// A link of a list by the paper (*Efficient Workstealing*, section II-C: about 190
    /// cycles). The others as measured for production: an event that is posted and run
    /// takes some 40 ns, a reading of the counter 8 ns, a round trip of sleeping and waking
    /// 9 to 15 µs, at about 2.5 GHz.
    fn default() -> Self {
        Self {
            post: 30,
            event: 30,
            turn: 20,
            steal: 50,
            scan: 190,
            clock: 20,
            wake: 5_000,
            wake_latency: 12_000,
            sleep: 3_000,
            handover: 0,
            spinner: 0,
        }
    }
}

impl Costs {
    /// Nothing takes any time, but waking: for finding bugs.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            post: 0,
            event: 0,
            turn: 0,
            steal: 0,
            scan: 0,
            clock: 0,
            wake: 0,
            wake_latency: 1,
            sleep: 0,
            handover: 0,
            spinner: 0,
        }
    }

    /// What everything takes; of each operation the machine is told where all are traced.
    pub(super) fn tariff(&self, memory: MemoryModel, told: bool) -> Tariff {
        Tariff {
            work: self.of_work(),
            clock: self.clock,
            memory: memory.tariff(),
            told,
        }
    }

    /// Of each kind of work, in its order.
    fn of_work(&self) -> [u64; Work::KINDS] {
        let mut cycles = [0; Work::KINDS];
        cycles[Work::Post as usize] = self.post;
        cycles[Work::Event as usize] = self.event;
        cycles[Work::Turn as usize] = self.turn;
        cycles[Work::Steal as usize] = self.steal;
        cycles[Work::Scan as usize] = self.scan;
        cycles
    }
}

/// What a core does that has nothing to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// It sleeps until it is woken, which takes a system call and a while.
    #[default]
    Sleep,
    /// It looks for work again and again, as long as any other core has some: its own
    /// thread has the core, as in the papers' runtimes. Nobody wakes it.
    Poll {
        /// Between two looks.
        cycles: u64,
    },
}

/// Which core runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one whose time is least: what a real machine would do. A core goes on until
    /// its time is more than `slack` cycles after that of the next one; 0 is exact, some
    /// hundred cycles are faster. Who comes to a lock in the time of a core that ran
    /// ahead waits for it all the same, as far as the last eight holders go.
    Time {
        /// Cycles.
        slack: u64,
    },
    /// Any one, by a seed; there is one time for all. A core is left at any operation
    /// on shared memory, once in so many: what finds bugs.
    Random {
        /// Two simulations with the same seed are the same.
        seed: u64,
        /// 1 leaves at every operation.
        leave_one_in: u32,
    },
}

/// A simulated machine.
pub struct Settings {
    /// Its cores, for the order in which thieves look for victims.
    pub topology: Topology,
    /// How many threads there may be beside the workers, on cores of their own: see
    /// [`Outside::thread`](super::Outside::thread). Only where all memory is alike.
    pub threads: usize,
    /// Cycles a second.
    pub hertz: f64,
    /// What the scheduler and the system take.
    pub costs: Costs,
    /// What a core does that has nothing to run.
    pub idle: Idle,
    /// What memory takes.
    pub memory: MemoryModel,
    /// Which core runs next.
    pub order: Order,
    /// Whether every operation goes into [`trace_hash`](super::Simulation::trace_hash);
    /// without, only which core runs when.
    pub trace: bool,
}

impl Settings {
    /// The papers' machine, but with memory that is the same everywhere: eight cores
    /// of 2.33 GHz (*Efficient Workstealing*, section V-A).
    ///
    /// # Panics
    ///
    /// Never: the machine is a possible one.
    #[must_use]
    pub fn xeon_e5410() -> Self {
        match Self::of(&Spec::xeon_e5410()) {
            Ok(settings) => settings,
            Err(error) => unreachable!("the papers' machine exists: {error}"),
        }
    }

    /// A machine by its description, at 2.33 GHz, with memory that is the same
    /// everywhere, in the order of time.
    ///
    /// # Errors
    ///
    /// If there can be no such machine.
    pub fn of(spec: &Spec) -> Result<Self, TopologyError> {
        Ok(Self {
            topology: Topology::synthetic(spec)?,
            threads: 0,
            hertz: 2.33e9,
            costs: Costs::default(),
            idle: Idle::Sleep,
            memory: MemoryModel::Flat(FlatCosts::default()),
            order: Order::Time { slack: 0 },
            trace: false,
        })
    }

    /// A machine to find bugs on: any core may run next, by a seed, and nothing but
    /// what handlers spend takes much time. The same seed gives the same
    /// [`trace_hash`](super::Simulation::trace_hash) on every machine, in debug and
    /// release.
    ///
    /// # Errors
    ///
    /// If there can be no such machine.
    pub fn random(cores: usize, seed: u64) -> Result<Self, TopologyError> {
        let flat = FlatCosts {
            read: 1,
            write: 1,
            update: 1,
        };
        Ok(Self {
            costs: Costs::nothing(),
            memory: MemoryModel::Flat(flat),
            order: Order::Random {
                seed,
                leave_one_in: 4,
            },
            trace: true,
            ..Self::of(&Spec::flat(cores))?
        })
    }
}
