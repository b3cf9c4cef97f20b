//! How many threads a stage has.

use crate::nanos::Nanos;

/// How a [`Governor`] is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GovernorOptions {
    /// How often the queue is looked at.
    pub period: Nanos,
    /// The length of the queue from which on threads are added.
    pub queued_max: u64,
    /// The fewest threads, at least one.
    pub threads_min: u32,
    /// The most threads.
    pub threads_max: u32,
    /// For how many periods a thread must be in excess before one is removed.
    pub idle_periods: u32,
}

/// A look every 2 s and a threshold of 1000 events, as the slides have them; up to twenty
/// threads, as programs on Sandstorm set it. A thread goes after 10 s of excess, by five looks:
/// a single one errs too easily.
impl Default for GovernorOptions {
    fn default() -> Self {
        Self {
            period: Nanos::from_secs(2),
            queued_max: 1_000,
            threads_min: 1,
            threads_max: 20,
            idle_periods: 5,
        }
    }
}

impl GovernorOptions {
    /// The same with what makes no sense mended.
    fn mended(self) -> Self {
        let threads_min = self.threads_min.max(1);
        Self {
            period: self.period.max(Nanos::new(1)),
            threads_min,
            threads_max: self.threads_max.max(threads_min),
            idle_periods: self.idle_periods.max(1),
            ..self
        }
    }
}

/// What the governor is told of its stage. The counts go on from the beginning of the stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageLoad {
    /// The time.
    pub now: Nanos,
    /// Events that wait.
    pub queued: u64,
    /// Events that came into the queue.
    pub arrived: u64,
    /// Events that have been run.
    pub completed: u64,
    /// How long threads have run events, or been blocked in them, added up.
    pub busy: Nanos,
}

/// What the governor decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// As many threads as before.
    Keep,
    /// One more.
    Add,
    /// One less.
    Remove,
}

/// Adds a thread to a stage whose queue is long and does not shrink, and removes one that has
/// had nothing to do for long.
///
/// *Performance Aspects of the Staged Event-Driven Architecture*, Sandstorm Thread Governor:
/// every two seconds a thread is added if the queue has reached its threshold. Left alone,
/// that adds threads for as long as an old queue is worked off, and takes them away again;
/// theory asks for `n = λ·p·L` of them, by the rate of arrivals, the share of events that
/// block, and how long these do. The same number is the rate times the mean time of all
/// events, which a stage can measure: *offered load*, in threads. So one is added only if the
/// queue is long *and* the load is more than the threads there are, and removed only if the
/// load has been clearly less than one thread fewer for several periods.
///
/// Measured load errs. If it says that there are enough threads, and the queue has become
/// twice as long nevertheless, one is added all the same.
///
/// ```
/// use mely_sched::{Governor, GovernorOptions, Nanos, Resize, StageLoad};
/// let mut governor = Governor::new(GovernorOptions::default());
/// governor.look(&StageLoad::default());
/// // 2000 events came in 2 s, of which one thread could do 667, at 3 ms each.
/// let load = StageLoad {
///     now: Nanos::from_secs(2),
///     queued: 1_333,
///     arrived: 2_000,
///     completed: 667,
///     busy: Nanos::from_secs(2),
/// };
/// assert_eq!(governor.look(&load), Resize::Add);
/// assert_eq!(governor.threads(), 2);
/// assert!((governor.load() - 3.0).abs() < 0.01);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Governor {
    options: GovernorOptions,
    threads: u32,
    last: Option<StageLoad>,
    rate: Option<f64>,
    time: Option<f64>,
    /// The queue when the number of threads last changed.
    queued_at_change: u64,
    periods_in_excess: u32,
}

impl Governor {
    /// How much of a new period goes into the means.
    ///
    /// Of 2000 events, of which 15 % take 20 ms, the load of one period is off by 6 %, and the
    /// mean of periods that weigh so much by half of that.
    const WEIGHT: f64 = 0.25;

    /// How much of a thread the load must be off before threads are added or removed. More
    /// than twice what the mean is off with three threads.
    const MARGIN: f64 = 0.25;

    /// With the fewest threads.
    pub fn new(options: GovernorOptions) -> Self {
        let options = options.mended();
        Self {
            options,
            threads: options.threads_min,
            last: None,
            rate: None,
            time: None,
            queued_at_change: 0,
            periods_in_excess: 0,
        }
    }

    /// How it is set.
    pub fn options(&self) -> GovernorOptions {
        self.options
    }

    /// Sets it otherwise. The number of threads is brought into its bounds at once: the stage
    /// should have [`threads`](Governor::threads) of them then.
    pub fn set_options(&mut self, options: GovernorOptions) {
        self.options = options.mended();
        let GovernorOptions {
            threads_min,
            threads_max,
            ..
        } = self.options;
        self.threads = self.threads.clamp(threads_min, threads_max);
        self.periods_in_excess = 0;
    }

    /// How many threads the stage should have.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// How many threads would always be busy with what comes: λ·p·L.
    pub fn load(&self) -> f64 {
        self.rate.unwrap_or(0.0) * self.time.unwrap_or(0.0)
    }

    /// When to look next.
    pub fn next_look(&self) -> Nanos {
        let last = self.last.map(|last| last.now);
        last.map_or(Nanos::ZERO, |last| last.after(self.options.period))
    }

    /// Looks at the stage. Before a period has passed nothing changes.
    pub fn look(&mut self, load: &StageLoad) -> Resize {
        let Some(last) = self.last else {
            self.last = Some(*load);
            return Resize::Keep;
        };
        let passed = load.now.since(last.now);
        if load.now < last.now {
            // The clock went back: periods count from there.
            self.last = Some(*load);
            return Resize::Keep;
        }
        if passed < self.options.period {
            return Resize::Keep;
        }
        self.learn(&last, load, passed);
        self.last = Some(*load);
        let resize = self.decide(load.queued);
        match resize {
            Resize::Keep => return resize,
            Resize::Add => self.threads += 1,
            Resize::Remove => self.threads -= 1,
        }
        self.queued_at_change = load.queued;
        self.periods_in_excess = 0;
        resize
    }

    fn learn(&mut self, last: &StageLoad, load: &StageLoad, passed: Nanos) {
        let mixed = |mean: Option<f64>, new: f64| match mean {
            Some(mean) => Some(mean + Self::WEIGHT * (new - mean)),
            None => Some(new),
        };
        let arrived = load.arrived.saturating_sub(last.arrived);
        self.rate = mixed(self.rate, arrived as f64 / passed.as_f64());
        let completed = load.completed.saturating_sub(last.completed);
        if completed > 0 {
            let time = load.busy.since(last.busy).as_f64() / completed as f64;
            self.time = mixed(self.time, time);
        }
    }

    fn decide(&mut self, queued: u64) -> Resize {
        let GovernorOptions {
            queued_max,
            threads_min,
            threads_max,
            idle_periods,
            ..
        } = self.options;
        let (load, threads) = (self.load(), f64::from(self.threads));
        let is_long = queued >= queued_max;
        let is_excess = !is_long && load < threads - 1.0 - Self::MARGIN;
        self.periods_in_excess = match is_excess {
            true => self.periods_in_excess.saturating_add(1),
            false => 0,
        };
        let is_short_of_threads = load > threads + Self::MARGIN;
        let has_doubled = queued / 2 >= self.queued_at_change.max(queued_max / 2);
        if is_long && (is_short_of_threads || has_doubled) && self.threads < threads_max {
            Resize::Add
        } else if self.periods_in_excess >= idle_periods && self.threads > threads_min {
            Resize::Remove
        } else {
            Resize::Keep
        }
    }
}

impl Default for Governor {
    fn default() -> Self {
        Self::new(GovernorOptions::default())
    }
}

#[cfg(test)]
mod tests;
