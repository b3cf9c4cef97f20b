//! Posting from the thread of a worker.

use super::Worker;
use crate::event::handler::{Handler, Kind};
use crate::event::{Call, Event, StatePtr};
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, OwnedColor};

impl Worker {
    /// Posts from the thread of this worker.
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped; here and below.
    #[inline]
    pub(crate) fn post(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        if self.detour {
            return self.post_by_detour(color, event);
        }
        match self.running_of(color) {
            Some(running) => self.post_to_running(&running, event),
            None => self.deliver(color, event),
        }
    }

    /// Posts to a color that is not being run.
    #[inline]
    pub(super) fn deliver(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        if let Some(owned) = color.deliver(event)? {
            self.schedule(owned);
        }
        Ok(())
    }

    /// Posts to the color that is being run: an event that would be the only one
    /// waits in `next`, out of the queues.
    #[inline]
    pub(crate) fn post_to_running(&self, running: &OwnedColor, event: Event) -> Result<(), Event> {
        if self.detour {
            return self.post_to_running_by_detour(running, event);
        }
        match self.next.take() {
            None if running.has_none_pending() => {
                self.next.set(Some(event));
                Ok(())
            }
            earlier => self.post_behind(running, earlier, event),
        }
    }

    /// Posts to the color that is being run, which has other events.
    pub(super) fn post_behind(
        &self,
        running: &OwnedColor,
        earlier: Option<Event>,
        event: Event,
    ) -> Result<(), Event> {
        if let Some(earlier) = earlier {
            running.push_first(earlier);
        }
        running.push(event, |e| self.costs.weigh_new(e))
    }

    /// Makes an event, weighed by what this worker knows, in a node of its own.
    #[inline]
    pub(crate) fn event<T, F>(
        &self,
        handler: Option<&'static Handler>,
        state: StatePtr<T>,
        call: F,
    ) -> Event
    where
        T: Send + 'static,
        F: Call<T>,
    {
        let weight = self.costs.weight(Kind::of::<F>(handler));
        Event::new(Some(&self.nodes), handler, weight, state, call)
    }

    /// Posts an event of a fresh color to this core: the color is made when it runs.
    #[inline]
    pub(crate) fn post_fresh(&self, event: impl FnOnce(&Self) -> Event) {
        if self.shared.admit(self.poster(), || true).is_ok() {
            self.make_ready(Ready::Fresh(event(self)));
        }
    }
}
