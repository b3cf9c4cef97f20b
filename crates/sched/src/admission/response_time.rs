//! A rate that keeps the 90th percentile of response times at its target.

use super::token_bucket::{Rate, TokenBucket};
use super::{Admission, Done, Offer, Reason, Tag, within};
use crate::nanos::Nanos;

/// How a [`ResponseTime`] controller is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseTimeOptions {
    /// What the 90th percentile should be.
    pub target: Nanos,
    /// After so many responses the rate is looked at.
    pub responses: usize,
    /// After so long it is looked at with fewer.
    pub timeout: Nanos,
    /// How much the percentile before weighs against the new one, 0 to 1.
    pub smoothing: f64,
    /// The error, in targets, above which the rate goes down.
    pub error_high: f64,
    /// The error, in targets, below which the rate goes up.
    pub error_low: f64,
    /// What the rate is divided by, at least 1.
    pub decrease: f64,
    /// What is added to the rate, in events a second and for each target of error.
    pub increase: f64,
    /// Taken from the error before it is added: so much is added even without one.
    pub increase_offset: f64,
    /// The lowest rate, in events a second.
    pub rate_min: f64,
    /// The highest rate, and that to begin with.
    pub rate_max: f64,
    /// How many may come at once.
    pub burst: u64,
}

impl ResponseTimeOptions {
    /// What *Adaptive Overload Control for Busy Internet Servers* sets, around a target. Its
    /// rates are those of a web service of 2003, 0.05 to 5000 a second and 2 a second more at
    /// a time: a stage of events of 10 µs needs more of each.
    pub const fn new(target: Nanos) -> Self {
        Self {
            target,
            responses: 100,
            timeout: Nanos::from_secs(1),
            smoothing: 0.7,
            error_high: 0.0,
            error_low: -0.5,
            decrease: 1.2,
            increase: 2.0,
            increase_offset: -0.1,
            rate_min: 0.05,
            rate_max: 5_000.0,
            burst: 100,
        }
    }

    /// The same with what makes no sense mended.
    fn mended(self) -> Self {
        let rate_min = within(f64::MIN_POSITIVE, f64::MAX, self.rate_min);
        let error_high = within(-1.0, f64::MAX, self.error_high);
        Self {
            target: self.target.max(Nanos::new(1)),
            responses: self.responses.max(1),
            timeout: self.timeout,
            burst: self.burst,
            smoothing: within(0.0, 1.0, self.smoothing),
            error_high,
            error_low: within(-1.0, error_high, self.error_low),
            decrease: within(1.0, f64::MAX, self.decrease),
            increase: within(0.0, f64::MAX, self.increase),
            increase_offset: within(f64::MIN, f64::MAX, self.increase_offset),
            rate_min,
            rate_max: within(rate_min, f64::MAX, self.rate_max),
        }
    }
}

/// Admits at a rate that a controller finds by the 90th percentile of response times.
///
/// Every 100 responses, or every second, the percentile is smoothed and compared with its
/// target: above it the rate is divided, well below it something is added to it.
///
/// Welsh and Culler, *Adaptive Overload Control for Busy Internet Servers* (USITS 2003), and
/// Sandstorm's response time controller. It needs no knowledge of the queue, and pays with
/// time: it sees a queue when those that waited in it have been answered, and goes up by
/// steps that must be chosen for the stage.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, Done, ResponseTime, ResponseTimeOptions, Tag};
/// let options = ResponseTimeOptions::new(Nanos::from_millis(10));
/// let mut controller = ResponseTime::new(options);
/// let slow = Done { now: Nanos::ZERO, response: Nanos::from_millis(30) };
/// (0..100).for_each(|_| controller.complete(Tag::default(), &slow));
/// assert!(controller.rate() < 5_000.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseTime {
    options: ResponseTimeOptions,
    bucket: TokenBucket,
    rate: f64,
    responses_ns: Vec<u64>,
    /// Since when responses are collected.
    since: Option<Nanos>,
    smoothed_ns: Option<f64>,
}

impl ResponseTime {
    /// Which share of the responses is to be in time.
    const PERCENTILE: f64 = 0.9;

    /// At the highest rate.
    pub fn new(options: ResponseTimeOptions) -> Self {
        let options = options.mended();
        Self {
            options,
            bucket: TokenBucket::new(Rate::per_second(options.rate_max), options.burst),
            rate: options.rate_max,
            responses_ns: Vec::new(),
            since: None,
            smoothed_ns: None,
        }
    }

    /// How it is set.
    pub fn options(&self) -> ResponseTimeOptions {
        self.options
    }

    /// Sets it otherwise from `now` on; the rate is brought into its bounds.
    pub fn set_options(&mut self, options: ResponseTimeOptions, now: Nanos) {
        self.options = options.mended();
        self.bucket.set_burst(self.options.burst);
        self.set_rate(self.rate, now);
    }

    /// The rate of admission, in events a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The smoothed percentile, once there is one.
    pub fn percentile(&self) -> Option<Nanos> {
        self.smoothed_ns.map(Nanos::from_f64)
    }

    fn set_rate(&mut self, rate: f64, now: Nanos) {
        self.rate = rate.clamp(self.options.rate_min, self.options.rate_max);
        self.bucket.set_rate(Rate::per_second(self.rate), now);
    }

    fn percentile_of_responses(&mut self) -> Option<f64> {
        let last = self.responses_ns.len().checked_sub(1)?;
        let at = (last as f64 * Self::PERCENTILE).round() as usize;
        let (_, percentile, _) = self.responses_ns.select_nth_unstable(at.min(last));
        Some(*percentile as f64)
    }

    fn adjust(&mut self, now: Nanos) {
        let options = self.options;
        // If nothing was answered in all that time, nothing was slow.
        let percentile = self.percentile_of_responses().unwrap_or(0.0);
        let before = self.smoothed_ns.unwrap_or(percentile);
        let smoothed = options.smoothing * before + (1.0 - options.smoothing) * percentile;
        self.smoothed_ns = Some(smoothed);
        self.responses_ns.clear();
        self.since = Some(now);
        let target = options.target.as_f64();
        let error = (smoothed - target) / target;
        if error > options.error_high {
            self.set_rate(self.rate / options.decrease, now);
        } else if error < options.error_low {
            let more = options.increase_offset - error;
            self.set_rate(self.rate + more * options.increase, now);
        }
    }

    fn adjust_if_time(&mut self, now: Nanos) {
        let since = *self.since.get_or_insert(now);
        let is_time = now.since(since) >= self.options.timeout;
        if is_time || self.responses_ns.len() >= self.options.responses {
            self.adjust(now);
        } else if now < since {
            // The clock went back: time counts from there.
            self.since = Some(now);
        }
    }
}

impl Admission for ResponseTime {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        self.adjust_if_time(offer.now);
        let admitted = self.bucket.offer(offer);
        admitted.map_err(|_| Reason::SlowResponses)
    }

    fn give_back(&mut self, tag: Tag) {
        self.bucket.give_back(tag);
    }

    fn complete(&mut self, _tag: Tag, done: &Done) {
        self.responses_ns.push(done.response.get());
        self.adjust_if_time(done.now);
    }
}
