//! How long things take, in intervals that double.

use std::sync::OnceLock;

use crate::cost::counters::Count;
use crate::event::handler::HANDLERS_MAX;

/// Intervals: the first ends at 128 ns, each other one at twice the end of the one before,
/// and the last, whose end would be 4.6 minutes, has all that is longer.
pub(crate) const INTERVALS: usize = 32;

/// The end of an interval, in nanoseconds.
pub(crate) const fn end_ns(interval: usize) -> u64 {
    FIRST_END_NS << interval
}

const FIRST_END_NS: u64 = 128;

/// Counts of durations, by one writer.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    pub(crate) counts: [Count; INTERVALS],
    pub(crate) sum_ns: Count,
}

impl Durations {
    pub(crate) fn note(&self, ns: u64) {
        self.counts[interval_of(ns)].add(1);
        self.sum_ns.add(ns);
    }
}

/// The interval that ends at or after so many nanoseconds.
fn interval_of(ns: u64) -> usize {
    let bits = u64::BITS - ns.saturating_sub(1).leading_zeros();
    let interval = bits.saturating_sub(FIRST_END_NS.ilog2()) as usize;
    interval.min(INTERVALS - 1)
}

/// What is known of how long the events of a handler wait and run, on one worker.
#[derive(Debug, Default)]
pub(crate) struct HandlerDurations {
    /// Of those that were timed.
    pub(crate) run: Durations,
    /// From the post, of those that were noted.
    pub(crate) wait: Durations,
}

/// What is known of each handler, by number; memory for those alone of which there is
/// something.
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
        let of = [0, 1, 128, 129, 256, 257, 1 << 20, u64::MAX].map(interval_of);
        assert_eq!(of, [0, 0, 0, 1, 1, 2, 13, INTERVALS - 1]);
        for interval in 0..INTERVALS - 1 {
            assert_eq!(interval_of(end_ns(interval)), interval);
            assert_eq!(interval_of(end_ns(interval) + 1), interval + 1);
        }
    }
}
