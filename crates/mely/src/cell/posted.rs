//! The color as the one queue of events of a core sees it: its events wait there,
//! not in the color.

use std::sync::atomic::Ordering::Relaxed;

use mely_sched::FifoEvent;

use super::{ColorRef, OwnedColor, Realm, WorkerIndex};
use crate::event::Event;
use crate::machine::panics::drop_safely;

/// An event in the queue of its color's home.
pub(crate) struct Posted<R: Realm> {
    color: ColorRef<R>,
    event: Event,
}

impl<R: Realm> ColorRef<R> {
    /// The worker whose queue has the events of the color: a hint, exact under the
    /// lock of that queue.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        // Relaxed: it is written under the locks of both queues, the old and the
        // new, and believed only under one of them.
        usize::from(self.cell().home.load(Relaxed))
    }
}

impl<R: Realm> Posted<R> {
    pub(crate) fn new(color: ColorRef<R>, event: Event) -> Self {
        Self { color, event }
    }

    /// The worker whose queue it belongs to; see [`ColorRef::home`].
    #[inline]
    pub(crate) fn home(&self) -> usize {
        self.color.home()
    }

    /// Makes another worker the home of the color, under the locks of both queues.
    pub(crate) fn set_home(&self, worker: WorkerIndex) {
        // Relaxed: as above.
        self.color.cell().home.store(worker, Relaxed);
    }

    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// For the worker that has popped it from its queue: owns the color, to run
    /// this event of it.
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped, and whether by a panic.
    pub(crate) fn claim(self) -> Result<OwnedColor<R>, (Event, bool)> {
        OwnedColor::claim_for(self.color, self.event)
    }

    /// Goes on, unless its color was stopped.
    ///
    /// # Errors
    ///
    /// The event, if it was.
    pub(crate) fn unless_stopped(self) -> Result<Self, Event> {
        match self.color.is_stopped() {
            true => Err(self.color.refuse(self.event)),
            false => Ok(self),
        }
    }

    /// Drops the event of a runtime that has stopped, and counts it.
    pub(crate) fn abandon(self) {
        let realm = self.color.realm();
        realm.count_abandoned(self.event.handler_info().name);
        drop_safely(self.event);
    }
}

impl<R: Realm> FifoEvent for Posted<R> {
    /// The address: it lasts as long as the color, and events keep their color.
    type Color = usize;

    #[inline]
    fn color(&self) -> usize {
        self.color.0.addr().get()
    }

    #[inline]
    fn is_pinned(&self) -> bool {
        self.color.cell().traits.pinned
    }

    #[inline]
    fn waiting(&self) -> u32 {
        // Relaxed, here and below: read and written under the lock of the queue
        // that has the events.
        self.color.cell().waiting.load(Relaxed)
    }

    #[inline]
    fn set_waiting(&self, events: u32) {
        self.color.cell().waiting.store(events, Relaxed);
    }
}
