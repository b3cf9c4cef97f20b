//! A runtime on a machine that is simulated.

use core::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use super::cores::Doing;
use super::{DEADLOCK, Engine, MachineFault, NEVER_ENDS, OUTSIDE, Outside, Settings};
use crate::mely::simulated::{Installed, Workers, install, meter};
use crate::mely::{BuildError, Builder, Handle, ShutdownError, ShutdownReport};

/// How often a shutdown looks whether all events have run, as in production.
const DRAIN_POLL: Duration = Duration::from_micros(200);

/// Why a simulation came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as late as was asked for, and something is still to come.
    TimeIsUp,
    /// All cores sleep, and nothing will wake them: no timer, nothing from outside.
    Idle,
    /// All workers have ended.
    Ended,
    /// What was asked for has come true.
    Enough,
}

/// Why there is no simulation, or why it cannot go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum SimulationError {
    /// The runtime cannot be built.
    Build(BuildError),
    /// There is no memory for the stacks of the cores.
    Stack(io::Error),
    /// This thread has a simulation already: drop that one first.
    Busy,
    /// These cores wait for locks that nobody will ever free.
    Deadlock {
        /// By number of the worker.
        cores: Vec<usize>,
    },
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulationError::Build(error) => error.fmt(f),
            SimulationError::Stack(error) => {
                write!(f, "there is no memory for the stacks of the cores: {error}")
            }
            SimulationError::Busy => f.write_str(
                "this thread runs a simulation already: drop it first, or use another thread",
            ),
            SimulationError::Deadlock { cores } => {
                write!(
                    f,
                    "{DEADLOCK}: workers {cores:?} wait for locks that nobody frees"
                )
            }
        }
    }
}

impl std::error::Error for SimulationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SimulationError::Build(error) => Some(error),
            SimulationError::Stack(error) => Some(error),
            _ => None,
        }
    }
}

/// What a simulation has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often a core went on after another.
    pub switches: u64,
}

/// A runtime on a machine that is simulated; a thread has one at a time.
///
/// Between the calls that let it run, the code that has it is *outside*: it makes
/// colors and posts through [`handle`](Self::handle), which takes no time on the
/// machine. `Handle::settle` and `Colored::with` let it run as far as they need.
pub struct Simulation {
    engine: Rc<Engine>,
    workers: Rc<Workers>,
    _installed: Installed,
}

impl Simulation {
    /// A runtime on a machine: a worker for each core, unless the builder says
    /// otherwise.
    ///
    /// # Errors
    ///
    /// [`SimulationError::Busy`] if this thread has one; what
    /// [`Builder::build`] would say; or no memory.
    pub fn new(builder: Builder, settings: Settings) -> Result<Self, SimulationError> {
        let workers = builder.simulated(&settings.topology);
        let workers = Rc::new(workers.map_err(SimulationError::Build)?);
        let metrics = workers.handle().metrics();
        let cpus: Box<[usize]> = metrics.workers.iter().flat_map(|w| w.core).collect();
        let cores = cpus.len();
        let (engine, tariff) = Engine::new(settings, &cpus);
        let engine = Rc::new(engine);
        for core in 0..cores {
            let workers = Rc::clone(&workers);
            let started = engine.start(core, move || workers.run(core));
            started.map_err(SimulationError::Stack)?;
        }
        let hooks = Rc::clone(&engine);
        let installed = install(hooks, tariff).ok_or(SimulationError::Busy)?;
        Ok(Self {
            engine,
            workers,
            _installed: installed,
        })
    }

    /// The runtime: to make colors, to post from outside, to read metrics.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        self.workers.handle()
    }

    /// The virtual time, in cycles since the beginning.
    #[must_use]
    pub fn now(&self) -> u64 {
        meter::now()
    }

    /// The same, as a duration.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.engine.duration_of(self.now())
    }

    /// How many cycles a duration takes.
    #[must_use]
    pub fn cycles(&self, time: Duration) -> u64 {
        self.engine.cycles_of(time)
    }

    /// Lets something happen outside at a time, now at the earliest: a client that
    /// sends, say. No core passes that time before it has happened (but by the slack).
    pub fn at(&self, time: u64, arrival: impl FnOnce(&Outside<'_>) + 'static) {
        Outside::of(&self.engine).at(time, arrival);
    }

    /// Runs until the virtual time is `cycles`.
    ///
    /// # Errors
    ///
    /// A deadlock.
    pub fn run_until(&self, cycles: u64) -> Result<Outcome, SimulationError> {
        self.engine.run(cycles, || false)
    }

    /// Runs until all cores sleep and nothing is to come: timers and what comes from
    /// outside is waited for. A program that posts for ever never comes back.
    ///
    /// # Errors
    ///
    /// A deadlock.
    pub fn run_until_idle(&self) -> Result<Outcome, SimulationError> {
        self.engine.run(u64::MAX, || false)
    }

    /// Runs until `enough` says so; it is asked before each switch from a core to
    /// another one. For checks after each step, and for programs without an end.
    ///
    /// # Errors
    ///
    /// A deadlock.
    pub fn run_while(&self, more: impl Fn() -> bool) -> Result<Outcome, SimulationError> {
        self.engine.run(u64::MAX, || !more())
    }

    /// Whether nothing is pending: every event posted was run, shed, cancelled or
    /// abandoned.
    #[must_use]
    pub fn is_quiescent(&self) -> bool {
        self.workers.is_quiescent()
    }

    /// The hash of all that happened: by [`Settings::trace`], of which core ran when,
    /// or of each operation.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.engine.trace.hash.get()
    }

    /// Adds something to the hash: what a program saw, say.
    pub fn note(&self, word: u64) {
        self.engine.trace.add(word);
    }

    /// What the simulation itself has done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            switches: self.engine.switches.get(),
        }
    }

    /// For how many cycles a worker has slept.
    #[must_use]
    pub fn slept_cycles(&self, worker: usize) -> u64 {
        self.engine.cores.slept(worker, self.now())
    }

    /// Since when each worker sleeps, of those that do, in cycles.
    pub fn asleep(&self) -> impl Iterator<Item = Option<u64>> {
        self.engine.cores.asleep().take(self.engine.workers)
    }

    /// Breaks the machine, or mends it: for tests of what finds bugs.
    pub fn plant(&self, fault: Option<MachineFault>) {
        self.engine.fault.plant(fault);
    }

    /// Ends without letting the workers run to their end: for a scheduler that is
    /// known to be broken. What they own is never freed.
    pub fn abandon(self) {
        self.engine.arrivals.cancel();
        self.engine.give_up();
    }

    /// Shuts down as [`Runtime::shutdown`](crate::mely::Runtime::shutdown) does, with a
    /// deadline in virtual time.
    ///
    /// # Errors
    ///
    /// If events were left.
    ///
    /// # Panics
    ///
    /// On a deadlock, and if a worker does not end.
    pub fn shutdown(self, deadline: Duration) -> Result<ShutdownReport, ShutdownError> {
        let end = self.now().saturating_add(self.cycles(deadline));
        let poll = self.cycles(DRAIN_POLL);
        self.workers.drain();
        while !self.is_quiescent() && self.now() < end {
            let until = self.now().saturating_add(poll).min(end);
            match self.run_until(until) {
                Ok(Outcome::TimeIsUp) => {}
                Ok(_) => break,
                Err(error) => panic!("{error}"),
            }
        }
        match self.end() {
            Ok(Outcome::Ended) => {}
            Ok(_) => {
                let cores = self.engine.cores.that(|doing| doing != Doing::Ended);
                panic!("{NEVER_ENDS}: workers {cores:?} sleep")
            }
            Err(error) => panic!("{error}"),
        }
        let report = self.workers.end();
        match report.abandoned.is_empty() {
            true => Ok(report),
            false => Err(ShutdownError { report }),
        }
    }

    /// Tells all workers to end after the event that they run, and does not wait for
    /// that: a shutdown that gives up on one which is held.
    pub fn stop(&self) {
        self.workers.stop();
    }

    /// Makes all workers end.
    fn end(&self) -> Result<Outcome, SimulationError> {
        self.engine.arrivals.cancel();
        self.workers.stop();
        self.run_until_idle()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // A core that did not come back, because it or the program panicked, cannot be
        // gone on with.
        if self.engine.given_up.get() {
            return;
        }
        let all_left = self.engine.running.get() == OUTSIDE && !std::thread::panicking();
        let ended = || {
            self.engine
                .cores
                .that(|doing| doing != Doing::Ended)
                .is_empty()
        };
        if all_left && (ended() || self.end().is_ok()) && ended() {
            drop(self.workers.end());
        } else {
            self.engine.give_up();
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("now", &self.now())
            .field("trace_hash", &self.trace_hash())
            .finish_non_exhaustive()
    }
}
