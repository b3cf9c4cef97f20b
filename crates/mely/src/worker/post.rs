//! Posting from the thread of a worker.

use super::Worker;
use crate::cost::seats::UNMADE;
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
        if self.sampler.is_due() {
            return self.post_to_another_specially(color, event);
        }
        self.post_as_usual(color, event)
    }

    #[inline]
    fn post_as_usual(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        match self.running_of(color) {
            Some(running) => self.post_to_running_as_usual(&running, event),
            None => self.deliver(color, event),
        }
    }

    #[cold]
    #[inline(never)]
    fn post_to_another_specially(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        let post = |event| match self.detour {
            true => self.post_by_detour(color, event),
            false => self.post_as_usual(color, event),
        };
        self.post_specially(color.id(), color.traits().pinned, event, post)
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
        if self.sampler.is_due() {
            return self.post_to_running_specially(running, event);
        }
        self.post_to_running_as_usual(running, event)
    }

    #[cold]
    #[inline(never)]
    fn post_to_running_specially(&self, running: &OwnedColor, event: Event) -> Result<(), Event> {
        let post = |event| match self.detour {
            true => self.post_to_running_by_detour(running, event),
            false => self.post_to_running_as_usual(running, event),
        };
        self.post_specially(running.id(), running.is_pinned(), event, post)
    }

    #[inline]
    fn post_to_running_as_usual(&self, running: &OwnedColor, event: Event) -> Result<(), Event> {
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
            let event = event(self);
            match self.sampler.is_due() {
                true => self.post_fresh_specially(event),
                false => self.queue_ready(Ready::Fresh(event)),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn post_fresh_specially(&self, event: Event) {
        let post = |event| {
            self.make_ready(Ready::Fresh(event));
            Ok(())
        };
        let posted = self.post_specially(UNMADE, false, event, post);
        debug_assert!(posted.is_ok(), "a new color takes what is posted to it");
    }
}
