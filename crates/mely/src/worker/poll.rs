//! The outside world, as a worker sees it: descriptors and timers.

use std::time::Duration;

use super::{POLL_INTERVAL_CYCLES, Worker};
use crate::event::Event;
use crate::machine::affinity::{Footing, Found};
use crate::machine::driver::ReadyList;
use crate::shared::ready::Ready;
use crate::shared::timers::Due;
use crate::shared::{ColorRef, OwnedColor, Phase};

/// How many timers are fired before a worker runs something else: a quarter of a
/// millisecond of them.
const FIRED_MAX: u32 = 512;

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

    /// Looks at timers and descriptors without waiting. Whether a descriptor was ready.
    pub(super) fn poll(&self) -> bool {
        let mut found = 0;
        self.until_poll_cycles.set(POLL_INTERVAL_CYCLES);
        self.look_at_core(Footing::work_on);
        self.look_at_notes();
        if self.shared.idle.hint().any() {
            self.shared.fade_steal_cost();
        }
        let remote = self.remote();
        let running = self.shared.phase() == Phase::Running;
        if remote.driver.has_sources() {
            let mut ready = self.ready_list.take();
            remote.driver.wait(&mut ready, Some(Duration::ZERO));
            found = self.dispatch(ready, running);
        }
        self.fire_timers(running);
        remote.counts.ready_colors.set(
            (self.private_colors() + remote.offered() + remote.held() + remote.fifo.colors())
                as u64,
        );
        found > 0
    }

    /// Keeps what its thread was given.
    pub(crate) fn take_footing(&self, footing: Option<Footing>, core: Option<usize>) {
        self.remote().cpu.set(core);
        self.footing.replace(footing);
    }

    /// Looks at the core that it runs on: to keep it while it works, or to let go of it
    /// before it sleeps.
    #[inline]
    pub(super) fn look_at_core(&self, look: impl Fn(&mut Footing) -> Option<Found>) {
        let mut footing = self.footing.borrow_mut();
        let Some(footing) = footing.as_mut() else {
            return;
        };
        let found = look(footing);
        let is_shared = footing.is_shared();
        if self.shares_core.replace(is_shared) != is_shared {
            self.shared.note_sharing(is_shared);
        }
        let Some(found) = found else { return };
        let remote = self.remote();
        remote.cpu.set(match found {
            Found::Pinned(core) => Some(core),
            Found::Free | Found::FreeForGood => None,
        });
        if found == Found::FreeForGood {
            remote.counts.pins_let_go.add(1);
        }
    }

    /// Posts what is ready, and says how much that was; ignores it when the runtime drains.
    pub(super) fn dispatch(&self, mut ready: ReadyList, running: bool) -> usize {
        let remote = self.remote();
        let mut posted = 0;
        if running && !ready.is_empty() {
            posted = remote.driver.dispatch(&mut ready);
            remote.counts.readiness.add(posted as u64);
        }
        ready.clear();
        self.ready_list.replace(ready);
        posted
    }

    /// Posts the events of the timers that are due; cancels all when the runtime
    /// drains.
    pub(super) fn fire_timers(&self, running: bool) {
        let remote = self.remote();
        if !remote.timers.any() {
            return;
        }
        if !running {
            return remote.timers.cancel_all(false);
        }
        let now = self.shared.clock.now();
        let post = |color: &ColorRef, event: Event| {
            color.reserve_always();
            self.costs.weigh_new(&event);
            self.post(color, event)
        };
        for _ in 0..FIRED_MAX {
            match remote.timers.fire(now, post) {
                Some(Due::Posted(_color)) => remote.counts.timers_fired.add(1),
                Some(Due::Refused(_color, event)) => self.shed(event),
                Some(Due::NotPosted) => {}
                None => return,
            }
        }
        self.until_poll_cycles.set(0);
    }
}
