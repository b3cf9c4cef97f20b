//! Timers as their worker keeps them.

use std::time::Instant;

use super::Timer;
use super::slot::{Post, Repeating, Slot};
use crate::event::Event;
use crate::shared::ColorRef;

/// What was found of a timer whose entry was due.
pub(super) enum Found {
    Once(ColorRef, Event),
    Every(Timer, Box<dyn Repeating>, Fired),
    /// It was put off until then.
    Later(Instant),
    Nothing,
}

/// When a timer fired, and as which entry.
#[derive(Clone, Copy)]
pub(crate) struct Fired {
    pub(super) at: Instant,
    pub(super) entry: u32,
}

/// A timer that is kept. Dropping it cancels the timer, if it has not fired and has no
/// other entry since.
pub(crate) struct Delayed {
    pub(super) at: Instant,
    pub(super) timer: Timer,
    pub(super) entry: u32,
}

impl Delayed {
    pub(crate) fn new(at: Instant, timer: Timer) -> Self {
        Self {
            at,
            timer,
            entry: 0,
        }
    }

    fn is_of(&self, slot: &Slot) -> bool {
        slot.entry == self.entry && matches!(slot.post, Post::Once(..) | Post::Every(_))
    }

    /// Whether it is still to be kept.
    pub(super) fn is_of_use(&self) -> bool {
        self.is_of(&self.timer.slot())
    }

    /// Takes what it has to post, if that is due.
    pub(super) fn take(&self, now: Instant) -> Found {
        let mut slot = self.timer.slot();
        if !self.is_of(&slot) {
            return Found::Nothing;
        }
        if slot.at > now {
            return Found::Later(slot.at);
        }
        match std::mem::replace(&mut slot.post, Post::Over) {
            Post::Once(color, event) => Found::Once(color, event),
            Post::Every(post) => {
                slot.post = Post::Away;
                let Slot { at, entry, .. } = *slot;
                Found::Every(self.timer.clone(), post, Fired { at, entry })
            }
            Post::Away | Post::Begun(_) | Post::Over => Found::Nothing,
        }
    }

    /// Drops the event because there are too many timers.
    pub(super) fn shed(self) {
        self.timer.shed();
    }

    /// After its event was taken.
    pub(super) fn unlist(&self) {
        self.timer.unlist();
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        if self.is_of_use() {
            self.timer.cancel_on(None);
        }
    }
}
