//! What a worker does around an event that may be long: nothing may wait for it that
//! another core could run.

use std::sync::atomic::Ordering::Release;

use mely_sched::Ticketed;

use super::Worker;
use crate::shared::ready::Ready;
use crate::shared::remote::offer_all;

impl Worker {
    /// Offers everything before an event that may keep this core for long: the
    /// short colors, and what others send meanwhile.
    pub(super) fn publish_all(&self) {
        let remote = self.remote();
        // Release, and the read-modify-write of the mailbox after it: who pushes
        // later sees the flag, what was pushed earlier is taken here.
        remote.busy_long.store(true, Release);
        self.holding.set(true);
        if !remote.mailbox.touch_empty() {
            self.take_mailbox();
        }
        if self.shared.config.heuristics.learn {
            self.ready.visit(|ready| {
                if !ready.is_empty() {
                    self.with_offers(remote, |offers| offer_all(ready, offers));
                }
            });
        }
        if remote.offered() > 0 {
            self.shared.wake_a_thief();
        }
    }

    /// Offers a short color that became ready behind a long event: it must not wait
    /// for that to end while another core has nothing to do.
    #[inline(always)]
    pub(super) fn keep_while_holding(&self, color: Ticketed<Ready>) {
        let held = self.held.as_ref();
        let Some(held) = held.filter(|_| self.shared.config.heuristics.learn) else {
            self.ready.visit(|ready| ready.push(color));
            return;
        };
        held.give(color);
        // After the exchange in `give`: a worker that lies down now finds the color.
        if self.shared.idle.hint().sleeping() > 0 {
            self.shared.wake_a_thief();
        }
    }

    pub(super) fn end_long_event(&self) {
        self.holding.set(false);
        // Release: only that the flag is not seen before what came before it.
        self.remote().busy_long.store(false, Release);
        if self.held.as_ref().is_some_and(|held| !held.is_empty()) {
            let (_, oldest) = self.claim_held(self.remote(), 0, 0);
            self.oldest_held.set(oldest);
        }
    }
}
