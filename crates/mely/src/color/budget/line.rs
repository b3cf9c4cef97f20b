//! What is taken of a budget, and who waits for more, in turn.

use core::task::Waker;
use std::collections::BTreeMap;

use super::error::BudgetError;

/// The place of who waits: a lower one came earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u64);

struct Waits {
    amount: usize,
    waker: Waker,
}

/// What has become of who waits.
pub(super) enum Turn {
    /// He waits: and is woken by the waker that he came with, or by another one.
    Waits { is_woken: bool },
    /// He has what he asked for, and is in the line no more.
    Came,
    /// He was told that it will never be there.
    Never(BudgetError),
}

/// Nothing of the program is called in here: this is behind a lock.
pub(super) struct Line {
    limit: usize,
    /// More than the limit, where that was lowered.
    used: usize,
    waits: BTreeMap<Place, Waits>,
    /// Who asked for more than the limit became, and does not know it yet.
    refused: BTreeMap<Place, BudgetError>,
    next: Place,
}

impl Line {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            waits: BTreeMap::new(),
            refused: BTreeMap::new(),
            next: Place(0),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn waiting(&self) -> usize {
        self.waits.len()
    }

    fn left(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    pub(super) fn try_take(&mut self, asked: usize) -> Result<(), BudgetError> {
        let (limit, left) = (self.limit, self.left());
        if asked > limit {
            return Err(BudgetError::TooLarge { asked, limit });
        }
        // Nothing is there for everybody.
        if asked > left || (asked > 0 && !self.waits.is_empty()) {
            return Err(BudgetError::Full { asked, left });
        }
        self.used += asked;
        Ok(())
    }

    /// Waits for what [`try_take`](Self::try_take) has just refused for now.
    pub(super) fn enter(&mut self, amount: usize, waker: Waker) -> Place {
        let place = self.next;
        self.next = Place(place.0 + 1);
        self.waits.insert(place, Waits { amount, waker });
        place
    }

    /// What has become of who waits; once he knows that he waits no more, he has no place.
    pub(super) fn look(&mut self, place: Place, waker: &Waker) -> Turn {
        if let Some(waits) = self.waits.get(&place) {
            let is_woken = waits.waker.will_wake(waker);
            return Turn::Waits { is_woken };
        }
        match self.refused.remove(&place) {
            Some(error) => Turn::Never(error),
            None => Turn::Came,
        }
    }

    /// Wakes him by this from now on. The waker before, or this one if he waits no more.
    pub(super) fn replace(&mut self, place: Place, waker: Waker) -> Waker {
        match self.waits.get_mut(&place) {
            Some(waits) => std::mem::replace(&mut waits.waker, waker),
            None => waker,
        }
    }

    /// Leaves the line without a look: what was given to him goes to others.
    pub(super) fn leave(&mut self, place: Place, amount: usize) -> Option<Waker> {
        if let Some(waits) = self.waits.remove(&place) {
            return Some(waits.waker);
        }
        if self.refused.remove(&place).is_none() {
            self.used -= amount;
        }
        None
    }

    /// Gives back, and lets in the first that waits, if there is room.
    pub(super) fn give_back(&mut self, amount: usize) -> Option<Waker> {
        self.used -= amount;
        self.let_in()
    }

    /// Lets in the first that waits, if there is room.
    pub(super) fn let_in(&mut self) -> Option<Waker> {
        let left = self.left();
        let first = self.waits.first_entry()?;
        if first.get().amount > left {
            return None;
        }
        let waits = first.remove();
        self.used += waits.amount;
        Some(waits.waker)
    }

    /// Sets the limit; who waits for more is to be told.
    pub(super) fn set_limit(&mut self, limit: usize) -> Vec<Waker> {
        self.limit = limit;
        let waits = self.waits.iter();
        let too_large = waits.filter(|(_, waits)| waits.amount > limit);
        let places: Vec<_> = too_large.map(|(&place, _)| place).collect();
        let tell = |place| {
            let Waits { amount, waker } = self.waits.remove(&place)?;
            let asked = amount;
            let error = BudgetError::TooLarge { asked, limit };
            self.refused.insert(place, error);
            Some(waker)
        };
        places.into_iter().filter_map(tell).collect()
    }
}
