//! Colors that were stopped: their inbox is shut, and their states end with the last owner.

use std::sync::atomic::Ordering::Relaxed;

use super::{ColorRef, OwnedColor, Realm};
use crate::event::Event;
use crate::machine::panics::drop_safely;

impl<R: Realm> ColorRef<R> {
    /// Refuses all events from now on, and drops those that are in the inbox, after showing
    /// each to `count`. Whoever gets the color back owns it, and ends it by dropping that;
    /// else its owner finds it stopped.
    pub(crate) fn stop(&self, count: impl Fn(&Event)) -> Option<OwnedColor<R>> {
        // Relaxed: for those who do not look at the inbox, which has the order.
        self.cell().stopped.store(true, Relaxed);
        let (events, was_closed) = self.cell().inbox.shut_by_any();
        let owner = was_closed.then(|| OwnedColor::claim(self));
        while let Some(event) = events.pop_front() {
            count(&event);
            drop_safely(event);
        }
        owner
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: as above.
        self.cell().stopped.load(Relaxed)
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
