//! What became of the events that were offered.

use super::Reason;

/// How many events were admitted, and how many refused for which reason.
///
/// ```
/// use mely_sched::admission::{AdmissionChain, Offer, Reason, Threshold};
/// let mut chain = AdmissionChain::new().and(Threshold::new(10));
/// let full = Offer { queued: 10, ..Offer::default() };
/// assert!(chain.offer(&full).is_err());
/// assert_eq!(chain.counts().refused(Reason::QueueLong), 1);
/// assert_eq!(chain.counts().admitted, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Offers that were admitted.
    pub admitted: u64,
    /// Admitted events that were given back before they were taken.
    pub given_back: u64,
    /// Events that were taken out of the queue.
    pub taken: u64,
    /// Events that were refused when they were taken.
    pub shed: u64,
    /// Events that were taken and did not run to their end.
    pub cancelled: u64,
    /// Events that have been run.
    pub completed: u64,
    refused: [u64; Reason::ALL.len()],
}

impl Counts {
    /// How many were refused for a reason, when they were offered or when they were taken.
    pub fn refused(&self, reason: Reason) -> u64 {
        self.refused[reason as usize]
    }

    /// How many were refused for any reason.
    pub fn refused_total(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// Reasons that occurred, with their numbers.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let all = Reason::ALL.into_iter().zip(self.refused);
        all.filter(|(_, refused)| *refused > 0)
    }

    /// Events that are in the queue.
    pub fn waiting(&self) -> u64 {
        self.admitted - self.given_back - self.taken
    }

    /// Events that are being run.
    pub fn running(&self) -> u64 {
        self.taken - self.shed - self.cancelled - self.completed
    }

    pub(super) fn count_refused(&mut self, reason: Reason) {
        self.refused[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_place_and_a_name_of_its_own() {
        let mut counts = Counts::default();
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
            counts.count_refused(reason);
        }
        assert_eq!(counts.refused_total(), Reason::ALL.len() as u64);
        assert_eq!(counts.reasons().count(), Reason::ALL.len());
        let names: std::collections::HashSet<_> = Reason::ALL.map(Reason::name).into();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
