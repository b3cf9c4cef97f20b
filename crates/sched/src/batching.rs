//! How many events a handler is given at once.

use crate::nanos::Nanos;

/// How a [`Batching`] controller is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchingOptions {
    /// The smallest batch, at least 1.
    pub batch_min: u32,
    /// The largest batch, and that to begin with.
    pub batch_max: u32,
    /// Over how long throughput is measured before the batch is changed.
    pub period: Nanos,
    /// The share of the best throughput below which a batch is too small, 0 to 1.
    pub low_water: f64,
    /// For how many periods a batch that was too small is not tried again.
    pub patience: u32,
}

/// Batches of 8 to 1000 events, and nine tenths of the best throughput, as in Sandstorm. It
/// looks each second for five; here five times a second, as a stage of events of 10 µs has
/// twenty thousand of them in that time. What was too small is tried again after 10 s.
impl Default for BatchingOptions {
    fn default() -> Self {
        Self {
            batch_min: 8,
            batch_max: 1_000,
            period: Nanos::from_millis(200),
            low_water: 0.9,
            patience: 50,
        }
    }
}

impl BatchingOptions {
    /// The same with what makes no sense mended.
    fn mended(self) -> Self {
        let batch_min = self.batch_min.max(1);
        let low_water = if self.low_water > 0.0 {
            self.low_water.min(1.0)
        } else {
            0.0
        };
        Self {
            batch_min,
            batch_max: self.batch_max.max(batch_min),
            period: self.period.max(Nanos::new(1)),
            low_water,
            ..self
        }
    }
}

/// Looks for the smallest batch that keeps the throughput of a stage.
///
/// A large batch keeps a handler's code and data in the caches, and pays once for what each
/// call of it costs; a small one lets its first event be answered before the last one is run.
/// *SEDA: An Architecture for Well-Conditioned, Scalable Internet Services* (SOSP 2001),
/// section 3.4, batching controller: the batch shrinks as long as throughput holds, grows
/// again when that falls, and begins anew with the largest after a sudden change of load.
///
/// Here it comes to rest: a batch that was too small is remembered, and not tried again for
/// some time. And load that merely becomes less, of which the largest batch is no cure,
/// becomes the new standard once that has been tried.
///
/// ```
/// use mely_sched::{Batching, BatchingOptions, Nanos};
/// let mut batching = Batching::new(BatchingOptions::default());
/// assert_eq!(batching.batch(), 1_000);
/// // 100 000 events a second, whatever the batch: a small one will do.
/// for period in 0..200 {
///     batching.look(Nanos::from_millis(200 * period), 20_000 * period);
/// }
/// assert_eq!(batching.batch(), 8);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Batching {
    options: BatchingOptions,
    batch: u32,
    /// When the period began, and how many events there had been.
    since: Option<(Nanos, u64)>,
    /// Events a nanosecond.
    rate: Option<f64>,
    best: f64,
    /// The largest batch known to be too small, and for how many periods it stays so.
    too_small: u32,
    patience_left: u32,
}

impl Batching {
    /// What the batch is divided by, or multiplied with, in each step.
    const STEP: f64 = 1.2;

    /// How much of a new period goes into the mean. Sandstorm's 0.3 needs a dozen periods to
    /// tell; with more a batch that is too small shows in the next two.
    const WEIGHT: f64 = 0.6;

    /// The share of the best below which, or what multiple of it above which, the load has
    /// changed and not the batch.
    const SUDDEN_LOW: f64 = 0.5;
    const SUDDEN_HIGH: f64 = 2.0;

    /// With the largest batch.
    pub fn new(options: BatchingOptions) -> Self {
        let options = options.mended();
        Self {
            options,
            batch: options.batch_max,
            since: None,
            rate: None,
            best: 0.0,
            too_small: 0,
            patience_left: 0,
        }
    }

    /// How it is set.
    pub fn options(&self) -> BatchingOptions {
        self.options
    }

    /// Sets it otherwise; the batch is brought into its bounds.
    pub fn set_options(&mut self, options: BatchingOptions) {
        self.options = options.mended();
        self.batch = self.bounded(f64::from(self.batch));
    }

    /// How many events the handler should be given at once, at most.
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// Throughput, in events a second, as it is believed to be.
    pub fn throughput(&self) -> f64 {
        self.rate.unwrap_or(0.0) * 1e9
    }

    /// Tells how many events have been run since the beginning. Before a period has passed
    /// nothing changes. Returns the batch.
    pub fn look(&mut self, now: Nanos, completed: u64) -> u32 {
        let Some((since, before)) = self.since else {
            self.since = Some((now, completed));
            return self.batch;
        };
        let passed = now.since(since);
        if now < since {
            // The clock went back: the period begins anew.
            self.since = Some((now, completed));
        } else if passed >= self.options.period {
            self.since = Some((now, completed));
            self.learn(completed.saturating_sub(before) as f64 / passed.as_f64());
        }
        self.batch
    }

    fn learn(&mut self, rate: f64) {
        let mean = self.rate.unwrap_or(rate);
        let mean = mean + Self::WEIGHT * (rate - mean);
        self.rate = Some(mean);
        if mean < Self::SUDDEN_LOW * self.best || mean > Self::SUDDEN_HIGH * self.best {
            return self.begin_anew(mean);
        }
        self.best = self.best.max(mean);
        self.patience_left = self.patience_left.saturating_sub(1);
        if self.patience_left == 0 {
            self.too_small = 0;
        }
        if mean < self.options.low_water * self.best {
            self.grow(mean);
        } else {
            self.shrink();
        }
    }

    fn begin_anew(&mut self, rate: f64) {
        self.best = rate;
        self.batch = self.options.batch_max;
        self.too_small = 0;
        self.patience_left = 0;
    }

    fn grow(&mut self, rate: f64) {
        if self.batch == self.options.batch_max {
            // It is not the batch.
            return self.begin_anew(rate);
        }
        self.too_small = self.too_small.max(self.batch);
        self.patience_left = self.options.patience;
        let larger = self.bounded((f64::from(self.batch) * Self::STEP).ceil());
        self.batch = larger;
    }

    fn shrink(&mut self) {
        let smaller = self.bounded((f64::from(self.batch) / Self::STEP).floor());
        if smaller > self.too_small {
            self.batch = smaller;
        }
    }

    fn bounded(&self, batch: f64) -> u32 {
        (batch as u32).clamp(self.options.batch_min, self.options.batch_max)
    }
}

impl Default for Batching {
    fn default() -> Self {
        Self::new(BatchingOptions::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::Chance;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A stage whose handler costs `call` for each batch and `event` for each event.
    struct Stage {
        load: f64,
        call: f64,
        event: f64,
    }

    impl Stage {
        fn throughput(&self, batch: u32) -> f64 {
            let capacity = 1.0 / (self.event + self.call / f64::from(batch));
            self.load.min(capacity)
        }
    }

    /// Batches of each period under a stage whose throughput varies by 1 % by chance.
    fn batches(
        batching: &mut Batching,
        stage: &Stage,
        periods: u64,
        chance: &mut Chance,
    ) -> Vec<u32> {
        let period = batching.options().period;
        let (start, mut completed) = batching.since.unwrap_or((Nanos::ZERO, 0));
        (1..=periods)
            .map(|number| {
                let rate = stage.throughput(batching.batch());
                let noise = 0.99 + 0.02 * chance.unit();
                completed += (rate * noise * period.as_secs_f64()) as u64;
                batching.look(start.after(period.times(number)), completed)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn whatever_it_is_told_the_batch_stays_in_bounds(
            looks in vec((any::<u64>(), any::<u64>()), 0..100),
            (min, max, patience) in (any::<u32>(), any::<u32>(), any::<u32>()),
            (period, low_water) in (any::<u64>(), any::<f64>()),
        ) {
            let options = BatchingOptions {
                batch_min: min,
                batch_max: max,
                period: Nanos::new(period),
                low_water,
                patience,
            };
            let mut batching = Batching::default();
            for (index, (now, completed)) in looks.into_iter().enumerate() {
                if index == 3 {
                    batching.set_options(options);
                }
                let batch = batching.look(Nanos::new(now), completed);
                let options = batching.options();
                prop_assert!((options.batch_min..=options.batch_max).contains(&batch));
            }
        }

        #[test]
        fn a_stage_that_keeps_up_gets_the_smallest_batch(
            load in 100.0..50_000.0, seed in any::<u64>(),
        ) {
            let stage = Stage { load, call: 1e-6, event: 1e-5 };
            let mut batching = Batching::default();
            let batches = batches(&mut batching, &stage, 100, &mut Chance::new(seed));
            prop_assert_eq!(batches[99], 8, "{:?}", batches);
        }

        #[test]
        fn a_stage_that_does_not_keeps_nearly_all_of_its_throughput(
            call in 1e-5..1e-3, seed in any::<u64>(),
        ) {
            let stage = Stage { load: 1e6, call, event: 1e-5 };
            let mut batching = Batching::default();
            let batches = batches(&mut batching, &stage, 400, &mut Chance::new(seed));
            let settled = &batches[100..];
            let best = stage.throughput(1_000);
            let sum: f64 = settled.iter().map(|batch| stage.throughput(*batch)).sum();
            let share = sum / settled.len() as f64 / best;
            prop_assert!(share > 0.87, "{share} {batches:?}");
            // Not larger than three steps above what nine tenths need.
            let needed = |batch: &u32| stage.throughput(*batch) >= 0.9 * best;
            let smallest = (8..=1_000).find(needed).unwrap_or(1_000);
            let largest = settled.iter().max().copied().unwrap_or(0);
            prop_assert!(
                f64::from(largest) <= f64::from(smallest) * 1.2_f64.powi(4) + 4.0,
                "{smallest} {batches:?}"
            );
        }
    }

    #[test]
    fn a_batch_that_was_too_small_is_left_alone_for_a_while() {
        let stage = Stage {
            load: 1e6,
            call: 2e-4,
            event: 1e-5,
        };
        let mut batching = Batching::default();
        let batches = batches(&mut batching, &stage, 200, &mut Chance::new(1));
        let changes = batches[60..].windows(2).filter(|pair| pair[0] != pair[1]);
        assert!(changes.count() <= 20, "{batches:?}");
    }

    /// What follows a change from 40 000 events a second to so many.
    fn after_change_to(load: f64, periods: u64) -> Vec<u32> {
        let mut stage = Stage {
            load: 40_000.0,
            call: 1e-6,
            event: 1e-5,
        };
        let (mut batching, mut chance) = (Batching::default(), Chance::new(1));
        batches(&mut batching, &stage, 100, &mut chance);
        stage.load = load;
        batches(&mut batching, &stage, periods, &mut chance)
    }

    #[test]
    fn a_sudden_change_of_load_begins_anew() {
        let after = after_change_to(4_000.0, 100);
        assert_eq!(after[..3].iter().max(), Some(&1_000), "{after:?}");
        assert_eq!(after[99], 8, "{after:?}");
    }

    #[test]
    fn load_that_becomes_less_ends_with_a_small_batch_too() {
        let after = after_change_to(30_000.0, 150);
        assert_eq!(after[149], 8, "{after:?}");
    }
}
