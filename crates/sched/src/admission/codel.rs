//! Telling a burst from a queue that stands.

use super::{Admission, Offer, Reason, Tag, Taken};
use crate::nanos::Nanos;

/// What the shortest wait of an interval should be below: 5 ms, the default of folly and of
/// the algorithm's authors.
pub const CODEL_TARGET: Nanos = Nanos::from_millis(5);

/// How long the shortest wait is looked for: 100 ms, some round trips of a client far away.
pub const CODEL_INTERVAL: Nanos = Nanos::from_millis(100);

/// Sheds what has waited long, while the queue does not empty.
///
/// A burst makes some events wait; a queue that stands makes all of them wait, also the
/// luckiest. If the shortest wait of an interval was above the target, the next one is of
/// overload: events that have waited longer than twice the target are shed.
///
/// The idea is that of Nichols and Jacobson, *Controlling Queue Delay* (ACM Queue 10(5),
/// 2012). Deciding event by event instead of dropping at a growing rate is folly's (`Codel`,
/// also used by its thread pools): a refusal reaches the client there, and it need not guess.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, Codel, Reason, Tag, Taken};
/// let mut codel = Codel::default();
/// let mut take = |now, waited| {
///     let taken = Taken { now: Nanos::from_millis(now), waited: Nanos::from_millis(waited) };
///     codel.take(Tag::default(), &taken)
/// };
/// assert_eq!(take(0, 30), Ok(())); // may be a burst
/// assert_eq!(take(50, 7), Ok(()));
/// assert_eq!(take(101, 30), Ok(())); // the first of an interval is always run
/// assert_eq!(take(110, 30), Err(Reason::Standing));
/// assert_eq!(take(111, 9), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codel {
    target: Nanos,
    interval: Nanos,
    interval_end: Nanos,
    shortest: Nanos,
    is_overloaded: bool,
}

impl Codel {
    /// With a target for the shortest wait of each interval.
    pub const fn new(target: Nanos, interval: Nanos) -> Self {
        Self {
            target,
            interval,
            interval_end: Nanos::ZERO,
            // Until the first interval has ended nothing stands.
            shortest: Nanos::ZERO,
            is_overloaded: false,
        }
    }

    /// What the shortest wait of an interval should be below.
    pub fn target(&self) -> Nanos {
        self.target
    }

    /// Changes the target, at once.
    pub fn set_target(&mut self, target: Nanos) {
        self.target = target;
    }

    /// How long an interval is.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// Changes how long intervals are, from the next on.
    pub fn set_interval(&mut self, interval: Nanos) {
        self.interval = interval;
    }

    /// Whether the queue stands: the interval before this one had no short wait.
    pub fn is_overloaded(&self) -> bool {
        self.is_overloaded
    }

    /// The shortest wait of this interval so far.
    pub fn shortest(&self) -> Nanos {
        self.shortest
    }

    /// Whether a new interval begins: also if the clock has gone back further than one, or
    /// what was believed then would last until it comes back.
    fn is_over(&self, now: Nanos) -> bool {
        now >= self.interval_end || now.after(self.interval) < self.interval_end
    }
}

impl Default for Codel {
    fn default() -> Self {
        Self::new(CODEL_TARGET, CODEL_INTERVAL)
    }
}

impl Admission for Codel {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        Ok(())
    }

    fn take(&mut self, _tag: Tag, taken: &Taken) -> Result<(), Reason> {
        if self.is_over(taken.now) {
            self.is_overloaded = self.shortest > self.target;
            self.interval_end = taken.now.after(self.interval);
            self.shortest = taken.waited;
            // One event an interval is run whatever it waited, or a single long wait would
            // shed everything after it.
            return Ok(());
        }
        self.shortest = self.shortest.min(taken.waited);
        match self.is_overloaded && taken.waited > self.target.times(2) {
            true => Err(Reason::Standing),
            false => Ok(()),
        }
    }
}
