//! Durations, as a snapshot has them.

use std::time::Duration;

use crate::cost::durations::{Durations, INTERVALS, end_ns};

/// How often something took how long, in intervals that double: a quantile is known to within
/// a factor of two, and memory is bounded.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.fresh_color();
/// static STEP: mely::Handler = mely::Handler::new("step");
/// (0..1000).for_each(|_| color.via(&STEP).post(|_, _| ()));
/// rt.settle();
/// let metrics = rt.metrics();
/// let run = metrics.handler("step").expect("it has run").run;
/// assert!(run.count() > 0 && run.quantile(0.5) <= run.quantile(1.0));
/// # Ok::<(), mely::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; INTERVALS],
    sum_ns: u64,
}

impl Histogram {
    /// How many durations are in it.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The mean; `None` if there is nothing.
    pub fn mean(&self) -> Option<Duration> {
        let count = self.count();
        (count > 0).then(|| Duration::from_nanos(self.sum_ns / count))
    }

    /// No less than so large a part of the durations is at most this, the end of an interval:
    /// 0.5 is the median, 1 the largest. `None` if there is nothing.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut so_far = 0;
        self.intervals().find_map(|(end, count)| {
            so_far += count;
            (so_far as f64 >= wanted).then_some(end)
        })
    }

    /// Each interval's end, and how many durations are in it. The last has all that is longer
    /// than the end before, too.
    pub fn intervals(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let ends = (0..INTERVALS).map(|at| Duration::from_nanos(end_ns(at)));
        ends.zip(self.counts.iter().copied())
    }

    pub(super) fn add(&mut self, durations: &Durations) {
        for (sum, count) in self.counts.iter_mut().zip(&durations.counts) {
            *sum += count.get();
        }
        self.sum_ns = self.sum_ns.wrapping_add(durations.sum_ns.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_ends_of_intervals() {
        assert_eq!(Histogram::default().quantile(0.5), None);
        let durations = Durations::default();
        for ns in [1, 100, 200, 1_000_000] {
            durations.note(ns);
        }
        let mut of = Histogram::default();
        of.add(&durations);
        let at = |part| of.quantile(part).map(|d| d.as_nanos());
        assert_eq!((at(0.0), at(0.5)), (Some(128), Some(128)));
        assert_eq!((at(0.51), at(1.0)), (Some(256), Some(1 << 20)));
        assert_eq!(of.mean(), Some(Duration::from_nanos(250_075)));
    }
}
