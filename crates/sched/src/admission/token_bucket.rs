//! Rate and burst.

use super::{Admission, Offer, Reason, Tag};
use crate::nanos::Nanos;

/// Events a second, to a millionth of one.
///
/// ```
/// use mely_sched::admission::Rate;
/// assert_eq!(Rate::per_second(0.5).as_f64(), 0.5);
/// assert_eq!(Rate::per_second(-1.0), Rate::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    per_million_seconds: u64,
}

impl Rate {
    const SCALE: f64 = 1e6;

    /// None ever.
    pub const ZERO: Rate = Rate {
        per_million_seconds: 0,
    };

    /// The most that can be said: 1.8e13 events a second.
    pub const MAX: Rate = Rate {
        per_million_seconds: u64::MAX,
    };

    /// So many events a second; what is negative or no number is none.
    pub const fn per_second(events: f64) -> Self {
        Self {
            per_million_seconds: (events * Self::SCALE) as u64,
        }
    }

    /// In events a second.
    pub const fn as_f64(self) -> f64 {
        self.per_million_seconds as f64 / Self::SCALE
    }
}

/// Admits at a rate, and a burst after a pause.
///
/// A token comes each `1 / rate` seconds, and up to `burst` are kept; an event takes one. So
/// in any span of `t` seconds at most `rate · t + burst` events are admitted. Parts of a token
/// are kept exactly, however often and at whatever times it is asked. Where the clock stands
/// or goes back, no tokens come until it is later than it ever was.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, Offer, Rate, Reason, TokenBucket};
/// let mut bucket = TokenBucket::new(Rate::per_second(1_000.0), 1);
/// let mut at = |micros| bucket.offer(&Offer { now: Nanos::from_micros(micros), ..Offer::default() });
/// assert_eq!(at(0), Ok(()));
/// assert_eq!(at(400), Err(Reason::NoToken));
/// assert_eq!(at(1_000), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    burst: u64,
    /// In parts of [`TokenBucket::TOKEN`].
    level: u128,
    last: Option<Nanos>,
}

impl TokenBucket {
    /// A token, in millionths of a nanosecond's share of one at a rate of one a second.
    const TOKEN: u128 = 1_000_000_000_000_000;

    /// A full bucket. With a burst of 0 nothing is ever admitted.
    pub const fn new(rate: Rate, burst: u64) -> Self {
        Self {
            rate,
            burst,
            level: burst as u128 * Self::TOKEN,
            last: None,
        }
    }

    /// How fast tokens come.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes how fast tokens come from `now` on; those that have come until then stay.
    pub fn set_rate(&mut self, rate: Rate, now: Nanos) {
        self.fill(now);
        self.rate = rate;
    }

    /// How many tokens are kept.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Changes how many tokens are kept; more than that are lost at once.
    pub fn set_burst(&mut self, burst: u64) {
        self.burst = burst;
        self.level = self.level.min(self.full());
    }

    /// Whole tokens that there were when it was last asked.
    pub fn tokens(&self) -> u64 {
        // Never more than the burst.
        u64::try_from(self.level / Self::TOKEN).unwrap_or(self.burst)
    }

    fn full(&self) -> u128 {
        u128::from(self.burst) * Self::TOKEN
    }

    fn fill(&mut self, now: Nanos) {
        let last = *self.last.get_or_insert(now);
        let parts = u128::from(now.since(last).get()) * u128::from(self.rate.per_million_seconds);
        self.level = self.level.saturating_add(parts).min(self.full());
        self.last = Some(last.max(now));
    }
}

impl Admission for TokenBucket {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        self.fill(offer.now);
        match self.level.checked_sub(Self::TOKEN) {
            Some(level) => {
                self.level = level;
                Ok(())
            }
            None => Err(Reason::NoToken),
        }
    }

    fn give_back(&mut self, _tag: Tag) {
        self.level = self.level.saturating_add(Self::TOKEN).min(self.full());
    }
}
