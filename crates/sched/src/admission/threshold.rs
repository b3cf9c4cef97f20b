//! Refusing what comes to a long queue.

use super::{Admission, Offer, Reason};

/// The length of a queue from which on it is full, if nobody says otherwise.
///
/// What the slides of the Staged Event-Driven Architecture set for the queues of the
/// Gnutella router.
pub const QUEUE_THRESHOLD: u64 = 1_000;

/// Refuses when so many events wait already.
///
/// *Performance Aspects of the Staged Event-Driven Architecture*, Event Queue Thresholding.
/// It bounds memory, and the wait only where each event takes as long: 1000 events of 10 µs
/// are 10 ms, 1000 of 1 ms a second.
///
/// ```
/// use mely_sched::admission::{Admission, Offer, Reason, Threshold};
/// let mut threshold = Threshold::new(2);
/// let offer = |queued| Offer { queued, ..Offer::default() };
/// assert_eq!(threshold.offer(&offer(1)), Ok(()));
/// assert_eq!(threshold.offer(&offer(2)), Err(Reason::QueueLong));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    queued_max: u64,
}

impl Threshold {
    /// Lets up to so many events wait; with 0 nothing is admitted.
    pub const fn new(queued_max: u64) -> Self {
        Self { queued_max }
    }

    /// How many events may wait.
    pub fn queued_max(&self) -> u64 {
        self.queued_max
    }

    /// Changes how many events may wait. What waits already stays.
    pub fn set_queued_max(&mut self, queued_max: u64) {
        self.queued_max = queued_max;
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self::new(QUEUE_THRESHOLD)
    }
}

impl Admission for Threshold {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        match offer.queued < self.queued_max {
            true => Ok(()),
            false => Err(Reason::QueueLong),
        }
    }
}
