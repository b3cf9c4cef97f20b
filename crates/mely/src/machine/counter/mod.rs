//! A counter of the processor or the kernel, that counts one thread: cache misses, page faults.
//!
//! It is opened by the thread that it counts, and read by it. Without the feature `counters`
//! there is none, and it says so.

#[cfg(not(all(feature = "counters", not(any(loom, miri, feature = "virtual")))))]
mod off;
#[cfg(all(feature = "counters", not(any(loom, miri, feature = "virtual"))))]
mod on;
mod processor;

#[cfg(not(all(feature = "counters", not(any(loom, miri, feature = "virtual")))))]
pub(crate) use self::off::Counter;
#[cfg(all(feature = "counters", not(any(loom, miri, feature = "virtual"))))]
pub(crate) use self::on::Counter;

/// What the workers count while the events of each handler run
/// ([`Builder::counted`](crate::Builder::counted)).
///
/// ```
/// use mely::{Counted, Runtime};
/// let rt = Runtime::builder().workers(1).counted(Counted::CacheMisses).build()?;
/// let counting = rt.metrics().counting;
/// match counting.counter {
///     Some(counter) => println!("{counter} by {} workers", counting.workers),
///     None => println!("nothing: {}", counting.reason.unwrap_or_default()),
/// }
/// # Ok::<(), mely::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counted {
    /// Nothing, which costs nothing.
    #[default]
    Nothing,
    /// Misses of the level 2 cache (`l2_cache_misses`), where the processor's own event for them
    /// is known; else what the kernel calls cache misses (`cache_misses`): those of the last
    /// level on Intel, those of level 1 on most of ARM's. Many virtual machines have neither.
    CacheMisses,
    /// Page faults (`page_faults`), counted by the kernel, also in virtual machines: first
    /// touches of memory that it has not given yet, or has taken back, each of which takes
    /// about a microsecond, more where it reads a file.
    PageFaults,
}

impl Counted {
    /// What may be opened for it, best first.
    fn sources(self) -> Vec<Source> {
        match self {
            Self::Nothing => Vec::new(),
            Self::CacheMisses => {
                let own = processor::l2_misses().map(Source::L2CacheMisses);
                own.into_iter().chain([Source::CacheMisses]).collect()
            }
            Self::PageFaults => vec![Source::PageFaults],
        }
    }
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// By the processor's number of the event.
    L2CacheMisses(u64),
    CacheMisses,
    PageFaults,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::L2CacheMisses(_) => "l2_cache_misses",
            Self::CacheMisses => "cache_misses",
            Self::PageFaults => "page_faults",
        }
    }
}

/// What the workers of a runtime count, or why they do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Nothing,
    Source(Source),
    None(String),
}

impl Choice {
    /// The best that can be opened here and now.
    pub(crate) fn of(counted: Counted) -> Self {
        if counted == Counted::Nothing {
            return Self::Nothing;
        }
        let mut reasons = Vec::new();
        for source in counted.sources() {
            match Counter::open(source) {
                Ok(_) => return Self::Source(source),
                Err(reason) => reasons.push(reason),
            }
        }
        reasons.dedup();
        Self::None(reasons.join("; "))
    }
}

/// What a counter has counted, and how long it has done so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) count: u64,
    /// How long it was wanted.
    pub(crate) enabled_ns: u64,
    /// How long it counted: others may have had the processor's counters meanwhile.
    pub(crate) running_ns: u64,
}

impl Reading {
    /// How much was counted since, also while others had the counter, as if it had gone on
    /// alike; `None` if it did not count at all.
    pub(crate) fn since(&self, earlier: &Self) -> Option<u64> {
        let count = self.count.saturating_sub(earlier.count);
        let enabled_ns = self.enabled_ns.saturating_sub(earlier.enabled_ns);
        let running_ns = self.running_ns.saturating_sub(earlier.running_ns);
        if running_ns >= enabled_ns {
            return Some(count);
        }
        let whole = u128::from(count) * u128::from(enabled_ns);
        let scaled = whole.checked_div(u128::from(running_ns))?;
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_meanwhile_is_estimated() {
        let at = |count, enabled_ns, running_ns| Reading {
            count,
            enabled_ns,
            running_ns,
        };
        let begin = at(10, 1_000, 400);
        assert_eq!(at(30, 1_100, 500).since(&begin), Some(20), "all the time");
        assert_eq!(
            at(30, 1_100, 425).since(&begin),
            Some(80),
            "a quarter of it"
        );
        assert_eq!(at(10, 1_100, 400).since(&begin), None, "none of it");
        assert_eq!(at(12, 1_000, 400).since(&begin), Some(2), "no time at all");
        let huge = at(u64::MAX, u64::MAX, 401);
        assert_eq!(huge.since(&begin), Some(u64::MAX));
    }
}
