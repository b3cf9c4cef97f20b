//! Time as the controllers are told it.

use std::time::Duration;

/// Nanoseconds: a span, or a moment since any beginning that the caller keeps to.
///
/// The crate reads no clock, and most of what it is told are differences of two readings.
/// All arithmetic saturates: a clock that jumps may make a controller believe nonsense for a
/// while, but never panic.
///
/// ```
/// use mely_sched::Nanos;
/// let (earlier, later) = (Nanos::from_millis(2), Nanos::from_millis(5));
/// assert_eq!(later.since(earlier), Nanos::from_millis(3));
/// // A clock that went back: no time has passed.
/// assert_eq!(earlier.since(later), Nanos::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

impl Nanos {
    /// No time, or the beginning.
    pub const ZERO: Nanos = Nanos(0);

    /// The longest span: 584 years.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// So many nanoseconds.
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// So many microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// So many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// So many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The nearest span to that many nanoseconds; nothing for what is negative or no number.
    pub const fn from_f64(nanos: f64) -> Self {
        Self(nanos as u64)
    }

    /// In nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In nanoseconds.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// In seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to this moment, or none if this one is the earlier.
    #[inline]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The moment that is a span later.
    #[inline]
    pub const fn after(self, span: Nanos) -> Nanos {
        Self(self.0.saturating_add(span.0))
    }

    /// So many times the span.
    #[inline]
    pub const fn times(self, times: u64) -> Nanos {
        Self(self.0.saturating_mul(times))
    }
}

/// More than 584 years count as that.
impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Duration::from_nanos(span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_never_leave_their_range(a in any::<u64>(), b in any::<u64>()) {
            let (a, b) = (Nanos::new(a), Nanos::new(b));
            prop_assert!(a.after(b) >= a.max(b));
            prop_assert!(a.since(b) <= a);
            prop_assert!(a.after(b) == Nanos::MAX || a.after(b).since(b) == a);
            prop_assert!(a.times(b.get()) == Nanos::MAX || a.times(b.get()).get() == a.get() * b.get());
            prop_assert_eq!(Nanos::from(Duration::from(a)), a);
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        assert_eq!(Nanos::from_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_f64(f64::INFINITY), Nanos::MAX);
        assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
    }
}
