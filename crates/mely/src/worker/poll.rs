//! The outside world, as a worker sees it: descriptors and timers.

use std::time::{Duration, Instant};

use super::{POLL_INTERVAL_CYCLES, Worker};
use crate::machine::driver::ReadyList;
use crate::shared::ready::Ready;
use crate::shared::{OwnedColor, Phase};
use crate::worker::timers::Delayed;

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
        if self.shared.idle.hint().any() {
            self.shared.fade_steal_cost();
        }
        let remote = self.remote();
        let running = self.shared.phase() == Phase::Running;
        if remote.driver.has_sources() {
            let mut ready = self.ready_list.take();
            remote.driver.wait(&mut ready, Some(Duration::ZERO));
            self.dispatch(ready, running);
        }
        self.fire_timers(running);
        remote.counts.ready_colors.set(
            (self.ready.len() + remote.offered() + remote.held() + remote.fifo.colors()) as u64,
        );
    }

    /// Posts what is ready; ignores it when the runtime drains.
    pub(super) fn dispatch(&self, mut ready: ReadyList, running: bool) {
        let remote = self.remote();
        if running && !ready.is_empty() {
            let posted = remote.driver.dispatch(&mut ready);
            remote.counts.readiness.add(posted as u64);
        }
        ready.clear();
        self.ready_list.replace(ready);
    }

    /// Keeps a timer until it is due; sheds its event if there are too many.
    pub(crate) fn keep_timer(&self, delayed: Delayed) {
        let cancelled = &self.remote().timers_cancelled;
        self.timers.borrow_mut().tidy(cancelled);
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
