//! As much concurrency as makes responses no slower.

use super::{Admission, Done, Offer, Reason, Tag, within};

/// How a [`Gradient`] is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientOptions {
    /// The limit to begin with.
    pub limit_initial: f64,
    /// The lowest limit, at least 1.
    pub limit_min: f64,
    /// The highest limit.
    pub limit_max: f64,
    /// How much of a change is made at once, 0 to 1.
    pub smoothing: f64,
    /// Over how many responses the long-term mean goes.
    pub long_window: u32,
    /// How many times the long-term mean a response may take without a lower limit.
    pub tolerance: f64,
    /// How many more are tried when responses are no slower.
    pub headroom: f64,
}

/// What Netflix' library begins with; each may be on its way for as long as the mean of 600
/// others and half again.
impl Default for GradientOptions {
    fn default() -> Self {
        Self {
            limit_initial: 20.0,
            limit_min: 20.0,
            limit_max: 200.0,
            smoothing: 0.2,
            long_window: 600,
            tolerance: 1.5,
            headroom: 4.0,
        }
    }
}

impl GradientOptions {
    /// The same with what makes no sense mended.
    fn mended(self) -> Self {
        let limit_min = within(1.0, f64::MAX, self.limit_min);
        let limit_max = within(limit_min, f64::MAX, self.limit_max);
        Self {
            limit_min,
            limit_max,
            limit_initial: within(limit_min, limit_max, self.limit_initial),
            smoothing: within(0.0, 1.0, self.smoothing),
            long_window: self.long_window.max(1),
            tolerance: within(1.0, f64::MAX, self.tolerance),
            headroom: within(0.0, f64::MAX, self.headroom),
        }
    }
}

/// Bounds how many events are on their way, waiting or run, by how response times change.
///
/// After each response the limit is multiplied with the long-term mean over this response
/// (the gradient, kept in 0.5 to 1), and some headroom added: as long as responses are no
/// slower than usual the limit grows, and shrinks when they are. It does not grow while less
/// than half of it is used.
///
/// This is `Gradient2` of Netflix' *concurrency-limits*. What it takes for usual follows the
/// load: under overload that lasts, the long-term mean learns the queue, and the limit creeps
/// up to its maximum.
///
/// ```
/// use mely_sched::admission::{Admission, Gradient, Offer, Reason};
/// let mut gradient = Gradient::default();
/// for _ in 0..20 {
///     gradient.offer(&Offer::default()).unwrap();
/// }
/// assert_eq!(gradient.offer(&Offer::default()), Err(Reason::Concurrency));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    options: GradientOptions,
    limit: f64,
    in_flight: u64,
    long_term_ns: f64,
    samples: u32,
    last: f64,
}

impl Gradient {
    /// The lowest gradient: one slow response halves the limit at most.
    const GRADIENT_MIN: f64 = 0.5;

    /// So many responses are averaged evenly before the window counts.
    const WARM_UP: u32 = 10;

    /// How many times a response the long-term mean may be; beyond it fades.
    const MUCH_GREATER: f64 = 2.0;

    /// What it fades by, each response: after overload has ended it takes 14 to halve.
    const FADE: f64 = 0.95;

    /// With nothing on its way.
    pub fn new(options: GradientOptions) -> Self {
        let options = options.mended();
        Self {
            options,
            limit: options.limit_initial,
            in_flight: 0,
            long_term_ns: 0.0,
            samples: 0,
            last: 1.0,
        }
    }

    /// How it is set.
    pub fn options(&self) -> GradientOptions {
        self.options
    }

    /// Sets it otherwise. What is on its way stays; the limit is brought into its bounds.
    pub fn set_options(&mut self, options: GradientOptions) {
        self.options = options.mended();
        let GradientOptions {
            limit_min,
            limit_max,
            ..
        } = self.options;
        self.limit = self.limit.clamp(limit_min, limit_max);
    }

    /// How many events may be on their way.
    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// How many are.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The last gradient, 0.5 to 1.
    pub fn gradient(&self) -> f64 {
        self.last
    }

    fn one_less(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Adds a response time to the long-term mean.
    fn learn(&mut self, response_ns: f64) {
        self.samples = self.samples.saturating_add(1);
        let weight = if self.samples <= Self::WARM_UP {
            1.0 / f64::from(self.samples)
        } else {
            2.0 / (f64::from(self.options.long_window) + 1.0)
        };
        self.long_term_ns += weight.min(1.0) * (response_ns - self.long_term_ns);
        if self.long_term_ns > Self::MUCH_GREATER * response_ns {
            self.long_term_ns *= Self::FADE;
        }
    }
}

impl Default for Gradient {
    fn default() -> Self {
        Self::new(GradientOptions::default())
    }
}

impl Admission for Gradient {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        if self.in_flight >= self.limit() {
            return Err(Reason::Concurrency);
        }
        self.in_flight += 1;
        Ok(())
    }

    fn give_back(&mut self, _tag: Tag) {
        self.one_less();
    }

    fn shed(&mut self, _tag: Tag) {
        self.one_less();
    }

    fn cancel(&mut self, _tag: Tag) {
        self.one_less();
    }

    fn complete(&mut self, _tag: Tag, done: &Done) {
        let in_flight = self.in_flight as f64;
        self.one_less();
        // A clock may be too coarse to see the time that passed.
        let response_ns = done.response.as_f64().max(1.0);
        self.learn(response_ns);
        if in_flight < self.limit / 2.0 {
            return;
        }
        let usual = self.options.tolerance * self.long_term_ns;
        self.last = (usual / response_ns).clamp(Self::GRADIENT_MIN, 1.0);
        let GradientOptions {
            limit_min,
            limit_max,
            smoothing,
            headroom,
            ..
        } = self.options;
        let aimed = self.limit * self.last + headroom;
        self.limit += smoothing * (aimed - self.limit);
        self.limit = self.limit.clamp(limit_min, limit_max);
    }
}
