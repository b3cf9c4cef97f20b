//! What became of events.

use mely_sched::Nanos;
use mely_sched::admission::Reason;

use crate::error::{Refusal, Shed};
use crate::histogram::Histogram;

/// What became of the events that were offered to a stage.
///
/// At any time, `offered = accepted + refused + withdrawn + reserved` and
/// `accepted = handled + expired + reported + queued + running`.
///
/// ```
/// let counts = mely_stage::Counts::default();
/// assert_eq!((counts.offered, counts.reported()), (0, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Events that were offered, and places that were asked for.
    pub offered: u64,
    /// Events that came into the queue.
    pub accepted: u64,
    /// Offers that were refused because there was no room.
    pub refused_full: u64,
    /// Offers that were refused because there was no room, while the stage was held by one that
    /// it feeds.
    pub refused_clogged: u64,
    /// Offers that were refused because the stage ends.
    pub refused_closed: u64,
    /// Reserved places that were given back.
    pub withdrawn: u64,
    /// Accepted events that were handled.
    pub handled: u64,
    /// Accepted events that are in the hands of handlers.
    pub running: u64,
    /// Accepted events that a handler had in hand when it panicked.
    pub panicked: u64,
    /// Accepted events that were handed back when the stage was destroyed.
    pub handed_back: u64,
    /// Accepted events that the end of the runtime, or a reservation that outlived its stage, has
    /// left.
    pub ended: u64,
    /// Accepted events that no handler could be made for.
    pub no_handler: u64,
    /// Handlers that panicked, also while they were made.
    pub panics: u64,
    refused: [u64; Reason::ALL.len()],
    expired: [u64; Reason::ALL.len()],
}

impl Counts {
    /// Offers that were refused, for any reason.
    pub fn refused(&self) -> u64 {
        let own = self.refused_full + self.refused_clogged + self.refused_closed;
        own + self.refused.iter().sum::<u64>()
    }

    /// Offers that policies of admission refused for a reason.
    pub fn refused_for(&self, reason: Reason) -> u64 {
        self.refused[reason as usize]
    }

    /// Accepted events that policies of admission refused when they were taken.
    pub fn expired(&self) -> u64 {
        self.expired.iter().sum()
    }

    /// Accepted events that policies refused for a reason when they were taken.
    pub fn expired_for(&self, reason: Reason) -> u64 {
        self.expired[reason as usize]
    }

    /// Accepted events of which the program was told that they were not handled: handed back,
    /// or given to the hook, or lost in a panic.
    pub fn reported(&self) -> u64 {
        self.panicked + self.handed_back + self.ended + self.no_handler
    }

    pub(super) fn refuse(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Full => self.refused_full += 1,
            Refusal::Clogged => self.refused_clogged += 1,
            Refusal::Closed => self.refused_closed += 1,
            Refusal::Admission(reason) => self.refused[reason as usize] += 1,
        }
    }

    /// An accepted event was not handled.
    pub(super) fn shed(&mut self, why: Shed) {
        match why {
            Shed::Expired(reason) => self.expired[reason as usize] += 1,
            Shed::Ended => self.ended += 1,
            Shed::NoHandler => self.no_handler += 1,
            // It was never accepted, and is counted as refused.
            Shed::Refused(_) => {}
        }
    }
}

/// What is seen of a stage while it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) counts: Counts,
    /// Nanoseconds from an event's offer to when it was taken.
    pub(crate) wait: Histogram,
    /// Nanoseconds that handled events were in hand.
    pub(crate) service: Histogram,
    pub(crate) batches: Histogram,
    /// How long handlers have had events in hand, added up.
    pub(crate) busy: Nanos,
}
