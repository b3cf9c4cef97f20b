//! Durations, as a snapshot has them.

use core::fmt;
use std::time::Duration;

use crate::cost::durations::{Durations, INTERVALS, end_ns};

/// How often something took how long, in intervals of which each power of two has four: memory
/// is bounded, and what is told of a duration is too high by a quarter at the most.
///
/// It is made of samples. A post is noted with a probability that falls as posts come faster, so
/// that each worker notes one in 50 µs or so; where few come, all are noted. A noted one stands
/// for one by that probability of them, so that counts and sums are right on average: a share
/// `p` of the events is off by `√(p (1 - p) / n)` or so for [`n`](Self::samples) samples, which
/// makes of 1 % of 1000 samples 0.7 to 1.3 %. Which post is noted is chosen at random; what
/// comes in turns does not matter.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.new_color();
/// static STEP: mely::Handler = mely::Handler::new("step");
/// (0..1000).for_each(|_| color.with_handler(&STEP).post_or_shed(|_, _| ()));
/// rt.wait_idle();
/// let metrics = rt.metrics();
/// let run = metrics.handler("step").map(|step| &step.run).expect("it has run");
/// assert!(run.samples() > 0 && run.quantile(0.5) <= run.quantile(1.0));
/// # Ok::<(), mely::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; INTERVALS]>,
    sum_ns: u64,
    samples: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Box::new([0; INTERVALS]),
            sum_ns: 0,
            samples: 0,
        }
    }
}

impl Histogram {
    /// About how many events it stands for.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many of them were noted: of these the rest is known.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// About how long they took together.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The mean; `None` if there is nothing.
    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns
            .checked_div(self.count())
            .map(Duration::from_nanos)
    }

    /// So large a part of the events took no longer than this, the end of an interval: 0.5
    /// asks for the median, 1 for the longest. `None` if there is nothing.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut so_far = 0;
        self.intervals().find_map(|(end, count)| {
            so_far += count;
            (so_far as f64 >= wanted).then_some(end)
        })
    }

    /// The intervals: where each ends, and how many are in it. The last has all that is longer,
    /// too.
    pub fn intervals(&self) -> impl Iterator<Item = (Duration, u64)> {
        let ends = (0..INTERVALS).map(|interval| Duration::from_nanos(end_ns(interval)));
        ends.zip(*self.counts)
    }

    /// Adds what a worker knows.
    pub(super) fn add(&mut self, durations: &Durations) {
        for (count, more) in self.counts.iter_mut().zip(&durations.counts) {
            *count += more.get();
        }
        self.sum_ns = self.sum_ns.saturating_add(durations.sum_ns.get());
        self.samples += durations.samples.get();
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("samples", &self.samples)
            .field("mean", &self.mean())
            .field("median", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ends_of_intervals_and_samples_stand_for_many() {
        let durations = Durations::default();
        (0..98).for_each(|_| durations.note(1_000, 1));
        durations.note(1_000_000, 2);
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        histogram.add(&durations);
        assert_eq!((histogram.count(), histogram.samples()), (100, 99));
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(20_980)));
        let ns = |part| histogram.quantile(part).map(|end| end.as_nanos());
        assert_eq!([0.0, 0.5, 0.98].map(ns), [Some(1_024); 3]);
        assert_eq!([0.99, 1.0].map(ns), [Some(1_048_576); 2]);
    }
}
