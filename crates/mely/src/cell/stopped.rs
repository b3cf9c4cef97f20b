//! Colors that were stopped: their inbox is shut, and their states end with the last owner.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::{ColorRef, OwnedColor, Realm};
use crate::event::Event;
use crate::machine::panics::drop_safely;

impl<R: Realm> ColorRef<R> {
    /// Refuses all events from now on, and drops those that are in the inbox, after showing
    /// each to `count`. Whoever gets the color back owns it, and ends it by dropping that;
    /// else its owner finds it stopped.
    pub(crate) fn stop(&self, count: impl Fn(&Event)) -> Option<OwnedColor<R>> {
        let (events, was_closed) = self.cell().inbox.shut_by_any();
        // Release pairs with the acquire below: who sees it finds the inbox shut.
        self.cell().stopped.store(true, Release);
        let owner = was_closed.then(|| OwnedColor::claim(self));
        while let Some(event) = events.pop_front() {
            count(&event);
            drop_safely(event);
        }
        owner
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cell().stopped.load(Acquire)
    }
}

impl<R: Realm> OwnedColor<R> {
    /// Ends the states of a color that was stopped and has no events: nobody will own it
    /// again.
    #[cold]
    pub(super) fn end_stopped(&self) {
        let cell = self.cell();
        let lives = cell.realm.lives(usize::from(cell.traits.home));
        drop_safely(lives.take_states_at(&cell.states));
    }
}
