//! Stealing, and what a core does so that others can steal from it.

use mely_sched::{Bundle, CoreQueue, ReadyColor, StealQueue, Ticketed, victims_busiest_first};

use super::Worker;
use crate::machine::lock_time::LockTimer;
use crate::machine::probe::{self, Work};
use crate::queue::held::Claim;
use crate::shared::OwnedColor;
use crate::shared::ready::Ready;
use crate::shared::remote::Remote;

/// A steal that took longer was interrupted, and says nothing of what steals cost.
const STEAL_COST_MAX_CYCLES: u64 = 20_000;

/// For how many turns a worker has one color at the most before it looks for work beside
/// it, and looks again: a look takes a line from each victim, 100 ns, a turn 50 ns or
/// more. A server whose cores are loaded alike is often down to one color for a turn or
/// two; if it stole then, it would carry its connections about.
pub(super) const LOOK_BESIDE_TURNS: u32 = 32;

impl Worker {
    /// Takes colors from another core. Returns whether there is something to run.
    pub(super) fn steal(&self) -> bool {
        let heuristics = self.shared.config.heuristics;
        if self.fifo && self.has_events() {
            return true;
        }
        if !heuristics.steal {
            return false;
        }
        if heuristics.locality {
            self.victims.iter().any(|&victim| self.steal_from(victim))
        } else {
            let remotes = &self.shared.remotes;
            let busiest = |core: usize| remotes[core].offered() + remotes[core].fifo.len();
            victims_busiest_first(self.index, remotes.len(), busiest)
                .any(|victim| self.steal_from(victim))
        }
    }

    /// Takes colors from a core that has much to do, although there is still one here:
    /// it may be one that always posts to itself, and this core would never be idle.
    pub(super) fn steal_beside(&self) {
        let until_look = self.until_look_beside.get();
        if until_look > 0 {
            return self.until_look_beside.set(until_look - 1);
        }
        let offers_much = |&&victim: &&usize| self.shared.remotes[victim].offers_much(&self.worth);
        let busy = self.victims.iter().find(offers_much);
        if let Some(&victim) = busy {
            self.steal_from(victim);
        }
        self.until_look_beside.set(LOOK_BESIDE_TURNS);
    }

    fn steal_from(&self, victim: usize) -> bool {
        if self.fifo {
            return self.steal_events(victim);
        }
        let victim = &self.shared.remotes[victim];
        if !victim.has_stealable_work() {
            return false;
        }
        if self.shares_core.get() && !victim.is_far_behind(&self.worth) {
            return false;
        }
        let start = self.shared.clock.cycles();
        probe::work(Work::Steal, 1);
        let stolen = self
            .steal_offered(victim)
            .or_else(|| self.steal_held(victim))
            .or_else(|| self.steal_mailbox(victim));
        let counts = &self.remote().counts;
        let Some(stolen) = stolen else {
            counts.steal_misses.add(1);
            return false;
        };
        let (colors, time_left) = (stolen.len(), stolen.time_left_cycles());
        self.take_over(stolen);
        self.count_steal(start, colors, time_left);
        true
    }

    /// Takes what a victim offers.
    fn steal_offered(&self, victim: &Remote) -> Option<Bundle<Ready>> {
        if victim.offered() == 0 {
            return None;
        }
        let heuristics = self.shared.config.heuristics;
        self.with_offers(victim, |offers| match heuristics.time_left {
            true => offers.steal_longest(heuristics.batch_steal),
            false => offers.steal_first_below_half(victim.counts.running.get() != 0),
        })
    }

    /// Takes about half of what a long event holds back on a victim, a bundle at the
    /// most.
    fn steal_held(&self, victim: &Remote) -> Option<Bundle<Ready>> {
        let half = victim.held().div_ceil(2);
        if half == 0 {
            return None;
        }
        let (claim, _) = self.claim_held(victim, half, u64::MAX);
        claim.map(Bundle::from_iter)
    }

    /// Counts a steal that began at `start`, and learns what it cost.
    pub(super) fn count_steal(&self, start: u64, colors: usize, time_left_cycles: u64) {
        let counts = &self.remote().counts;
        counts.steals.add(1);
        counts.stolen_colors.add(colors as u64);
        counts.stolen_cycles.add(time_left_cycles);
        let cycles = self.shared.clock.cycles().saturating_sub(start);
        counts.steal_cycles.add(cycles);
        self.learn_steal_cost(cycles);
    }

    /// Queues stolen colors here. The first is run next; of the others those that are
    /// worth a steal are offered to the next thief.
    ///
    /// No color is touched: its cache line is still on the victim's core, and comes
    /// when it is fetched ahead. What is to be done to it is done when it runs, by
    /// [`settle_stolen`](Self::settle_stolen).
    fn take_over(&self, mut stolen: Bundle<Ready>) {
        let counts = &self.remote().counts;
        // A color whose events all wait in its inbox has at least one.
        let events = |color: &Ticketed<Ready>| u64::from(color.events().max(1));
        counts.stolen_events.add(stolen.iter().map(events).sum());
        counts.stolen_cost_cycles.add(stolen.time_left_cycles());
        if let Some(first) = stolen.pop() {
            let first = first.at(self.next_ticket());
            self.ready.with(|ready| ready.push(first));
        }
        if stolen.is_empty() {
            return;
        }
        let is_worthy = |color: &Ticketed<Ready>| {
            let interval = self.worthy_interval(color.time_left_cycles());
            interval.is_some()
        };
        if !stolen.iter().any(is_worthy) {
            self.ready.with(|ready| {
                while let Some(color) = stolen.pop() {
                    ready.push(color.at(self.next_ticket()));
                }
            });
            return;
        }
        let remote = self.remote();
        self.with_offers(remote, |offers| {
            while let Some(color) = stolen.pop() {
                let color = color.at(self.next_ticket());
                match self.worthy_interval(color.time_left_cycles()) {
                    Some(interval) => offers.push(color, interval),
                    None => self.ready.with(|ready| ready.push(color)),
                }
            }
        });
        if self.shared.is_worth_a_wake(remote, &self.worth) {
            self.shared.wake_a_thief();
        }
    }

    /// Makes a color that was stolen, and now runs for the first time since, this
    /// core's own.
    #[cold]
    pub(super) fn settle_stolen(&self, color: &OwnedColor) {
        color.set_home(self.here.worker);
        self.take_inbox(color);
        if self.shared.config.heuristics.penalty {
            // It was counted with what the penalty has left of it.
            let time_left = color.time_left_cycles();
            let undivided = color.first_handler().map_or(time_left, |id| {
                self.costs.undivided_cycles(id, color.len(), time_left)
            });
            let counts = &self.remote().counts;
            counts
                .stolen_cost_cycles
                .add(undivided.saturating_sub(time_left));
        }
    }

    /// Takes what was sent to a core that is held up by a long event.
    fn steal_mailbox(&self, victim: &Remote) -> Option<Bundle<Ready>> {
        let sent = victim.mailbox.take();
        let mut stolen = Bundle::new();
        while let Some(color) = sent.pop_front() {
            if color.is_pinned() {
                self.shared.send_back(color);
            } else {
                // They get their places when they are taken over.
                stolen.push(Ticketed::new(0, Ready::Color(color)));
            }
        }
        (!stolen.is_empty()).then_some(stolen)
    }

    fn learn_steal_cost(&self, cycles: u64) {
        let mut cost = self.steal_cost.get();
        cost.sample(cycles.min(STEAL_COST_MAX_CYCLES));
        self.steal_cost.set(cost);
        if let Some(mean) = cost.mean() {
            self.shared.set_steal_cost_cycles(u64::from(mean));
        }
    }

    /// Offers about half of the short colors to cores that have nothing to do.
    pub(super) fn share_with_idle_cores(&self) {
        let idle = self.shared.idle.hint();
        let colors = self.private_colors();
        if !idle.any() || colors < 2 {
            return;
        }
        let cycles = self.ready.with(CoreQueue::time_left_cycles);
        if self.shared.do_all_share() && !self.worth.worth_a_slice(cycles) {
            return;
        }
        let mut share = self.worth.colors_to_share(
            colors,
            cycles,
            self.shared.steal_cost_cycles(),
            idle.searching() > 0,
        );
        if share == 0 || self.remote().offered() > 0 {
            if self.oldest_held.get() != u64::MAX
                && self.shared.is_worth_a_wake(self.remote(), &self.worth)
            {
                self.shared.wake_a_thief();
            }
            return;
        }
        self.with_offers(self.remote(), |offers| {
            while share > 0 {
                let Some(bundle) = self.ready.with(|ready| ready.take_newest(share)) else {
                    break;
                };
                share -= bundle.len();
                offers.push_bundle(bundle);
            }
        });
        self.shared.wake_a_thief();
    }

    /// Ends the search that this worker was woken for, now that it has work; the
    /// last to search passes the search on if there is more.
    pub(super) fn end_search(&self) {
        self.searching.set(false);
        if self.shared.idle.found_work() && self.shared.has_work_worth_a_wake(&self.worth) {
            self.shared.wake_a_thief();
        }
    }

    /// Works on the offers of a worker, counting the time.
    pub(super) fn with_offers<R>(
        &self,
        remote: &Remote,
        work: impl FnOnce(&mut StealQueue<Ready>) -> R,
    ) -> R {
        self.lock_timed(1, |timer| remote.with_offers(timer, work))
    }

    /// Claims what a worker holds back, counting the time: see [`Remote::claim_held`].
    pub(super) fn claim_held(
        &self,
        remote: &Remote,
        colors: usize,
        before: u64,
    ) -> (Option<Claim<Ticketed<Ready>>>, u64) {
        self.lock_timed(1, |timer| remote.claim_held(timer, colors, before))
    }

    /// Does something under so many locks, counting them and the time that waiting for
    /// them and all the rest took.
    #[inline]
    pub(super) fn lock_timed<R>(
        &self,
        locks: u64,
        work: impl FnOnce(&mut LockTimer<'_>) -> R,
    ) -> R {
        let mut timer = LockTimer::begin(&*self.shared.clock, self.reading_cycles);
        let result = work(&mut timer);
        let counts = &self.remote().counts;
        counts.locks.add(locks);
        timer.end(|waiting, working| {
            counts.lock_wait_cycles.add(waiting);
            counts.lock_cycles.add(working);
        });
        result
    }
}
