//! How turns end: with a color that goes on later or is given up, with a panic, or because the
//! color was stopped.

use super::Worker;
use crate::cell::OnPanic;
use crate::event::Event;
use crate::machine::panics::{drop_refused, drop_safely};
use crate::machine::way_out::tell_way_out;
use crate::shared::colors::POLL_COLOR;
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, OwnedColor};

impl Worker {
    /// Queues a color again if more of its events wait, and gives it up if not.
    #[inline]
    pub(super) fn end_turn(&self, color: OwnedColor) {
        if let Some(color) = self.give_up(color) {
            self.make_ready(Ready::Color(color));
        }
    }

    /// Whether the color that is being run has posted to itself what is its only event.
    pub(super) fn has_next(&self) -> bool {
        let next = self.next.take();
        let has_next = next.is_some();
        self.next.set(next);
        has_next
    }

    /// Gives up a color that has no events, or was stopped; gives it back if more of them wait.
    #[inline(always)]
    pub(super) fn give_up(&self, color: OwnedColor) -> Option<OwnedColor> {
        if let Some(next) = self.next.take() {
            color.put_back(next);
        }
        let Err(color) = color.release(self.cells()) else {
            return None;
        };
        if color.has_posts() && color.is_stopped() {
            self.end_stopped(color);
            return None;
        }
        self.take_inbox(&color);
        Some(color)
    }

    /// Gives up a color that was stopped, with what is pending.
    #[cold]
    pub(super) fn end_stopped(&self, color: OwnedColor) {
        self.shed_pending(&color);
        drop(color);
    }

    /// Counts a panic, and does what the runtime was told to do after one. Whether the
    /// color has been stopped, by that or before.
    pub(super) fn after_panic(&self, panic: Box<dyn std::any::Any + Send>) -> bool {
        self.ready.take_back();
        tell_way_out(&*panic);
        self.end_trace_by_panic();
        self.end_long_event();
        let remote = self.remote();
        remote.counts.panics.add(1);
        let running = usize::try_from(remote.counts.running.get()).unwrap_or(0);
        if let Some(counts) = remote.handlers.get(running) {
            counts.panics.add(1);
        }
        let (color, of_runtime) = (self.running.lend(), self.shared.config.on_panic);
        match color.map_or(of_runtime, |color| color.after_panic(of_runtime)) {
            OnPanic::Continue | OnPanic::PoisonState => {}
            OnPanic::PoisonColor => {
                // All readiness goes through the color of a single reactor.
                let poll = self
                    .shared
                    .single()
                    .is_some()
                    .then_some(u64::from(POLL_COLOR));
                if let Some(color) = color.filter(|color| Some(color.id()) != poll) {
                    color.poison();
                    self.shed_of_running(&color);
                }
            }
            OnPanic::Abort => std::process::abort(),
        }
        drop_safely(panic);
        let color = self.running.lend();
        color.is_none_or(|color| color.is_stopped())
    }

    /// Begins the turn of a color that others have posted to, or stopped.
    pub(super) fn meet_posts(&self, color: &OwnedColor) {
        match color.is_stopped() {
            true => self.shed_pending(color),
            false => self.fetch_inboxes(),
        }
    }

    /// Drops the pending events of a color that was stopped.
    #[cold]
    pub(super) fn shed_pending(&self, color: &OwnedColor) {
        let before = self.drops_of_poisoned.replace(color.borrow().is_poisoned());
        color.discard(|_| self.remote().counts.events.shed.add(1));
        self.drops_of_poisoned.set(before);
    }

    /// Whether what it drops right now are events of a color that a panic has poisoned: who
    /// waits for their answers is told.
    pub(crate) fn drops_of_poisoned(&self) -> bool {
        self.drops_of_poisoned.get()
    }

    /// Drops an event of a color that was stopped.
    #[cold]
    pub(crate) fn shed(&self, refused: Event) {
        self.shared.count_shed(self.poster());
        drop_refused(refused);
    }

    /// Stops a color: whoever posts to it is refused from now on. If it is the one that is
    /// being run, nothing of what is pending begins.
    pub(crate) fn stop(&self, color: &ColorRef) {
        let owner = color.stop();
        if let Some(running) = self.running_of(color) {
            self.shed_of_running(&running);
        }
        drop(owner);
    }

    /// Drops what is pending of the color that is being run, which was stopped.
    pub(super) fn shed_of_running(&self, running: &OwnedColor) {
        if let Some(next) = self.next.take() {
            running.put_back(next);
        }
        self.shed_pending(running);
    }
}
