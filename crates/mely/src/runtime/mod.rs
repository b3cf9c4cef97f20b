//! The runtime: workers, from start to shutdown.

mod before;
pub(crate) mod builder;
pub(crate) mod counting;
pub(crate) mod ending;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod histogram;
pub(crate) mod metrics;
mod monitor;
mod prometheus;
mod threads;
pub(crate) mod waiting;
#[cfg(feature = "virtual")]
pub(crate) mod workers;

use core::fmt;
use core::ops::Deref;
use std::io;
use std::time::Duration;

use mely_topology::Topology;
use mely_trace::{Header, NOT_PINNED};

use self::builder::Builder;
use self::error::BuildError;
use self::handle::Handle;
use crate::machine::affinity::{Cores, Crowd};
use crate::machine::barrier;
use crate::machine::clock::SystemClock;
use crate::machine::cycles;
use crate::machine::sync::Arc;
use crate::outside::reactor::{self, Reactor};
use crate::runtime::ending::{Ending, ShutdownError, ShutdownReport};
use crate::runtime::monitor::Monitor;
use crate::runtime::threads::Thread;
use crate::shared::Shared;
use crate::shared::config::{Config, ReactorKind};
use crate::shared::remote::Remote;
use crate::trace::Recording;
use crate::worker::{self, Worker};

/// How long a runtime that is dropped without [`Runtime::shutdown`] lets pending
/// events run.
const DROP_DEADLINE: Duration = Duration::from_secs(1);

/// A runtime: one worker for each core, running events until it is shut down.
///
/// Dropping it shuts it down with a deadline of a second; call
/// [`shutdown`](Self::shutdown) to choose the deadline and to learn what was left.
///
/// ```
/// use std::time::Duration;
/// let rt = mely::Runtime::new()?;
/// let greeter = rt.colored(String::from("hello"));
/// greeter.post(|text, cx| println!("{text} from worker {}", cx.worker()))?;
/// let report = rt.shutdown(Duration::from_secs(5))?;
/// assert_eq!(report.events_run, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runtime {
    handle: Handle,
    /// `None` once it is being shut down.
    threads: Option<Vec<Thread>>,
    monitor: Option<Monitor>,
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

    pub(crate) fn start(config: Config, cores: Cores) -> Result<Self, BuildError> {
        cycles::per_second();
        let topology = Topology::detect();
        let kind = config.reactor;
        let recording = start_recording(&config, &topology, &cores)?;
        let workers = cores.of_workers.len();
        let lends = workers > 1 && config.heuristics.steal && can_lend();
        let remotes = (0..workers)
            .map(|worker| {
                let driver = Reactor::new().map_err(|source| BuildError::Io {
                    what: "an epoll instance",
                    source,
                })?;
                Ok(Arc::new(Remote::new(
                    Box::new(driver),
                    cores.pinned(worker),
                    lends,
                )))
            })
            .collect::<Result<Box<[_]>, BuildError>>()?;
        let shared = Shared::new(config, Arc::new(SystemClock), remotes);
        let shared = Arc::new(shared.recorded(recording));
        let mut runtime = Self {
            handle: Handle::new(Arc::clone(&shared)),
            threads: Some(Vec::new()),
            monitor: None,
        };
        if let Err(error) = runtime.start_threads(kind, &topology, &cores) {
            // Those that have started end without the rest.
            let started = runtime.threads.as_ref().map_or(0, Vec::len);
            (started..workers).for_each(|_| shared.worker_ends());
            return Err(error);
        }
        Ok(runtime)
    }

    fn start_threads(
        &mut self,
        kind: ReactorKind,
        topology: &Topology,
        cores: &Cores,
    ) -> Result<(), BuildError> {
        let io = |what| move |source| BuildError::Io { what, source };
        let shared = Arc::clone(&self.handle.shared);
        if kind == ReactorKind::Single {
            reactor::single::start(&shared).map_err(io("the single epoll instance"))?;
        }
        let threads = self.threads.get_or_insert_default();
        let crowd = std::sync::Arc::default();
        for index in 0..cores.of_workers.len() {
            let victims = topology.victim_workers(index, &cores.of_workers);
            let thread = start_worker(&shared, index, victims.into(), cores, &crowd);
            threads.push(thread.map_err(io("a worker thread"))?);
        }
        self.monitor = Some(Monitor::start(&shared).map_err(io("the monitor thread"))?);
        Ok(())
    }

    /// Shuts down: refuses events from outside, cancels timers, runs what is
    /// pending and what that posts, until all is done or the deadline has passed.
    ///
    /// A handler that never returns cannot be stopped: its thread is left behind, and
    /// what it may still reach. So are destructors of what is left that take longer, those of
    /// what handlers keep in thread-local storage among them, and a trace that cannot be
    /// written in time.
    ///
    /// Inside a handler of this very runtime the deadline always passes: the handler waits
    /// for itself, and its worker is reported as held. Dropping the runtime there does not
    /// wait.
    ///
    /// # Errors
    ///
    /// A [`ShutdownError`] with the same report, if events were left or a handler
    /// did not return.
    pub fn shutdown(mut self, deadline: Duration) -> Result<ShutdownReport, ShutdownError> {
        let ending = self
            .ending()
            .expect("only this, and dropping, ends a runtime");
        ending.run(deadline)
    }

    /// What ends it, once.
    fn ending(&mut self) -> Option<Ending> {
        let threads = self.threads.take()?;
        Some(Ending::new(
            &self.handle.shared,
            threads,
            self.monitor.take(),
        ))
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
        if let Some(ending) = self.ending() {
            ending.end_of_dropped(DROP_DEADLINE);
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

impl Builder {
    /// Builds the runtime and starts its workers.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names what is wrong; nothing is left running.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let allowed = mely_topology::allowed_cpus();
        let default = || mely_topology::default_workers(&allowed, mely_topology::cpu_quota());
        let cores = self.place(&allowed, default)?;
        Runtime::start(self.into_config(cores.of_workers.len()), cores)
    }
}

fn start_worker(
    shared: &Arc<Shared>,
    index: usize,
    victims: Box<[usize]>,
    cores: &Cores,
    crowd: &std::sync::Arc<Crowd>,
) -> io::Result<Thread> {
    let shared = Arc::clone(shared);
    let name = format!("{}-{index}", shared.config.worker_name);
    let (cores, crowd) = (cores.clone(), std::sync::Arc::clone(crowd));
    Thread::start(name, move || {
        let (footing, core) = cores.settle(index, &crowd);
        let worker = Worker::new(shared, index, victims);
        worker.take_footing(footing, core);
        worker::run_worker(&worker);
    })
}

/// Whether the system lets others take what is private to a worker that does not come.
fn can_lend() -> bool {
    let can = barrier::is_there();
    if !can {
        eprintln!(
            "mely: short colors wait while a handler blocks their worker: there is no membarrier"
        );
    }
    can
}

/// Begins the file of the trace, if there is to be one.
fn start_recording(
    config: &Config,
    topology: &Topology,
    cores: &Cores,
) -> Result<Option<Recording>, BuildError> {
    let Some(path) = &config.trace else {
        return Ok(None);
    };
    let header = trace_header(config, topology, cores);
    let recording = Recording::start(path, &header, cycles::now());
    recording.map(Some).map_err(|source| BuildError::Trace {
        path: path.clone(),
        source,
    })
}

/// What a trace says of the runtime that it is of.
fn trace_header(config: &Config, topology: &Topology, cores: &Cores) -> Header {
    let core = |worker| {
        let pinned = cores.pinned(worker);
        pinned.map_or(NOT_PINNED, |core| u32::try_from(core).unwrap_or(NOT_PINNED))
    };
    Header {
        cycles_per_second: cycles::per_second(),
        policy: config.policy.to_string(),
        topology: topology.tree().to_string(),
        cores: (0..cores.of_workers.len()).map(core).collect(),
    }
}
