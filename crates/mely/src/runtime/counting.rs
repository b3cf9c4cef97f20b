//! What is counted by handler beside time: cache misses or page faults.

use crate::cost::durations::CountedSums;
use crate::machine::counter::Choice;
use crate::shared::Shared;

/// What the workers of a runtime count by handler, or why they do not.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let counting = rt.metrics().counting;
/// assert_eq!((counting.counter, counting.reason), (None, None), "nobody asked for it");
/// # Ok::<(), mely::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counting {
    /// What is counted: `l2_cache_misses`, `cache_misses` or `page_faults`; see
    /// [`Counted`](crate::Counted).
    pub counter: Option<&'static str>,
    /// How many workers count it.
    pub workers: usize,
    /// Why nothing is counted although that was asked for, or not by all workers.
    pub reason: Option<String>,
}

impl Counting {
    pub(super) fn of(shared: &Shared) -> Self {
        match &shared.config.counting {
            Choice::Nothing => Self::default(),
            Choice::None(reason) => Self {
                reason: Some(reason.clone()),
                ..Self::default()
            },
            Choice::Source(source) => {
                let refused: Vec<_> = shared
                    .remotes
                    .iter()
                    .filter_map(|remote| remote.uncounted.get())
                    .collect();
                let workers = shared.remotes.len() - refused.len();
                Self {
                    counter: (workers > 0).then(|| source.name()),
                    workers,
                    reason: refused.first().map(|&reason| reason.clone()),
                }
            }
        }
    }
}

/// How often something happened while the events of a handler ran: an estimate from those that
/// were noted, each of which stands for as many as in a [`Histogram`](crate::Histogram).
///
/// An event that runs others within itself, in an await, counts what these do, too: its run
/// takes them in, as its time does.
///
/// ```
/// let tally = mely::Tally { total: 600, events: 200, samples: 50 };
/// assert_eq!(tally.per_event(), Some(3.0));
/// assert_eq!(mely::Tally::default().per_event(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// About how often, over these events.
    pub total: u64,
    /// About how many events: those of workers that count.
    pub events: u64,
    /// How many of them were noted: of these the rest is known.
    pub samples: u64,
}

impl Tally {
    /// About how often in an event; `None` if nothing is known.
    pub fn per_event(&self) -> Option<f64> {
        (self.events > 0).then(|| self.total as f64 / self.events as f64)
    }

    /// Adds what a worker knows.
    pub(super) fn add(&mut self, sums: &CountedSums) {
        self.total = self.total.saturating_add(sums.total.get());
        self.events += sums.events.get();
        self.samples += sums.samples.get();
    }
}
