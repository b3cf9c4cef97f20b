//! Colors that were stopped: their inbox is barred, and the last owner ends their states.

use std::sync::atomic::Ordering::Relaxed;

use super::lives::Lives;
use super::{ColorRef, OwnedColor, Realm};
use crate::event::Event;
use crate::machine::panics::drop_safely;

impl<R: Realm> ColorRef<R> {
    /// Refuses all events from now on. What is pending its owner drops; whoever gets the
    /// color back has become its owner, as it was idle, and ends it by dropping that.
    pub(crate) fn stop(&self) -> Option<OwnedColor<R>> {
        let was_closed = self.cell().inbox.bar();
        was_closed.then(|| OwnedColor::claim(self))
    }

    /// Whether it was stopped: whether events are refused.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cell().inbox.is_barred()
    }

    /// Whether a panic has stopped it. Who has been refused sees that.
    #[cold]
    pub(crate) fn is_poisoned(&self) -> bool {
        // Relaxed: see `poison`.
        self.cell().poisoned.load(Relaxed)
    }

    /// Gives back an event of a color that was stopped, and the place that it has taken.
    #[cold]
    pub(crate) fn refuse(&self, event: Event) -> Event {
        self.unreserve();
        event
    }
}

impl<R: Realm> OwnedColor<R> {
    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cell().inbox.is_barred()
    }

    /// Ends the tasks, timers and states of a color that was stopped and has no events: nobody
    /// will own it again.
    #[cold]
    pub(super) fn end_stopped(&self) {
        drop_safely(self.lives().end_color(&self.cell().life));
    }

    /// As of a reference.
    pub(super) fn lives(&self) -> &Lives {
        let cell = self.cell();
        cell.realm.lives(usize::from(cell.traits.home))
    }
}
