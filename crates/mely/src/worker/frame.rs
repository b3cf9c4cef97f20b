//! Where an event runs.
#![allow(unsafe_code)]

use core::cell::Cell;

use super::Worker;
#[cfg(feature = "tracing")]
use crate::event::Call;
use crate::event::{Event, Place};
use crate::shared::admission::Poster;
use crate::shared::{ColorRef, Lent, OwnedColor};

/// A worker, and the color that it runs: what the event that runs is told of both.
pub(crate) struct Frame<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) color: &'a OwnedColor,
}

impl<'a> Frame<'a> {
    /// As events see it.
    #[inline]
    pub(crate) fn place(&'a self) -> Place<'a> {
        Place::new(self)
    }

    /// The frame behind a place.
    ///
    /// It is not copied: what was written in two pieces and is read as one has to reach
    /// the cache first, a third of the time of a short event.
    ///
    /// # Safety
    ///
    /// The place is that of a frame.
    #[inline]
    pub(crate) unsafe fn of(place: Place<'a>) -> &'a Self {
        // SAFETY: the caller's word.
        unsafe { place.get::<Frame<'a>>() }
    }
}

impl Worker {
    /// An event that stands for this one, in a node of this worker's.
    #[cfg(feature = "tracing")]
    pub(crate) fn hold<C: Call<()>>(&self, event: Event, hold: impl FnOnce(Event) -> C) -> Event {
        event.held_by(Some(&self.nodes), hold)
    }

    /// Runs an event that was held by the one that is being run.
    ///
    /// # Safety
    ///
    /// As for [`Event::run`]: that one was posted where this one belongs, and `place` is what it
    /// was called with.
    pub(crate) unsafe fn run_held(&self, event: Event, place: Place<'_>) {
        // SAFETY: the caller's word.
        unsafe { event.run(&self.nodes, place) };
    }

    /// What it counts what it posts in.
    #[inline]
    pub(crate) fn poster(&self) -> Poster<'_> {
        Poster::Worker(&self.remote.counts.events)
    }

    /// The same, of the event that it runs.
    #[inline]
    pub(crate) fn handler_poster(&self) -> Poster<'_> {
        Poster::Handler(&self.remote.counts.events)
    }

    /// Tells whoever looks on of the events of this turn before it is over: who gets an
    /// answer of one of them finds it counted.
    pub(crate) fn count_ahead(&self) {
        let counts = &self.remote().counts;
        let ran = u64::from(self.ran.get() + self.ran_around());
        counts.run_ahead.set(counts.events.run.get() + ran);
    }

    /// Polls a task with this mark; null for one that has none.
    pub(crate) fn poll_marked<R>(&self, mark: *const (), poll: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Cell<*const ()>, *const ());
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let _restore = Restore(&self.polled, self.polled.replace(mark));
        poll()
    }

    /// Whether this worker polls the task with this mark.
    pub(crate) fn polls(&self, mark: *const ()) -> bool {
        !mark.is_null() && self.polled.get() == mark
    }

    /// The color of the event that is being run, to keep.
    pub(crate) fn current_color(&self) -> Option<ColorRef> {
        self.running.lend().map(|running| running.to_ref())
    }

    /// Whether the event that is being run is of this color.
    pub(crate) fn runs(&self, color: &ColorRef) -> bool {
        self.running_of(color).is_some()
    }

    /// The color that is being run, if it is this one.
    #[inline]
    pub(super) fn running_of(&self, color: &ColorRef) -> Option<Lent> {
        self.running.lend().filter(|running| running.is_of(color))
    }
}
