//! What a stage has done, and how it stands.

mod text;

use mely_sched::admission::Reason;

use crate::histogram::Histogram;
use crate::shared::{Counts, Phase, Shared};

pub use text::{to_json, to_prometheus};

/// What a stage has done so far, and how it stands.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// (0..10).try_for_each(|n| log.sink().offer(n))?;
/// # rt.wait_idle();
/// let seen = log.snapshot();
/// assert_eq!((seen.counts.handled, seen.wait.count(), seen.queued), (10, 10, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of the stage.
    pub name: String,
    /// Whether it takes events.
    pub is_open: bool,
    /// Whether it has ended, and all its handlers are dropped.
    pub has_ended: bool,
    /// How many events may wait.
    pub capacity: usize,
    /// Events that wait.
    pub queued: usize,
    /// Places that are reserved.
    pub reserved: usize,
    /// Colors, or threads, that are held by a full stage that they feed.
    pub held: usize,
    /// Colors that serve it; 0 if threads do.
    pub colors: usize,
    /// Threads that serve it; 0 if colors do.
    pub threads: usize,
    /// How many events a handler is given at once, at most.
    pub batch: u32,
    /// What became of its events.
    pub counts: Counts,
    /// How long events waited until they were taken, in nanoseconds; of those that expired, too.
    pub wait: Histogram,
    /// How long handlers had each event in hand, in nanoseconds.
    pub service: Histogram,
    /// How many events handlers took at once; calls that took none are not counted.
    pub batches: Histogram,
}

impl Snapshot {
    pub(crate) fn of<E: Send + 'static>(shared: &Shared<E>) -> Self {
        let (observed, standing) = shared.observe();
        Self {
            name: shared.name.to_string(),
            is_open: standing.phase == Phase::Open,
            has_ended: standing.phase == Phase::Over,
            capacity: standing.capacity,
            queued: standing.queued,
            reserved: standing.reserved,
            held: standing.held,
            colors: standing.colors,
            threads: standing.threads,
            batch: standing.batch,
            counts: observed.counts,
            wait: observed.wait,
            service: observed.service,
            batches: observed.batches,
        }
    }

    /// Events that were refused when they were offered, by the names of the reasons; reasons that
    /// did not occur are left out.
    pub fn refused(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let own = [
            ("full", counts.refused_full),
            ("clogged", counts.refused_clogged),
            ("closed", counts.refused_closed),
        ];
        let policies = Reason::ALL.map(|reason| (reason.name(), counts.refused_for(reason)));
        occurred(own.into_iter().chain(policies))
    }

    /// Accepted events that were not handled, by the names of the reasons; reasons that did not
    /// occur are left out.
    pub fn shed(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let own = [
            ("panicked", counts.panicked),
            ("handed-back", counts.handed_back),
            ("ended", counts.ended),
            ("no-handler", counts.no_handler),
        ];
        let policies = Reason::ALL.map(|reason| (reason.name(), counts.expired_for(reason)));
        occurred(own.into_iter().chain(policies))
    }
}

fn occurred(all: impl Iterator<Item = (&'static str, u64)>) -> Vec<(&'static str, u64)> {
    all.filter(|(_, count)| *count > 0).collect()
}
