//! Refusing what has waited too long.

use super::{Admission, Offer, Reason, Tag, Taken};
use crate::nanos::Nanos;

/// Sheds, when it is taken, an event that has waited longer than a limit.
///
/// Nobody waits for its answer any more, or soon will not: the work is saved for events that
/// are still in time. With a queue in order it bounds the wait of all that are run, whatever
/// the load, at the price that those refused learn it late.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{Admission, Deadline, Reason, Tag, Taken};
/// let mut deadline = Deadline::new(Nanos::from_millis(20));
/// let late = Taken { now: Nanos::ZERO, waited: Nanos::from_millis(21) };
/// assert_eq!(deadline.take(Tag::default(), &late), Err(Reason::TooOld));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    wait_max: Nanos,
}

impl Deadline {
    /// Lets events wait as long as `wait_max`.
    pub const fn new(wait_max: Nanos) -> Self {
        Self { wait_max }
    }

    /// How long an event may wait.
    pub fn wait_max(&self) -> Nanos {
        self.wait_max
    }

    /// Changes how long an event may wait, those that wait already too.
    pub fn set_wait_max(&mut self, wait_max: Nanos) {
        self.wait_max = wait_max;
    }
}

impl Admission for Deadline {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        Ok(())
    }

    fn take(&mut self, _tag: Tag, taken: &Taken) -> Result<(), Reason> {
        match taken.waited > self.wait_max {
            true => Err(Reason::TooOld),
            false => Ok(()),
        }
    }
}
