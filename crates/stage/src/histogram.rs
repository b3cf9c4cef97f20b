//! How often something was how large.

use std::fmt;

/// Intervals a power of two.
const PARTS: usize = 4;

/// Below [`PARTS`] each value has an interval of its own; then four a power of two.
const INTERVALS: usize = (64 - 1) * PARTS;

/// How often something was how large, in intervals of which each power of two has four: what is
/// told of a value is too high by a quarter at the most.
///
/// All values are counted, none is sampled. Waits and times are in nanoseconds.
///
/// ```
/// let mut sizes = mely_stage::Histogram::default();
/// (0..99).for_each(|_| sizes.note(8));
/// sizes.note(1000);
/// assert_eq!((sizes.count(), sizes.sum()), (100, 1792));
/// assert_eq!(sizes.quantile(0.5), Some(9));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; INTERVALS]>,
    sum: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Box::new([0; INTERVALS]),
            sum: 0,
        }
    }
}

fn interval_of(value: u64) -> usize {
    if value < PARTS as u64 {
        return value as usize;
    }
    let power = value.ilog2() as usize;
    let part = (value >> (power - 2)) as usize & (PARTS - 1);
    (power - 1) * PARTS + part
}

/// The largest value of an interval.
fn last_of(interval: usize) -> u64 {
    if interval < PARTS {
        return interval as u64;
    }
    let (power, part) = (interval / PARTS + 1, (interval % PARTS) as u64);
    let first = (PARTS as u64 + part) << (power - 2);
    first + ((1_u64 << (power - 2)) - 1)
}

impl Histogram {
    /// Counts a value.
    pub fn note(&mut self, value: u64) {
        self.note_many(value, 1);
    }

    /// Counts a value so many times.
    ///
    /// ```
    /// let mut sizes = mely_stage::Histogram::default();
    /// sizes.note_many(3, 5);
    /// assert_eq!(sizes.mean(), Some(3.0));
    /// ```
    pub fn note_many(&mut self, value: u64, times: u64) {
        self.counts[interval_of(value)] += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All values added up.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean; `None` if there is nothing.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// So large a part of the values is no larger than this, the end of an interval: 0.5 asks
    /// for the median, 1 for the largest. `None` if there is nothing.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let wanted = (self.count() as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut so_far = 0;
        self.intervals().find_map(|(last, count)| {
            so_far += count;
            (so_far as f64 >= wanted).then_some(last)
        })
    }

    /// The intervals: the largest value of each, and how many are in it.
    pub fn intervals(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..INTERVALS).map(last_of).zip(*self.counts)
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .field("median", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_is_in_the_interval_that_ends_next(value in any::<u64>()) {
            let interval = interval_of(value);
            prop_assert!(interval < INTERVALS);
            prop_assert!(value <= last_of(interval));
            prop_assert!(interval == 0 || value > last_of(interval - 1));
            prop_assert!(last_of(interval) as f64 <= value as f64 * 1.25 + 1.0);
        }
    }

    #[test]
    fn the_last_interval_has_the_largest_value() {
        assert_eq!(interval_of(u64::MAX), INTERVALS - 1);
        assert_eq!(last_of(INTERVALS - 1), u64::MAX);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
