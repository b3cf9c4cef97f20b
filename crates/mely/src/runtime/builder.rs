//! Building a runtime.

use std::path::PathBuf;
use std::time::Duration;

use mely_sched::{Batch, Policy};
use mely_topology::CpuSet;

use super::error::BuildError;
use crate::cell::{Capacity, OnPanic, UNBOUNDED};
use crate::machine::affinity::{Affinity, Cores};
use crate::machine::counter::{Choice, Counted};
use crate::shared::config::{Config, ReactorKind, StallReport};
use crate::shared::idle::WORKERS_MAX;

/// Settings of a runtime that is to be built.
///
/// ```
/// use mely::{Policy, Runtime};
/// let rt = Runtime::builder().workers(4).policy(Policy::Mely).build()?;
/// assert_eq!(rt.workers(), 4);
/// assert!(Runtime::builder().workers(0).build().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    workers: Option<usize>,
    cores: Option<Vec<usize>>,
    affinity: Affinity,
    policy: Policy,
    batch_threshold: Option<u32>,
    color_capacity: Capacity,
    timers_max: usize,
    nodes_max: usize,
    on_panic: OnPanic,
    warn_after: Option<Duration>,
    on_stall: fn(&StallReport),
    worker_name: String,
    reactor: ReactorKind,
    counted: Counted,
    trace: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            workers: None,
            cores: None,
            affinity: Affinity::default(),
            policy: Policy::default(),
            batch_threshold: None,
            color_capacity: UNBOUNDED,
            timers_max: Self::TIMERS_MAX,
            nodes_max: Self::NODES_MAX,
            on_panic: OnPanic::default(),
            warn_after: None,
            on_stall: |report| eprintln!("mely: {report}"),
            worker_name: "mely".to_owned(),
            reactor: ReactorKind::default(),
            counted: Counted::default(),
            trace: None,
        }
    }
}

impl Builder {
    /// Default of [`timers_max`](Self::timers_max): 4 million, about 400 MB.
    pub const TIMERS_MAX: usize = 4 << 20;

    /// Default of [`nodes_max`](Self::nodes_max): 65 536 nodes are 4 MiB.
    pub const NODES_MAX: usize = 1 << 16;

    /// How many workers. Default: one for each core that the process may use, by
    /// its CPU affinity and its container's CPU quota. More than there are cores
    /// is possible; they then share cores.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The cores to use, by OS number; workers take them in turn, and run on these
    /// only, pinned or free. Default: those that the process may use.
    pub fn cores(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = Some(cores.into_iter().collect());
        self
    }

    /// Whether each worker keeps to a core of its own. Default: [`Affinity::Auto`].
    pub fn affinity(mut self, affinity: Affinity) -> Self {
        self.affinity = affinity;
        self
    }

    /// [`Affinity::Pinned`] or [`Affinity::Free`], by the name that it had before there
    /// was a third.
    #[deprecated(note = "use `affinity`")]
    pub fn pin_workers(self, pins: bool) -> Self {
        self.affinity(match pins {
            true => Affinity::Pinned,
            false => Affinity::Free,
        })
    }

    /// How colors are stolen. Default: [`Policy::Adaptive`].
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How many events of a color run in a row while others wait. Default: 10, as in the
    /// paper (*Efficient Workstealing*, section IV-A); a policy that learns costs lets up
    /// to 64 events run in a row if each takes no more than 256 cycles.
    pub fn batch_threshold(mut self, events: u32) -> Self {
        self.batch_threshold = Some(events);
        self
    }

    /// How many events may be pending on a color for which nothing else is said.
    /// Default: no limit.
    pub fn color_capacity(mut self, events: usize) -> Self {
        self.color_capacity = Capacity::try_from(events).unwrap_or(UNBOUNDED);
        self
    }

    /// How many timers each worker keeps; the events of more are shed.
    pub fn timers_max(mut self, timers: usize) -> Self {
        self.timers_max = timers;
        self
    }

    /// How many free event nodes (of 64 bytes) each worker keeps for reuse.
    pub fn nodes_max(mut self, nodes: usize) -> Self {
        self.nodes_max = nodes;
        self
    }

    /// What to do when a handler panics, where a color has not chosen itself
    /// ([`ColorOptions::on_panic`](crate::ColorOptions::on_panic)). Default:
    /// [`OnPanic::PoisonState`].
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.on_panic = on_panic;
        self
    }

    /// Warns when a handler holds a core for longer than this, by `on_stall`.
    /// Default: never. Looked at every 5 ms, by a thread of its own.
    pub fn warn_after(mut self, held: Duration) -> Self {
        self.warn_after = Some(held);
        self
    }

    /// What to do when a handler holds a core for too long: called on a thread of its own,
    /// for one handler at a time. Default: a line on standard error.
    pub fn on_stall(mut self, on_stall: fn(&StallReport)) -> Self {
        self.on_stall = on_stall;
        self
    }

    /// The names of the worker threads: this, a dash, and a number.
    pub fn worker_name(mut self, name: impl Into<String>) -> Self {
        self.worker_name = name.into();
        self
    }

    /// How descriptors are watched. Default: one epoll for each worker.
    pub fn reactor(mut self, reactor: ReactorKind) -> Self {
        self.reactor = reactor;
        self
    }

    /// What to count while the events of each handler run: cache misses, or page faults. Default:
    /// [`Counted::Nothing`].
    ///
    /// It takes the feature `counters`, and a kernel that lets its counters be opened for the
    /// program itself, as most do. Where it cannot be, the runtime runs without, and
    /// [`Snapshot::counting`](crate::Snapshot::counting) says why. What is counted, in user space
    /// only, is in [`HandlerMetrics::counted`](crate::HandlerMetrics::counted): an estimate from
    /// the events that are noted, each of which takes two readings of the counter more. An event
    /// that runs others within itself, in an await, counts what these do, too.
    ///
    /// ```
    /// use mely::{Counted, Handler, Runtime};
    /// static FILL: Handler = Handler::new("Fill");
    /// let rt = Runtime::builder().workers(1).counted(Counted::PageFaults).build()?;
    /// rt.new_color().with_handler(&FILL).post_or_shed(|_, _| drop(vec![1_u8; 1 << 20]));
    /// rt.wait_idle();
    /// let metrics = rt.metrics();
    /// let fill = metrics.handler("Fill").expect("it has run");
    /// println!("{:?} page faults an event", fill.counted.per_event());
    /// # Ok::<(), mely::BuildError>(())
    /// ```
    pub fn counted(mut self, counted: Counted) -> Self {
        self.counted = counted;
        self
    }

    /// Records what runs to a file, replacing what is there: for each event its
    /// handler, color, cost, worker and time, and what posted it. Default: no.
    ///
    /// `mely trace info FILE` sums such a file up, the simulator replays it, and the
    /// crate `mely-trace` reads it. It is complete after
    /// [`Runtime::shutdown`](crate::Runtime::shutdown), which
    /// waits until it is written or its deadline has passed; a program that dies before leaves a file that is cut
    /// off, without the last block of each worker. Workers never wait for the file:
    /// what comes faster than it can be written is lost, and counted.
    ///
    /// While a runtime records, short events cost some 150 to 200 ns more, and their turns
    /// are as long as those of others.
    ///
    /// ```
    /// use mely_trace::{Graph, Reader};
    /// # use std::time::Duration;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("run.trace");
    /// let rt = mely::Runtime::builder().workers(2).trace(&path).build()?;
    /// let (a, b) = (rt.numbered_color(1), rt.numbered_color(2));
    /// a.post(move |_, _| b.post_or_shed(|_, _| ()))?;
    /// let report = rt.shutdown(Duration::from_secs(5))?;
    /// assert_eq!(report.trace.map(|trace| trace.lost), Some(0));
    ///
    /// let graph = Graph::read(&mut Reader::new(std::fs::File::open(&path)?)?)?;
    /// let second = graph.events.iter().find(|event| event.color == 2).unwrap();
    /// assert_eq!(graph.events[second.cause as usize].color, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(mut self, path: impl Into<PathBuf>) -> Self {
        self.trace = Some(path.into());
        self
    }

    /// The core of each worker, and whether it keeps to it.
    pub(crate) fn place(
        &self,
        allowed: &CpuSet,
        default: impl FnOnce() -> usize,
    ) -> Result<Cores, BuildError> {
        let usable: Vec<usize> = match &self.cores {
            Some(cores) => cores.clone(),
            None => allowed.iter().collect(),
        };
        if let Some(&core) = usable.iter().find(|&&core| !allowed.contains(core)) {
            let allowed = allowed.clone();
            return Err(BuildError::NoSuchCore { core, allowed });
        }
        let workers = match (self.workers, &self.cores) {
            (Some(workers), _) => workers,
            (None, Some(cores)) => cores.len(),
            (None, None) => default(),
        };
        if usable.is_empty() {
            return Err(BuildError::NoCores);
        }
        if workers == 0 {
            return Err(BuildError::NoWorkers);
        }
        if workers > WORKERS_MAX {
            let (given, max) = (workers, WORKERS_MAX);
            return Err(BuildError::TooManyWorkers { given, max });
        }
        if self.batch_threshold == Some(0) {
            return Err(BuildError::ZeroBatch);
        }
        if self.worker_name.contains('\0') {
            return Err(BuildError::BadWorkerName(self.worker_name.clone()));
        }
        let cpus = match &self.cores {
            // All are allowed, as was checked above: a set can hold them.
            Some(cores) => CpuSet::of(cores.iter().copied()).unwrap_or_default(),
            None => allowed.clone(),
        };
        Ok(Cores::new(workers, &usable, cpus, self.affinity))
    }

    pub(crate) fn into_config(self, workers: usize) -> Config {
        let mut heuristics = self.policy.heuristics();
        heuristics.steal &= workers > 1;
        Config {
            policy: self.policy,
            heuristics,
            batch: match self.batch_threshold {
                Some(events) => Batch::fixed(events),
                None => Batch::of(self.policy.heuristics()),
            },
            color_capacity: self.color_capacity,
            timers_max: self.timers_max,
            nodes_max: self.nodes_max,
            on_panic: self.on_panic,
            warn_after: self.warn_after,
            on_stall: self.on_stall,
            worker_name: self.worker_name,
            reactor: self.reactor,
            counting: Choice::of(self.counted),
            trace: self.trace,
        }
    }
}
