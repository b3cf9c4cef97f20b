//! What a worker does under the policies with one queue of events for each core:
//! the same turns, but an event is taken from the queue under its lock, and its
//! color owned, for that one event.

use mely_sched::{Event as _, List, Ticketed};

use super::Worker;
use crate::event::Event;
use crate::machine::lock_time::LockTimer;
use crate::machine::probe::{self, Work};
use crate::shared::fifo::Fifo;
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, Posted};

impl Worker {
    /// Posts to the queue of the color's home.
    #[cold]
    pub(super) fn post_event(&self, color: ColorRef, event: Event) -> Result<(), Event> {
        let posted = Posted::new(color, event);
        if let Some(appended) = self.lock_timed(1, |timer| self.shared.append(timer, posted))? {
            self.shared.announce(&appended);
        }
        Ok(())
    }

    /// Posts the events of a color that was made ready whole.
    #[cold]
    pub(super) fn scatter(&self, color: Ready) {
        let color = match color {
            Ready::Color(color) => color,
            Ready::Fresh(event) => self.make_fresh(event),
        };
        let (reference, events) = (color.to_ref(), List::new());
        while let Some(event) = color.pop(|_| ()) {
            events.push_back(event);
        }
        // Whoever takes the first event owns the color: it must be idle before.
        drop(color);
        while let Some(event) = events.pop_front() {
            let posted = self.post_event(reference.clone(), event);
            posted.unwrap_or_else(|refused| self.shed(refused));
        }
    }

    /// Takes the oldest event, as the owner of its color for this event.
    #[cold]
    pub(super) fn next_event(&self) -> Option<Ticketed<Ready>> {
        let own = &self.remote().fifo;
        loop {
            let (posted, exposed) = self.lock_timed(1, |timer| {
                own.with(timer, |events| (events.pop(), events.exposed()))
            });
            let posted = posted?;
            if exposed {
                self.shared.wake_for_events();
            }
            self.costs.weigh_new(posted.event());
            match posted.claim() {
                // The queue itself has the order.
                Ok(color) => return Some(Ticketed::new(0, Ready::Color(color))),
                Err((refused, poisoned)) => {
                    let before = self.drops_of_poisoned.replace(poisoned);
                    self.shed(refused);
                    self.drops_of_poisoned.set(before);
                }
            }
        }
    }

    /// Whether an event waits on this core. Takes the lock: who finds nothing after
    /// it lay down is seen by whoever posts later.
    pub(super) fn has_events(&self) -> bool {
        let own = &self.remote().fifo;
        self.lock_timed(1, |timer| own.with(timer, |events| !events.is_empty()))
    }

    /// Moves what may be stolen from `victim` to the queue of this core (seed 000,
    /// figure 2). Returns whether that was anything.
    ///
    /// Both locks are held for all of it, unlike in the paper: a poster that came
    /// after the color had left one queue and before it was in the other would pass
    /// its own earlier events.
    pub(super) fn steal_events(&self, victim: usize) -> bool {
        let start = self.shared.clock.cycles();
        probe::work(Work::Steal, 1);
        let by_batch = self.shared.config.heuristics.batch_steal;
        let (mut events, mut cycles) = (0, 0);
        let of = |worker: usize| (worker, &self.shared.remotes[worker].fifo);
        let steal = |timer: &mut LockTimer<'_>| {
            Fifo::with_both(timer, of(victim), of(self.index), |theirs, own| {
                let waited = !theirs.is_empty();
                let mut stolen = theirs.steal(by_batch);
                probe::work(Work::Scan, stolen.scanned as u64);
                for posted in stolen.events.drain(..) {
                    posted.set_home(self.here.worker);
                    self.costs.weigh_new(posted.event());
                    events += 1;
                    cycles += u64::from(posted.event().time_left_cycles());
                    own.push(posted);
                }
                (waited, stolen, own.can_be_stolen())
            })
        };
        let (waited, stolen, can_be_stolen) = self.lock_timed(2, steal);
        let counts = &self.remote().counts;
        counts.scanned_events.add(stolen.scanned as u64);
        if events == 0 {
            counts.steal_misses.add(u64::from(waited));
            return false;
        }
        counts.stolen_events.add(events);
        // These policies know no penalties.
        counts.stolen_cost_cycles.add(cycles);
        self.count_steal(start, stolen.colors, cycles);
        if can_be_stolen {
            self.shared.wake_for_events();
        }
        true
    }

    /// Drops what waits on this core when the runtime has stopped.
    pub(super) fn abandon_events(&self) {
        for posted in self.remote().fifo.shut_down() {
            posted.abandon();
        }
    }
}
