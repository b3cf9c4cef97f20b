//! Who sleeps, who searches: so that work and a sleeping worker never stay
//! together, and no more workers are woken than there is work for.
//!
//! One word counts sleeping and searching workers. A worker that is about to sleep
//! changes the word first and looks for work a last time after; whoever offers
//! work offers it first and changes the word after (adding nothing). Both are
//! read-modify-writes of one location, so one of the two sees the other: either
//! the sleeper finds the work, or the offerer finds the sleeper.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::machine::sync::{AtomicUsize, Mutex, lock};

const SEARCHING: usize = 1;
const SLEEPING: usize = 1 << 16;

/// More workers than this would overflow the counts.
pub(crate) const WORKERS_MAX: usize = 4096;

/// The sleeping and searching workers of a runtime.
pub(crate) struct Idle {
    counts: AtomicUsize,
    sleepers: Mutex<Vec<usize>>,
}

/// What the counts said at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdleCounts(usize);

impl IdleCounts {
    /// Workers that sleep or are about to.
    pub(crate) fn sleeping(self) -> usize {
        self.0 / SLEEPING
    }

    /// Workers that were woken to search and have not found anything yet.
    pub(crate) fn searching(self) -> usize {
        self.0 % SLEEPING
    }

    /// Whether any worker has nothing to do.
    pub(crate) fn any(self) -> bool {
        self.0 != 0
    }
}

impl Idle {
    pub(crate) fn new() -> Self {
        Self {
            counts: AtomicUsize::new(0),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    /// The counts, as a hint.
    #[inline]
    pub(crate) fn hint(&self) -> IdleCounts {
        // Relaxed: decides only whether it is worth looking closer.
        IdleCounts(self.counts.load(Relaxed))
    }

    /// Whether so many sleep: exact, and whoever gets up later sees what the caller did
    /// before.
    pub(crate) fn do_all_sleep(&self, workers: usize) -> bool {
        // AcqRel pairs with `get_up` and `choose_sleeper`.
        IdleCounts(self.counts.fetch_add(0, AcqRel)).sleeping() == workers
    }

    /// Announces that `worker` is about to sleep, and ends its search. The worker
    /// must look for work once more after this.
    pub(crate) fn lie_down(&self, worker: usize, searching: bool) {
        let mut sleepers = lock(&self.sleepers);
        sleepers.push(worker);
        let ends_search = if searching { SEARCHING } else { 0 };
        // AcqRel pairs with `choose_sleeper`: see the module's argument.
        self.counts.fetch_add(SLEEPING - ends_search, AcqRel);
    }

    /// Ends the sleep of `worker`. Returns whether somebody chose it to search.
    pub(crate) fn get_up(&self, worker: usize) -> bool {
        let mut sleepers = lock(&self.sleepers);
        match sleepers.iter().position(|&sleeper| sleeper == worker) {
            Some(at) => {
                sleepers.swap_remove(at);
                self.counts.fetch_sub(SLEEPING, AcqRel);
                false
            }
            None => true,
        }
    }

    /// For whoever has just offered work: chooses a sleeper to search for it,
    /// unless nobody sleeps or somebody is searching already (who will find it, or
    /// pass the search on). The caller wakes the chosen one.
    #[must_use]
    pub(crate) fn choose_sleeper(&self) -> Option<usize> {
        // AcqRel pairs with `lie_down` and `found_work`: see the module's argument.
        let counts = IdleCounts(self.counts.fetch_add(0, AcqRel));
        if counts.sleeping() == 0 || counts.searching() > 0 {
            return None;
        }
        let mut sleepers = lock(&self.sleepers);
        let chosen = sleepers.pop()?;
        self.counts.fetch_sub(SLEEPING - SEARCHING, AcqRel);
        Some(chosen)
    }

    /// Ends a search that found work. If it was the last one, the caller looks
    /// whether there is more work and passes the search on.
    pub(crate) fn found_work(&self) -> bool {
        // AcqRel pairs with `choose_sleeper`: an offer that counted on this search
        // is visible to the look that follows.
        IdleCounts(self.counts.fetch_sub(SEARCHING, AcqRel)).searching() == 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_sleeper_is_chosen_at_a_time() {
        let idle = Idle::new();
        assert_eq!(idle.choose_sleeper(), None);
        idle.lie_down(3, false);
        idle.lie_down(5, false);
        assert_eq!((idle.hint().sleeping(), idle.hint().searching()), (2, 0));
        assert_eq!(idle.choose_sleeper(), Some(5));
        assert_eq!(idle.choose_sleeper(), None, "5 is searching already");
        assert!(idle.get_up(5), "5 was chosen");
        assert!(idle.found_work(), "5 was the last to search");
        assert_eq!(idle.choose_sleeper(), Some(3));
        assert!(idle.get_up(3));
        idle.lie_down(3, true);
        assert!(!idle.get_up(3), "3 got up by itself");
        assert!(!idle.hint().any());
    }
}
