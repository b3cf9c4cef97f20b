//! The outside world, as a worker sees it: descriptors and timers.

use std::time::{Duration, Instant};

use super::{POLL_INTERVAL_CYCLES, Worker};
use crate::affinity::Place;
use crate::cell::OwnedColor;
use crate::reactor::Reactor;
use crate::ready::Ready;
use crate::shared::Phase;
use crate::timers::Delayed;

/// Where a worker sleeps and learns of the outside world.
pub(crate) trait Driver: Send + Sync {
    /// Waits up to `timeout` (`None`: without end) for readiness or a wake-up, and
    /// posts what is ready; with `dispatch` false it ignores what is ready.
    fn wait(&self, timeout: Option<Duration>, dispatch: bool) -> usize;

    /// Ends the current or the next wait, from any thread.
    fn wake(&self);

    /// Whether there is anything that could become ready.
    fn has_sources(&self) -> bool;

    /// The reactor behind it, if it is one.
    fn reactor(&self) -> Option<&Reactor> {
        None
    }
}

impl Worker {
    /// Queues what others sent.
    pub(super) fn take_mailbox(&self) {
        let colors = self.remote().mailbox.take();
        while let Some(color) = colors.pop_front() {
            self.settle_in(color);
        }
    }

    /// Queues a color that comes from elsewhere.
    fn settle_in(&self, color: OwnedColor) {
        self.take_inbox(&color);
        self.make_ready(Ready::Color(color));
    }

    /// Looks at timers and descriptors without waiting.
    pub(super) fn poll(&self) {
        self.until_poll_cycles.set(POLL_INTERVAL_CYCLES);
        self.look_at_place();
        self.shared.end_waiting_colors();
        if self.shared.idle.hint().any() {
            self.shared.fade_steal_cost();
        }
        let remote = self.remote();
        let running = self.shared.phase() == Phase::Running;
        if remote.driver.has_sources() {
            let ready = remote.driver.wait(Some(Duration::ZERO), running);
            remote.counts.readiness.add(ready as u64);
        }
        self.fire_timers(running);
        remote.counts.ready_colors.set(
            (self.ready.len() + remote.offered() + remote.held() + remote.fifo.colors()) as u64,
        );
    }

    /// Keeps what its thread was given.
    pub(crate) fn take_place(&self, place: Option<Place>, core: Option<usize>) {
        self.remote().cpu.set(core);
        self.place.replace(place);
    }

    /// Lets go of the core that others want too.
    #[inline]
    pub(super) fn look_at_place(&self) {
        let mut place = self.place.borrow_mut();
        if place.as_mut().is_some_and(Place::lets_go) {
            *place = None;
            self.remote().cpu.set(None);
            self.remote().counts.pins_let_go.add(1);
        }
    }

    /// Keeps a timer until it is due; sheds its event if there are too many.
    pub(crate) fn keep_timer(&self, delayed: Delayed) {
        let cancelled = &self.remote().timers_cancelled;
        let dropped = self.timers.borrow_mut().tidy(cancelled);
        drop(dropped);
        let refused = self.timers.borrow_mut().add(delayed);
        if let Err(delayed) = refused {
            delayed.shed();
        }
    }

    /// Posts the events of the timers that are due; cancels all when the runtime
    /// drains.
    pub(super) fn fire_timers(&self, running: bool) {
        if self.timers.borrow().is_empty() {
            return;
        }
        let counts = &self.remote().counts;
        if !running {
            let all = self.timers.borrow_mut().take_all();
            drop(all);
            return;
        }
        let now = self.shared.clock.now();
        loop {
            let due = self.timers.borrow_mut().pop_due(now);
            let Some(delayed) = due else { break };
            if let Some((color, event)) = delayed.fire() {
                counts.timers_fired.add(1);
                color.reserve_always();
                self.costs.weigh_new(&event);
                self.post(&color, event);
            }
        }
    }

    /// When the next timer is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.borrow().next_deadline()
    }
}
