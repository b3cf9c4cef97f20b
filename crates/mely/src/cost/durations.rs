//! How long things take, in intervals of four to each power of two.

use std::sync::OnceLock;

use crate::cost::counters::Count;
use crate::event::handler::HANDLERS_MAX;

/// Into how many intervals each power of two is divided: what is known of a duration is
/// known to a quarter.
pub(crate) const PARTS: usize = 1 << PARTS_LOG2;
const PARTS_LOG2: u32 = 2;

/// Up to here the first intervals are of equal length: shorter than reading the counter twice.
const FIRST_LOG2: u32 = 6;

/// The last interval has all that is longer than half of this, 9 minutes.
const LAST_LOG2: u32 = 39;

/// Intervals.
pub(crate) const INTERVALS: usize = PARTS * (LAST_LOG2 - FIRST_LOG2 + 1) as usize;

/// The end of an interval, in nanoseconds, which is in it.
pub(crate) const fn end_ns(interval: usize) -> u64 {
    let (power, part) = (interval / PARTS, interval % PARTS + 1);
    match power {
        0 => (part as u64) << (FIRST_LOG2 - PARTS_LOG2),
        _ => ((PARTS + part) as u64) << (FIRST_LOG2 - PARTS_LOG2 + power as u32 - 1),
    }
}

/// The first interval that ends at or after so many nanoseconds.
fn interval_of(ns: u64) -> usize {
    let last_in = ns.saturating_sub(1);
    let log2 = last_in.checked_ilog2().unwrap_or(0);
    let interval = match log2 < FIRST_LOG2 {
        true => last_in >> (FIRST_LOG2 - PARTS_LOG2),
        false => {
            let power = u64::from(log2 - FIRST_LOG2 + 1);
            let part = (last_in >> (log2 - PARTS_LOG2)) % PARTS as u64;
            power * PARTS as u64 + part
        }
    };
    (interval as usize).min(INTERVALS - 1)
}

/// How often something took how long, by one writer.
#[derive(Debug)]
pub(crate) struct Durations {
    pub(crate) counts: [Count; INTERVALS],
    pub(crate) sum_ns: Count,
    /// How many there are, each of which may stand for many.
    pub(crate) samples: Count,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            counts: [const { Count::new() }; INTERVALS],
            sum_ns: Count::default(),
            samples: Count::default(),
        }
    }
}

impl Durations {
    /// Notes one that stands for so many.
    pub(crate) fn note(&self, ns: u64, stands_for: u64) {
        self.counts[interval_of(ns)].add(stands_for);
        self.sum_ns.add(ns.saturating_mul(stands_for));
        self.samples.add(1);
    }
}

/// What is known of how long the events of a handler wait and run, on one worker.
#[derive(Debug, Default)]
pub(crate) struct HandlerDurations {
    pub(crate) run: Durations,
    pub(crate) wait: Durations,
    pub(crate) counted: CountedSums,
}

/// What a counter counted while noted events ran.
#[derive(Debug, Default)]
pub(crate) struct CountedSums {
    pub(crate) total: Count,
    /// For how many events the samples stand.
    pub(crate) events: Count,
    pub(crate) samples: Count,
}

impl CountedSums {
    /// Notes one that stands for so many.
    pub(crate) fn note(&self, count: u64, stands_for: u64) {
        self.total.add(count.saturating_mul(stands_for));
        self.events.add(stands_for);
        self.samples.add(1);
    }
}

/// The same of each handler, by number; memory only for those of which something is known.
pub(crate) struct DurationTable(Box<[OnceLock<Box<HandlerDurations>>]>);

impl DurationTable {
    pub(crate) fn new() -> Self {
        Self((0..HANDLERS_MAX).map(|_| OnceLock::new()).collect())
    }

    /// For the one who notes.
    pub(crate) fn of(&self, index: usize) -> &HandlerDurations {
        self.0[index].get_or_init(Box::default)
    }

    /// For who looks on.
    pub(crate) fn at(&self, index: usize) -> Option<&HandlerDurations> {
        self.0.get(index)?.get().map(|known| &**known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_interval_that_holds_it() {
        let of = [0, 1, 16, 17, 64, 65, 80, 81, 128, 129, u64::MAX].map(interval_of);
        assert_eq!(of, [0, 0, 0, 1, 3, 4, 4, 5, 7, 8, INTERVALS - 1]);
        for interval in 0..INTERVALS - 1 {
            assert_eq!(interval_of(end_ns(interval)), interval);
            assert_eq!(interval_of(end_ns(interval) + 1), interval + 1);
        }
    }

    #[test]
    fn an_interval_is_no_longer_than_a_quarter_of_its_beginning() {
        for interval in PARTS..INTERVALS {
            let begin = end_ns(interval - 1);
            assert!(end_ns(interval) - begin <= begin / 4, "{interval}");
        }
        // Each power of two is the end of one.
        for log2 in FIRST_LOG2..=LAST_LOG2 {
            assert_eq!(end_ns(interval_of(1 << log2)), 1 << log2);
        }
    }
}
