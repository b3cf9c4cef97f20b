//! Whether an event is let into a queue, and whether it is still worth being run.
//!
//! *Performance Aspects of the Staged Event-Driven Architecture* calls it load conditioning:
//! a queue in front of each stage is where overload is seen first, and where it costs least to
//! refuse. A policy is an [`Admission`]; an [`AdmissionChain`] joins several, all of which must
//! admit, counts what each of them does, and may be changed while events are on their way.
//!
//! There are two points of decision, and one of feedback:
//!
//! ```text
//!  offer ──► refused, with a Reason
//!    │ Admitted                       (put into the queue, or given back)
//!  take ───► shed, with a Reason      (told how long the event has waited)
//!    │ Running
//!  complete                           (told the response time)
//! ```
//!
//! | policy | decides at | by |
//! |---|---|---|
//! | [`Threshold`] | offer | the length of the queue |
//! | [`TokenBucket`] | offer | rate and burst |
//! | [`ClassFilter`] | offer | how much of one class waits |
//! | [`Priority`] | offer | the length of the queue, and the class |
//! | [`EarlyDrop`] | offer | the averaged queue, and chance |
//! | [`ExpectedDelay`] | offer | how long the queue would take |
//! | [`Deadline`] | take | how long the event has waited |
//! | [`Codel`] | take | the least wait of an interval |
//! | [`ResponseTime`] | offer | the 90th percentile of response times |
//! | [`Gradient`] | offer | how response times grow with concurrency |
//! | [`Credits`] | offer, take | credits of clients, given by the queueing delay |
//!
//! Nothing here reads a clock or rolls dice: both come with the calls.

mod chain;
mod class_filter;
mod codel;
mod counts;
mod credits;
mod deadline;
mod early_drop;
mod expected_delay;
mod gradient;
mod priority;
mod response_time;
mod threshold;
mod token_bucket;

use std::any::Any;
use std::fmt;

use crate::nanos::Nanos;

pub use chain::{AdmissionChain, Admitted, PolicyId, Running};
pub use class_filter::ClassFilter;
pub use codel::{CODEL_INTERVAL, CODEL_TARGET, Codel};
pub use counts::Counts;
pub use credits::{Credits, CreditsOptions};
pub use deadline::Deadline;
pub use early_drop::{EarlyDrop, EarlyDropOptions};
pub use expected_delay::ExpectedDelay;
pub use gradient::{Gradient, GradientOptions};
pub use priority::Priority;
pub use response_time::{ResponseTime, ResponseTimeOptions};
pub use threshold::{QUEUE_THRESHOLD, Threshold};
pub use token_bucket::{Rate, TokenBucket};

/// How many classes there are.
pub const CLASSES: usize = 8;

/// The kind of an event, as filters and priorities see it: 0 is the most important.
///
/// ```
/// use mely_sched::admission::Class;
/// assert!(Class::new(0).is_before(Class::new(3)));
/// assert_eq!(Class::new(200), Class::LAST);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Class(u8);

impl Class {
    /// The most important class, and what an event has that nobody classified.
    pub const FIRST: Class = Class(0);

    /// The least important class.
    pub const LAST: Class = Class(CLASSES as u8 - 1);

    /// The class of that number; higher numbers than there are classes mean the last.
    pub const fn new(number: u8) -> Self {
        if number < Self::LAST.0 {
            Self(number)
        } else {
            Self::LAST
        }
    }

    /// Its number, below [`CLASSES`].
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// Whether it is more important than another one.
    pub const fn is_before(self, other: Class) -> bool {
        self.0 < other.0
    }
}

/// Who offers events: what [`Credits`] are given to, such as a connection or an upstream
/// stage. Policies without credits take no notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientId(pub u32);

/// What an event is known by at each point of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Its kind.
    pub class: Class,
    /// Who offers it.
    pub client: ClientId,
}

/// An event that somebody wants to put into the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The time.
    pub now: Nanos,
    /// How many events wait in the queue, without this one.
    pub queued: u64,
    /// What the event is known by.
    pub tag: Tag,
    /// Any number, each as likely as all others: what is left to chance is decided by it.
    pub chance: u64,
}

/// An event that a worker has just taken out of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The time.
    pub now: Nanos,
    /// How long it has waited in the queue.
    pub waited: Nanos,
}

/// An event that has been run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The time.
    pub now: Nanos,
    /// How long it took since it was offered: the wait, and the work.
    pub response: Nanos,
}

/// Why an event was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The queue is as long as it may be ([`Threshold`]).
    QueueLong,
    /// The bucket has no token ([`TokenBucket`]).
    NoToken,
    /// As much of its class waits as may ([`ClassFilter`]).
    Filtered,
    /// What room is left is kept for more important classes ([`Priority`]).
    Unimportant,
    /// Chance has chosen it before the queue is full ([`EarlyDrop`]).
    Early,
    /// It would wait too long ([`ExpectedDelay`]).
    WouldWait,
    /// It has waited too long ([`Deadline`]).
    TooOld,
    /// It has waited long while no event waited shortly ([`Codel`]).
    Standing,
    /// Response times are above their target ([`ResponseTime`]).
    SlowResponses,
    /// As many events are on their way as may ([`Gradient`]).
    Concurrency,
    /// Its client has no credit ([`Credits`]).
    NoCredit,
    /// It has waited long although clients need credits ([`Credits`]).
    CreditsLate,
    /// A policy of the program's own.
    Custom,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 13] = [
        Reason::QueueLong,
        Reason::NoToken,
        Reason::Filtered,
        Reason::Unimportant,
        Reason::Early,
        Reason::WouldWait,
        Reason::TooOld,
        Reason::Standing,
        Reason::SlowResponses,
        Reason::Concurrency,
        Reason::NoCredit,
        Reason::CreditsLate,
        Reason::Custom,
    ];

    /// A word for metrics, in lower case with hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::QueueLong => "queue-long",
            Reason::NoToken => "no-token",
            Reason::Filtered => "filtered",
            Reason::Unimportant => "unimportant",
            Reason::Early => "early",
            Reason::WouldWait => "would-wait",
            Reason::TooOld => "too-old",
            Reason::Standing => "standing",
            Reason::SlowResponses => "slow-responses",
            Reason::Concurrency => "concurrency",
            Reason::NoCredit => "no-credit",
            Reason::CreditsLate => "credits-late",
            Reason::Custom => "custom",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A policy of admission, told of each event on its way.
///
/// Of each event that [`offer`](Admission::offer) admitted it is told either
/// [`give_back`](Admission::give_back), or [`take`](Admission::take) and then one of
/// [`shed`](Admission::shed) at once, [`complete`](Admission::complete) and
/// [`cancel`](Admission::cancel). An [`AdmissionChain`] keeps to that.
///
/// A policy of one's own:
///
/// ```
/// use mely_sched::admission::{Admission, AdmissionChain, Offer, Reason};
///
/// #[derive(Debug)]
/// struct Closed(bool);
///
/// impl Admission for Closed {
///     fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
///         if self.0 { Err(Reason::Custom) } else { Ok(()) }
///     }
/// }
///
/// let mut chain = AdmissionChain::new().and(Closed(false));
/// assert!(chain.offer(&Offer::default()).is_ok());
/// chain.policy_mut::<Closed>().unwrap().0 = true;
/// assert!(chain.offer(&Offer::default()).is_err());
/// ```
pub trait Admission: Any + fmt::Debug + Send {
    /// Whether the event may enter the queue.
    ///
    /// # Errors
    ///
    /// Why it may not. The event is forgotten then.
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason>;

    /// An event that was admitted was never taken: another policy refused it, or the queue
    /// closed. All that it was given is as it would be without it.
    fn give_back(&mut self, tag: Tag) {
        let _ = tag;
    }

    /// Whether the event that has just been taken out of the queue is still to be run.
    ///
    /// # Errors
    ///
    /// Why it is not; [`shed`](Admission::shed) follows in any case.
    fn take(&mut self, tag: Tag, taken: &Taken) -> Result<(), Reason> {
        let _ = (tag, taken);
        Ok(())
    }

    /// The event that was just taken is not run: this policy or another one refused it.
    fn shed(&mut self, tag: Tag) {
        let _ = tag;
    }

    /// An event that was taken did not run to its end, or its time says nothing.
    fn cancel(&mut self, tag: Tag) {
        let _ = tag;
    }

    /// An event that was taken has been run.
    fn complete(&mut self, tag: Tag, done: &Done) {
        let _ = (tag, done);
    }
}

/// A number in 0..1 from a random one.
fn unit(chance: u64) -> f64 {
    /// As many bits as the mantissa of a double has.
    const BITS: u32 = 53;
    (chance >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64
}

/// The nearest value within bounds; the lower one for what is no number.
fn within(low: f64, high: f64, value: f64) -> f64 {
    if value > low { value.min(high) } else { low }
}

#[cfg(test)]
mod tests;
