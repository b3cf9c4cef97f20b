//! Refusing what would wait too long.

use super::{Admission, Offer, Reason, Tag, Taken};
use crate::nanos::Nanos;

/// One part in how many a new interval between two takes weighs.
///
/// With intervals that vary as much as they last, as exponential ones do, the mean is off by
/// 13 % (one over the root of twice the weight); and of a change two thirds are believed after
/// as many events.
const WEIGHT: u32 = 32;

/// So many intervals are needed before anything is refused: with fewer the mean may be off by
/// half.
const INTERVALS_MIN: u32 = 4;

/// Refuses an event that would wait longer than a limit, by how fast the queue moves.
///
/// The expected wait is the length of the queue times the mean interval between two events
/// that were taken and run while others waited: Little's law, with what is learned instead of
/// what is set. So one limit does for events of 10 µs and of 1 ms, for one worker and for
/// many, and a refusal comes at once instead of after the wait. Where the queue stops moving
/// altogether, its length stays bounded by what was learned before.
///
/// *Bouncer* (Xu and Colmenares, SIGMOD 2024) estimates waits in this way, from service times
/// and the number of processes; the interval of takes needs neither to be known.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, ExpectedDelay, Offer, Reason, Tag, Taken};
/// let mut delay = ExpectedDelay::new(Nanos::from_millis(10));
/// for millis in 0..10 {
///     let (now, waited) = (Nanos::from_millis(millis), Nanos::from_millis(5));
///     delay.take(Tag::default(), &Taken { now, waited }).unwrap();
/// }
/// let offer = |queued| Offer { queued, ..Offer::default() };
/// assert_eq!(delay.offer(&offer(9)), Ok(()));
/// assert_eq!(delay.offer(&offer(11)), Err(Reason::WouldWait));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedDelay {
    wait_max: Nanos,
    /// Between two events that were run, in nanoseconds.
    interval: f64,
    intervals: u32,
    last: Option<Nanos>,
    /// As it was before the event that was taken last.
    before: Option<(f64, u32, Option<Nanos>)>,
}

impl ExpectedDelay {
    /// With a limit for the expected wait.
    pub const fn new(wait_max: Nanos) -> Self {
        Self {
            wait_max,
            interval: 0.0,
            intervals: 0,
            last: None,
            before: None,
        }
    }

    /// The limit for the expected wait.
    pub fn wait_max(&self) -> Nanos {
        self.wait_max
    }

    /// Changes the limit. What waits already stays.
    pub fn set_wait_max(&mut self, wait_max: Nanos) {
        self.wait_max = wait_max;
    }

    /// The mean interval between two takes while others wait, once it is known.
    pub fn interval(&self) -> Option<Nanos> {
        (self.intervals >= INTERVALS_MIN).then(|| Nanos::from_f64(self.interval))
    }

    /// How long an event would wait behind so many others, once that is known.
    pub fn expected(&self, queued: u64) -> Option<Nanos> {
        let wait = Nanos::from_f64(self.interval * queued as f64);
        self.interval().map(|_| wait)
    }

    fn learn(&mut self, interval: Nanos) {
        self.intervals = self.intervals.saturating_add(1);
        let weight = f64::from(self.intervals.min(WEIGHT));
        self.interval += (interval.as_f64() - self.interval) / weight;
    }
}

impl Admission for ExpectedDelay {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        let expected = self.expected(offer.queued).unwrap_or(Nanos::ZERO);
        // Behind nobody it does not wait, however long the one that runs may take.
        match offer.queued > 0 && expected > self.wait_max {
            true => Err(Reason::WouldWait),
            false => Ok(()),
        }
    }

    fn take(&mut self, _tag: Tag, taken: &Taken) -> Result<(), Reason> {
        self.before = Some((self.interval, self.intervals, self.last));
        let Some(last) = self.last.replace(taken.now) else {
            return Ok(());
        };
        let interval = taken.now.since(last);
        // One that came later than the last was taken may have found the workers idle.
        if taken.waited >= interval {
            self.learn(interval);
        }
        Ok(())
    }

    /// What is not run takes no time, and would make the queue seem to move.
    fn shed(&mut self, _tag: Tag) {
        if let Some((interval, intervals, last)) = self.before.take() {
            (self.interval, self.intervals, self.last) = (interval, intervals, last);
        }
    }
}
