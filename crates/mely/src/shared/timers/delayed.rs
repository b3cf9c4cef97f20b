//! Timers as their worker keeps them.

use std::time::{Duration, Instant};

use super::Timer;
use super::slot::{Fired, Post, Repeating, Slot};
use crate::event::Event;
use crate::machine::panics::drop_safely;
use crate::shared::ColorRef;

/// What was found of a timer whose entry was due.
pub(super) enum Found {
    Once(ColorRef, Event),
    Every(Timer, Box<dyn Repeating>, Fired),
    /// It was put off until then.
    Later(Instant),
    Nothing,
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

impl Timer {
    /// Sets it, unless its color was stopped.
    pub(crate) fn set(self, color: &ColorRef) -> Self {
        if self.list(color) {
            let at = self.slot().at;
            let (shared, keeper) = self.kept_by();
            shared.set_timer(keeper, Delayed::new(at, self.clone()));
        } else {
            self.shed();
        }
        self
    }

    /// Makes it due earlier, with a new entry; under the lock of the heap. `None` if it is
    /// over; else the entry, and whether there was one that is of no use any more.
    pub(super) fn entry_at(&self, at: Instant) -> Option<(Option<Delayed>, bool)> {
        let mut slot = self.slot();
        if matches!(slot.post, Post::Over) {
            return None;
        }
        slot.at = at;
        slot.entry = slot.entry.wrapping_add(1);
        let (is_away, entry) = (matches!(slot.post, Post::Away | Post::Begun(_)), slot.entry);
        // An entry that is dropped looks at the slot.
        drop(slot);
        if is_away {
            // Its event makes the entry when it is over.
            return Some((None, false));
        }
        let timer = self.clone();
        Some((Some(Delayed { at, timer, entry }), true))
    }

    /// Brings back what its event took away; due at `next`, unless it was reset since it was
    /// taken as this entry. Gives it back if the timer was cancelled.
    fn bring_back(
        &self,
        post: Box<dyn Repeating>,
        entry: u32,
        next: Instant,
    ) -> Result<Delayed, Box<dyn Repeating>> {
        let mut slot = self.slot();
        if !matches!(slot.post, Post::Away | Post::Begun(_)) {
            return Err(post);
        }
        slot.post = Post::Every(post);
        if slot.entry == entry {
            slot.at = next;
        }
        let (at, entry) = (slot.at, slot.entry);
        drop(slot);
        let timer = self.clone();
        Ok(Delayed { at, timer, entry })
    }

    /// Lets what its event took away come again after `period`: counted from when it was
    /// due, or from now if that is past.
    pub(crate) fn again(&self, post: Box<dyn Repeating>, fired: Fired, period: Duration) {
        let (shared, keeper) = self.kept_by();
        let due = fired.at.checked_add(period);
        let next = due.filter(|&next| next > shared.clock.now());
        let next = next.unwrap_or_else(|| shared.after(period));
        match self.bring_back(post, fired.entry, next) {
            Ok(entry) => {
                let is_first = shared.remotes[keeper].timers.keep_again(entry);
                shared.look_at_timers(keeper, is_first);
            }
            Err(post) => drop_safely(post),
        }
    }
}
