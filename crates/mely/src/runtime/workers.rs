//! A runtime without threads: for a simulator, which calls each worker on a stack of
//! its own and is the machine under all of them.
//!
//! Only the package `mely-virtual` has this module: the same source as `mely`, with
//! its atomics, locks, clocks and sleeping places handed to [`Hooks`].

use std::time::{Duration, Instant};

use mely_topology::{CpuSet, Topology};

use super::Handle;
use super::builder::Builder;
use super::ending::ShutdownReport;
use super::error::BuildError;
use crate::machine::clock::Clock;
use crate::machine::driver::{Driver, ReadyList};
use crate::machine::simulated::{hooks, meter};
use crate::machine::sync::Arc;
use crate::shared::remote::Remote;
use crate::shared::{Phase, Shared};
use crate::worker::{Worker, run_worker};

/// The clock of the simulated machine.
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        self.0 + elapsed()
    }

    #[inline]
    fn cycles(&self) -> u64 {
        meter::cycles()
    }

    fn cycles_per_second(&self) -> f64 {
        hooks::ask(|hooks| hooks.cycles_per_second()).unwrap_or_default()
    }
}

/// Where a simulated worker sleeps.
struct VirtualDriver(usize);

impl Driver for VirtualDriver {
    fn wait(&self, _ready: &mut ReadyList, timeout: Option<Duration>) {
        hooks::tell(|hooks| hooks.wait(self.0, timeout));
    }

    fn wake(&self) {
        hooks::tell(|hooks| hooks.wake(self.0));
    }

    fn has_sources(&self) -> bool {
        false
    }
}

/// The workers of a runtime, without threads.
#[derive(Debug)]
pub struct Workers {
    handle: Handle,
    victims: Vec<Box<[usize]>>,
}

impl Workers {
    pub(crate) fn new(builder: Builder, cpus: &[usize], topology: &Topology) -> Self {
        let remote = |(worker, &cpu)| {
            Arc::new(Remote::new(
                Box::new(VirtualDriver(worker)),
                Some(cpu),
                false,
            ))
        };
        let remotes: Box<[_]> = cpus.iter().enumerate().map(remote).collect();
        let clock = Arc::new(VirtualClock(Instant::now()));
        let shared = Shared::new(builder.into_config(cpus.len()), clock, remotes);
        let shared = Arc::new(shared);
        let victims = |worker| topology.victim_workers(worker, cpus).into_boxed_slice();
        Self {
            handle: Handle::new(shared),
            victims: (0..cpus.len()).map(victims).collect(),
        }
    }

    /// The runtime, to make colors and to read metrics.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Is a worker until the runtime has stopped.
    ///
    /// Each must be called once, on a stack of its own, of which the simulator leaves
    /// one for another only inside [`Hooks`], by [`leave`].
    pub fn run(&self, worker: usize) {
        let shared = Arc::clone(&self.handle.shared);
        run_worker(&Worker::new(shared, worker, self.victims[worker].clone()));
    }

    /// Whether every event posted has been run, shed, cancelled or abandoned.
    #[must_use]
    pub fn is_quiescent(&self) -> bool {
        self.handle.shared.is_quiescent()
    }

    /// Refuses events from outside from now on, and cancels the timers.
    pub fn drain(&self) {
        self.handle.shared.enter(Phase::Draining);
    }

    /// Makes all workers end after the event that they run.
    pub fn stop(&self) {
        self.handle.shared.enter(Phase::Stopped);
    }

    /// What was done, once every worker has ended.
    #[must_use]
    pub fn end(&self) -> ShutdownReport {
        let shared = &self.handle.shared;
        ShutdownReport {
            events_run: self.handle.metrics().events.run,
            abandoned: shared.abandoned(),
            held: Vec::new(),
            trace: None,
        }
    }
}

/// The time since the machine of this thread began. Asking takes none; zero if there is
/// no machine.
#[must_use]
pub fn elapsed() -> Duration {
    hooks::ask(|hooks| hooks.elapsed()).unwrap_or_default()
}

/// Leaves a worker for another: `suspend` returns when the machine comes back to it.
#[inline(always)]
pub fn leave<R>(suspend: impl FnOnce() -> R) -> R {
    Worker::while_left(suspend)
}

impl Builder {
    /// The workers of a runtime without threads, on the cores of a machine that need
    /// not exist: as many as [`workers`](Self::workers) says, else one for each core.
    ///
    /// # Errors
    ///
    /// A [`BuildError`], as from [`build`](Self::build).
    pub fn simulated(self, topology: &Topology) -> Result<Workers, BuildError> {
        let cpus = topology.cores().iter().map(|core| core.cpu);
        // A topology has no CPU that a set cannot hold.
        let machine = CpuSet::of(cpus).unwrap_or_default();
        let cores = self.place(&machine, || topology.cores().len())?;
        Ok(Workers::new(self, &cores.of_workers, topology))
    }
}
