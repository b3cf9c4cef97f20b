//! The settings of a machine from its file: its shape, its caches, its costs.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Costs, Idle, Memory, MemoryModel, Order, Settings};
use crate::machine::{self, Caches, Counts, Machine, MachineError, Memory as _, Regular};
use crate::mely::topology::{CacheKind, CacheSpec, Spec, Topology};
use crate::mely::{Access, Policy, QueueKind};

/// What the caches of a simulated machine were asked for: it can be read while a
/// simulation has them.
#[derive(Clone)]
pub struct CacheCounts(Rc<RefCell<Caches>>);

impl CacheCounts {
    /// The accesses of all cores together so far.
    #[must_use]
    pub fn total(&self, machine: &Machine) -> Counts {
        let caches = self.0.borrow();
        let mut total = Counts::default();
        (0..machine.cores).for_each(|core| total += *caches.counts(core));
        total
    }
}

impl Settings {
    /// A machine as its file describes it, in the order of time, for a runtime of a
    /// policy: the queues of colors take time that those of events do not.
    ///
    /// ```
    /// use mely_sim::engine::{Settings, Simulation};
    /// use mely_sim::machine::Machine;
    /// use mely_sim::mely::{Builder, Policy};
    ///
    /// let machine = Machine::find("xeon-e5410")?;
    /// let (settings, caches) = Settings::on(&machine, Policy::Mely)?;
    /// let builder = Builder::default().policy(Policy::Mely);
    /// let simulation = Simulation::new(builder, settings)?;
    /// simulation.handle().new_color().post(|(), cx| cx.spend(100))?;
    /// simulation.run_until_idle()?;
    /// assert!(caches.total(&machine).accesses() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MachineError::Value`] when the machine makes no sense, or when its packages are
    /// not alike: a topology of the runtime is made of equal ones.
    pub fn on(machine: &Machine, policy: Policy) -> Result<(Self, CacheCounts), MachineError> {
        let wrong = |key: &str, what: String| MachineError::Value {
            file: machine.name.clone(),
            key: key.to_owned(),
            what,
        };
        let caches = Rc::new(RefCell::new(Caches::new(machine)?));
        let regular = machine.layout().regular().ok_or_else(|| {
            let what = "packages, nodes and caches that differ cannot be simulated: \
                        number the cores package by package, and make all alike";
            wrong("packages", what.to_owned())
        })?;
        let topology = Topology::synthetic(&spec(&regular));
        let topology = topology.map_err(|error| wrong("cores", error.to_string()))?;
        let memory = OnMachine {
            caches: Rc::clone(&caches),
            near_cycles: machine.caches.first().map_or(0, |first| first.hit_cycles),
            overlap: machine.memory.sequential_overlap,
        };
        let settings = Self {
            threads: 0,
            topology,
            hertz: machine.frequency_hz as f64,
            costs: Costs::on(machine, policy),
            idle: Idle::Sleep,
            memory: MemoryModel::lines(memory),
            order: Order::Time { slack: 0 },
            trace: false,
        };
        Ok((settings, CacheCounts(caches)))
    }
}

impl Costs {
    /// What the scheduler and the system take on a machine. Where colors have queues,
    /// who posts puts the color into the queue of its core, and a turn takes it out: as
    /// if no color had two events at a time. What a machine's file does not have is as
    /// in [`Costs::default`].
    #[must_use]
    pub fn on(machine: &Machine, policy: Policy) -> Self {
        let queue = match policy.heuristics().queues {
            QueueKind::ColorQueues => machine.runtime.queue_cycles,
            QueueKind::EventFifo => 0,
        };
        let (runtime, sync) = (&machine.runtime, &machine.sync);
        let transfer = &machine.transfer;
        Self {
            post: runtime.post_cycles + queue,
            event: runtime.event_cycles,
            turn: runtime.turn_cycles + queue,
            steal: runtime.steal_cycles,
            scan: sync.list_link_cycles,
            wake: sync.wake_call_cycles,
            wake_latency: sync.wake_latency_cycles,
            // The next holder is charged for the line of the lock besides.
            handover: sync
                .lock_handover_cycles
                .saturating_sub(transfer.same_package_cycles),
            spinner: sync.lock_spinner_cycles,
            ..Self::default()
        }
    }
}

fn spec(regular: &Regular) -> Spec {
    let cache = |cache: &machine::RegularCache| CacheSpec {
        level: cache.level,
        kind: match cache.level {
            1 => CacheKind::Data,
            _ => CacheKind::Unified,
        },
        size_bytes: cache.size_bytes,
        cores: cache.cores,
    };
    Spec {
        packages: regular.packages,
        cores_per_package: regular.cores_per_package,
        threads_per_core: 1,
        cores_per_node: regular.cores_per_node,
        remote_numa_distance: regular.remote_numa_distance,
        caches: regular.caches.iter().map(cache).collect(),
    }
}

/// The caches of a machine under the engine.
struct OnMachine {
    caches: Rc<RefCell<Caches>>,
    near_cycles: u64,
    overlap: u64,
}

impl Memory for OnMachine {
    #[inline]
    fn access(&mut self, cpu: usize, line: u32, how: Access, _now: u64) -> u64 {
        let how = match how {
            Access::Read => machine::Access::Load,
            Access::Write => machine::Access::Store,
            Access::Update => machine::Access::Rmw,
        };
        self.caches.borrow_mut().access(cpu, line, how)
    }

    fn walk(&mut self, cpu: usize, line: u32, how: Access, now: u64) -> u64 {
        let cycles = self.access(cpu, line, how, now);
        match cycles > self.near_cycles {
            true => cycles.div_ceil(self.overlap),
            false => cycles,
        }
    }

    fn prefetch(&mut self, cpu: usize, line: u32, how: Access, now: u64) {
        // The line is there when it is used: what is ahead of that use takes longer
        // than any memory.
        self.access(cpu, line, how, now);
    }
}
