//! Learned costs: how long a handler runs, how long a steal takes.
//!
//! Seed of the idea: the papers annotate handlers after a profiling run and name
//! learning while running as future work (*Efficient Workstealing*, section VII).

/// Cycles assumed for a handler of which nothing is known yet.
///
/// About what the shortest handlers of the paper's `unbalanced` workload take.
pub const COST_UNKNOWN_CYCLES: u32 = 100;

/// An average of measured cycles in which newer samples weigh more.
///
/// The first samples count in full (so that the estimate is good at once), later
/// ones with one part in [`Ewma::WEIGHT`]. A largest-seen value that fades lets
/// the scheduler treat a handler as long although it is usually short.
///
/// ```
/// let mut cost = mely_sched::Ewma::new();
/// assert_eq!(cost.mean(), None);
/// cost.sample(1_000);
/// assert_eq!(cost.mean(), Some(1_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ewma {
    /// The mean, scaled by [`Ewma::SCALE`].
    scaled_mean: u64,
    max: u32,
    samples: u32,
}

impl Ewma {
    /// One part in how many a new sample weighs, once there are as many samples.
    ///
    /// 16 follows a change of cost within some tens of samples, and one sample that
    /// an interrupt disturbed moves the mean by 6 % only.
    pub const WEIGHT: u32 = 16;

    const SCALE: u64 = 256;

    /// So many samples are few: the mean may be far off.
    const SAMPLES_FEW: u32 = 4;

    /// A sample counts as at most this many times the mean, once there are a few:
    /// an event that was interrupted (by another process, say) must not make its
    /// handler look long for the next thousand turns, while a true change is still
    /// followed at half again a sample.
    const OUTLIER: u64 = 8;

    /// Below this many cycles nothing is an outlier.
    const OUTLIER_MIN_CYCLES: u64 = 1_000;

    /// No sample yet.
    pub const fn new() -> Self {
        Self {
            scaled_mean: 0,
            max: 0,
            samples: 0,
        }
    }

    /// Adds one measurement in cycles; more than `u32::MAX` counts as that.
    pub fn sample(&mut self, cycles: u64) {
        let cycles = u32::try_from(cycles).unwrap_or(u32::MAX);
        self.samples = self.samples.saturating_add(1);
        let weight = u64::from(self.samples.min(Self::WEIGHT));
        let mean = self.scaled_mean / Self::SCALE;
        let most = match self.samples {
            0..=Self::SAMPLES_FEW => u64::MAX,
            _ => (mean * Self::OUTLIER).max(Self::OUTLIER_MIN_CYCLES),
        };
        let scaled = u64::from(cycles).min(most) * Self::SCALE;
        self.scaled_mean = (self.scaled_mean * (weight - 1) + scaled) / weight;
        self.max = cycles.max(self.max - self.max / (2 * Self::WEIGHT));
    }

    /// The mean in cycles, if there was a sample.
    pub fn mean(&self) -> Option<u32> {
        let mean = self.scaled_mean / Self::SCALE;
        (self.samples > 0).then(|| u32::try_from(mean).unwrap_or(u32::MAX))
    }

    /// The largest recent sample in cycles; fades by 1/32 a sample.
    pub fn recent_max(&self) -> u32 {
        self.max
    }

    /// Lets the next samples weigh more than those there were, as if these were few.
    pub fn doubt(&mut self) {
        self.samples = self.samples.min(Self::SAMPLES_FEW);
    }

    /// How many samples there were; few, once they were doubted.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_mean_stays_between_the_extremes(samples in proptest::collection::vec(any::<u32>(), 1..100)) {
            let mut cost = Ewma::new();
            samples.iter().for_each(|&s| cost.sample(u64::from(s)));
            let mean = cost.mean().unwrap();
            prop_assert!(mean <= *samples.iter().max().unwrap());
            prop_assert!(u64::from(mean) + 1 >= u64::from(*samples.iter().min().unwrap()) || samples.len() > 4);
            prop_assert!(cost.recent_max() >= *samples.last().unwrap());
        }
    }

    #[test]
    fn follows_a_change_of_cost() {
        let mut cost = Ewma::new();
        (0..100).for_each(|_| cost.sample(100));
        (0..100).for_each(|_| cost.sample(10_000));
        assert!(cost.mean().unwrap() > 9_000, "{cost:?}");
    }

    #[test]
    fn one_interrupted_sample_moves_the_mean_little() {
        let mut cost = Ewma::new();
        (0..100).for_each(|_| cost.sample(2_000));
        cost.sample(10_000_000);
        assert!(cost.mean().unwrap() < 3_000, "{cost:?}");
        assert_eq!(cost.recent_max(), 10_000_000);
    }

    #[test]
    fn a_rare_long_run_is_remembered_for_a_while() {
        let mut cost = Ewma::new();
        cost.sample(1_000_000);
        (0..32).for_each(|_| cost.sample(100));
        assert!(cost.recent_max() > 300_000, "{cost:?}");
        (0..1000).for_each(|_| cost.sample(100));
        assert!(cost.recent_max() < 1_000, "{cost:?}");
    }

    #[test]
    fn a_measurement_beyond_the_range_saturates() {
        let mut cost = Ewma::new();
        cost.sample(u64::MAX);
        assert_eq!(cost.mean(), Some(u32::MAX));
    }
}
