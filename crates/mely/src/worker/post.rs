//! Posting from the thread of a worker.

use super::Worker;
use crate::event::handler::Handler;
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
        let weight = self.costs.weight(F::kind(handler));
        Event::new(Some(&self.nodes), handler, weight, state, call)
    }

    /// Whether the event that was just counted as posted is one of those that are noted.
    #[inline]
    pub(crate) fn notes_post(&self) -> bool {
        self.remote.counts.events.posted.get() == self.next_noted.get()
    }

    /// Chooses the next one to be noted.
    pub(crate) fn note_later(&self) {
        let now = self.next_noted.get();
        self.next_noted.set(next_noted(now));
    }

    /// Posts an event of a fresh color to this core: the color is made when it runs.
    #[inline]
    pub(crate) fn post_fresh(&self, event: impl FnOnce(&Self) -> Event) {
        if self.shared.admit(self.poster(), || true).is_ok() {
            self.make_ready(Ready::Fresh(event(self)));
        }
    }
}

/// Of so many posts the next one that is noted: one in 64, at intervals that differ, so that
/// posts which come in turns are all noted sometimes.
pub(crate) fn next_noted(now: u64) -> u64 {
    // The multiples of the golden ratio are spread evenly.
    const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    now + 33 + (now.wrapping_mul(RATIO) >> 58)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_post_in_64_is_noted_whatever_comes_in_turns() {
        const POSTS: u64 = 1_000_000;
        let noted = || core::iter::successors(Some(0), |&now| Some(next_noted(now)));
        for turns in [1, 2, 3, 4, 10, 64] {
            for of in 0..turns {
                let posts = noted().take_while(|&n| n < POSTS);
                let count = posts.filter(|n| n % turns == of).count() as u64;
                let even = POSTS / 64 / turns;
                assert!(
                    (even / 2..even * 2).contains(&count),
                    "{of} of {turns}: {count}"
                );
            }
        }
    }
}
