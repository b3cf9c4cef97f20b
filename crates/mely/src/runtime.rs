//! The runtime: workers, from start to shutdown.

use core::fmt;
use core::ops::Deref;
use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mely_trace::{Header, NOT_PINNED};

use crate::affinity::{Cores, Crowd};
use crate::builder::{BuildError, Builder};
use crate::cell::ColorRef;
use crate::clock::SystemClock;
use crate::color::{Color, Colored};
use crate::color_options::ColorOptions;
use crate::config::Config;
use crate::event::StatePtr;
use crate::metrics::Snapshot;
use crate::reactor::{self, Reactor};
use crate::remote::Remote;
use crate::shared::{Phase, Shared};
use crate::sync::Arc;
use crate::topology::Topology;
use crate::trace::TraceReport;
use crate::watchdog::Watchdog;
use crate::worker::{self, Driver, Worker};

/// How long a runtime that is dropped without [`Runtime::shutdown`] lets pending
/// events run.
const DROP_DEADLINE: Duration = Duration::from_secs(1);

/// How often a shutdown looks whether all events have run.
const DRAIN_POLL: Duration = Duration::from_micros(200);

/// A runtime: one worker for each core, running events until it is shut down.
///
/// Dropping it shuts it down with a deadline of a second; call
/// [`shutdown`](Self::shutdown) to choose the deadline and to learn what was left.
///
/// ```
/// use std::time::Duration;
/// let rt = mely::Runtime::new()?;
/// let greeter = rt.colored(String::from("hello"));
/// greeter.post(|text, cx| println!("{text} from worker {}", cx.worker()));
/// let report = rt.shutdown(Duration::from_secs(5))?;
/// assert_eq!(report.events_run, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runtime {
    handle: Handle,
    threads: Vec<JoinHandle<()>>,
    watchdog: Option<Watchdog>,
}

impl Runtime {
    /// A runtime with all defaults.
    ///
    /// # Errors
    ///
    /// If the system refuses threads or descriptors.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// The settings of a runtime that is to be built.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(mut config: Config, cores: Cores) -> Result<Self, BuildError> {
        crate::cycles::per_second();
        let topology = Topology::detect();
        let kind = config.reactor;
        let traced = trace_header(&config, &topology, &cores);
        config.trace.start(&traced, crate::cycles::now())?;
        let workers = cores.of_workers.len();
        let remotes = (0..workers)
            .map(|worker| {
                let driver = Reactor::new().map_err(|source| BuildError::Io {
                    what: "an epoll instance",
                    source,
                })?;
                Ok(Arc::new(Remote::new(
                    Box::new(driver),
                    cores.pinned(worker),
                )))
            })
            .collect::<Result<Box<[_]>, BuildError>>()?;
        let shared = Arc::new(Shared::new(config, Arc::new(SystemClock), remotes));
        shared.make_system_colors();
        let mut runtime = Self {
            handle: Handle::new(Arc::clone(&shared)),
            threads: Vec::with_capacity(workers),
            watchdog: None,
        };
        if kind == reactor::ReactorKind::Single {
            reactor::single::start(&runtime.handle).map_err(|source| BuildError::Io {
                what: "the single epoll instance",
                source,
            })?;
        }
        let crowd = Arc::default();
        for index in 0..workers {
            let victims = topology.victim_workers(index, &cores.of_workers);
            let thread = runtime.start_worker(index, victims.into(), &cores, &crowd);
            runtime
                .threads
                .push(thread.map_err(|source| BuildError::Io {
                    what: "a worker thread",
                    source,
                })?);
        }
        let watchdog = Watchdog::start(&shared).map_err(|source| BuildError::Io {
            what: "the watchdog thread",
            source,
        })?;
        runtime.watchdog = watchdog;
        Ok(runtime)
    }

    fn start_worker(
        &self,
        index: usize,
        victims: Box<[usize]>,
        cores: &Cores,
        crowd: &std::sync::Arc<Crowd>,
    ) -> io::Result<JoinHandle<()>> {
        let (cores, crowd) = (cores.clone(), std::sync::Arc::clone(crowd));
        let shared = Arc::clone(&self.handle.shared);
        let name = format!("{}-{index}", shared.config.worker_name);
        std::thread::Builder::new().name(name).spawn(move || {
            let (place, core) = cores.settle(index, &crowd);
            let worker = Worker::new(shared, index, victims);
            worker.take_place(place, core);
            worker::run_worker(&worker);
        })
    }

    /// Shuts down: refuses events from outside, cancels timers, runs what is
    /// pending and what that posts, until all is done or the deadline has passed.
    ///
    /// A handler that never returns cannot be stopped: its thread is left behind.
    ///
    /// # Errors
    ///
    /// A [`ShutdownError`] with the same report, if events were left or a handler
    /// did not return.
    pub fn shutdown(mut self, deadline: Duration) -> Result<ShutdownReport, ShutdownError> {
        self.end(deadline)
    }

    fn end(&mut self, deadline: Duration) -> Result<ShutdownReport, ShutdownError> {
        let shared = Arc::clone(&self.handle.shared);
        let deadline = Instant::now() + deadline.min(Duration::from_secs(u64::from(u32::MAX)));
        shared.enter(Phase::Draining);
        while !shared.is_quiescent() && Instant::now() < deadline {
            std::thread::sleep(DRAIN_POLL);
        }
        shared.enter(Phase::Stopped);
        drop(self.watchdog.take());
        // Those that return at once still get a moment when the deadline has passed.
        let deadline = deadline.max(Instant::now() + Duration::from_millis(100));
        let mut held = Vec::new();
        for (index, thread) in self.threads.drain(..).enumerate() {
            let running = || shared.remotes[index].counts.running.get();
            // A worker that runs no handler is on its way out, however slowly.
            while !thread.is_finished() && (Instant::now() < deadline || running() == 0) {
                std::thread::sleep(DRAIN_POLL);
            }
            if thread.is_finished() {
                // The worker catches the panics of handlers; its own are a bug of
                // ours, reported by the panic hook already.
                drop(thread.join());
            } else {
                let names = crate::handler::names();
                let name = usize::try_from(running()).ok().and_then(|at| names.get(at));
                held.push((index, *name.unwrap_or(&"(none)")));
            }
        }
        shared.forget_colors();
        if held.is_empty() {
            shared.end_watches();
        }
        let trace = shared.config.trace.recording();
        let report = ShutdownReport {
            trace: trace.and_then(|trace| trace.end(shared.clock.cycles()).map(Box::new)),
            events_run: self.handle.metrics().events.run,
            abandoned: shared.abandoned(),
            held,
        };
        match report.abandoned.is_empty() && report.held.is_empty() {
            true => Ok(report),
            false => Err(ShutdownError { report }),
        }
    }
}

impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            drop(self.end(DROP_DEADLINE));
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.workers())
            .field("policy", &self.handle.shared.config.policy)
            .finish_non_exhaustive()
    }
}

/// A reference to a runtime: makes colors and reads metrics, from any thread.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The color with a small number, as in the papers: the same number is the same
    /// color, and it lives as long as the runtime.
    pub fn color(&self, number: u16) -> Color {
        let color = self.shared.small_color(number);
        Colored::from_parts(color, StatePtr(core::ptr::NonNull::dangling()))
    }

    /// A color of its own; there can be any number. It begins on the worker that
    /// makes it, or on each in turn when made outside of the workers.
    pub fn fresh_color(&self) -> Color {
        self.colored(())
    }

    /// State with a color of its own.
    pub fn colored<T: Send + 'static>(&self, state: T) -> Colored<T> {
        let here = worker::with_current(&self.shared, |w| w.map(Worker::index));
        let home = here.unwrap_or_else(|| self.shared.next_home());
        let traits = self.shared.default_traits(home);
        let color = ColorRef::new(&self.shared, self.shared.next_color_id(), traits);
        Colored::new(color, state)
    }

    /// The settings of a color that is to be made: pinned, bounded, placed.
    pub fn color_options(&self) -> ColorOptions {
        ColorOptions::new(Arc::clone(&self.shared))
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.shared.remotes.len()
    }

    /// What the runtime has counted so far. Reads all workers' counters; takes some
    /// microseconds and stops nobody.
    pub fn metrics(&self) -> Snapshot {
        Snapshot::of(&self.shared)
    }

    /// Blocks until no event is pending or running: for tests and benchmarks.
    /// Timers that are not due count as pending.
    ///
    /// # Panics
    ///
    /// Inside a handler, which would wait for itself.
    pub fn settle(&self) {
        let inside = worker::with_current(&self.shared, |worker| worker.is_some());
        assert!(
            !inside,
            "Handle::settle: {}",
            crate::CallError::InsideHandler
        );
        while !self.shared.is_quiescent() && self.shared.phase() < Phase::Stopped {
            crate::sync::pause(DRAIN_POLL);
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

/// What a runtime did until its end, and what it could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Events that were run, in all.
    pub events_run: u64,
    /// Events that were dropped because the deadline passed, by handler.
    pub abandoned: Vec<(&'static str, u64)>,
    /// Workers whose handler did not return, with the handler.
    pub held: Vec<(usize, &'static str)>,
    /// What was recorded, if the runtime was built with a
    /// [`trace`](Builder::trace).
    pub trace: Option<Box<TraceReport>>,
}

/// A shutdown that could not run everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownError {
    /// What was done and what not.
    pub report: ShutdownReport,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: u64 = self.report.abandoned.iter().map(|(_, events)| events).sum();
        write!(f, "the deadline passed with {events} events not run")?;
        for (name, events) in &self.report.abandoned {
            write!(f, "; {events} of {name}")?;
        }
        for (worker, name) in &self.report.held {
            write!(f, "; worker {worker} is still held by {name}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}

/// What a trace says of the runtime that it is of.
fn trace_header(config: &Config, topology: &Topology, cores: &Cores) -> Header {
    let core = |worker| {
        let pinned = cores.pinned(worker);
        pinned.map_or(NOT_PINNED, |core| u32::try_from(core).unwrap_or(NOT_PINNED))
    };
    Header {
        cycles_per_second: crate::cycles::per_second(),
        policy: config.policy.to_string(),
        topology: topology.tree().to_string(),
        cores: (0..cores.of_workers.len()).map(core).collect(),
    }
}

/// Whether a reactor of a worker is reachable: all but loom models have one.
pub(crate) fn reactor_of(shared: &Shared, worker: usize) -> Option<&Reactor> {
    let driver: &dyn Driver = &*shared.remotes[worker].driver;
    driver.reactor()
}
