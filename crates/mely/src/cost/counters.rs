//! Counters that one thread writes and any thread reads.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A counter with a single writer: an increment costs no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds, from the one thread that writes.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // Relaxed: the writer reads its own last store. Release pairs with the
        // acquire of `get`: who sees a count sees what was counted.
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Release);
    }

    /// Adds, from any thread, to a counter that no thread uses `add` on.
    pub(crate) fn add_shared(&self, more: u64) {
        self.0.fetch_add(more, Release);
    }

    /// Sets, from the one thread that writes.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Release);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// What happened to events, counted by whoever made it happen.
#[derive(Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) posted: Count,
    pub(crate) run: Count,
    pub(crate) shed: Count,
    pub(crate) cancelled: Count,
    pub(crate) abandoned: Count,
}

/// How long a worker has slept, in one word: who looks on sees that grow, whenever it is.
#[derive(Debug, Default)]
pub(crate) struct Sleep(Count);

impl Sleep {
    /// The rest of the word is when the worker would have lain down for all that it has slept.
    const SLEEPS: u64 = 1 << 63;

    /// It lies down.
    pub(crate) fn begin(&self, now_cycles: u64) {
        let as_if_since = now_cycles.saturating_sub(self.0.get());
        self.0.set(as_if_since | Self::SLEEPS);
    }

    /// It gets up.
    pub(crate) fn end(&self, now_cycles: u64) {
        let (slept_cycles, _) = self.look(|| now_cycles);
        self.0.set(slept_cycles);
    }

    /// How long it has slept, and whether it sleeps now.
    pub(crate) fn look(&self, now_cycles: impl FnOnce() -> u64) -> (u64, bool) {
        let word = self.0.get();
        match word & Self::SLEEPS != 0 {
            true => (now_cycles().saturating_sub(word & !Self::SLEEPS), true),
            false => (word, false),
        }
    }
}

/// What a worker counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerCounts {
    pub(crate) events: EventCounts,
    /// Events that were run, with those of the turn that is being run: told to whoever
    /// gets an answer of one of them. 0, or no less than what has been counted as run.
    pub(crate) run_ahead: Count,
    /// One more than `turns` was, when an event was last told that a reply is not there yet.
    pub(crate) awaits: Count,
    pub(crate) pins_let_go: Count,
    pub(crate) panics: Count,
    pub(crate) turns: Count,
    pub(crate) steals: Count,
    pub(crate) steal_misses: Count,
    pub(crate) steal_cycles: Count,
    pub(crate) scanned_events: Count,
    pub(crate) stolen_colors: Count,
    pub(crate) stolen_events: Count,
    pub(crate) stolen_cycles: Count,
    pub(crate) stolen_cost_cycles: Count,
    pub(crate) lock_cycles: Count,
    pub(crate) lock_wait_cycles: Count,
    pub(crate) locks: Count,
    pub(crate) parks: Count,
    pub(crate) sleep: Sleep,
    pub(crate) wakes: Count,
    pub(crate) timers_fired: Count,
    pub(crate) readiness: Count,
    /// How often others did what waited behind it; the monitor alone counts.
    pub(crate) takeovers: Count,
    /// Colors ready on the core, at the last turn.
    pub(crate) ready_colors: Count,
    /// Which handler is running, as `HandlerId::index`; 0 between events.
    pub(crate) running: Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_seen_while_it_lasts() {
        let sleep = Sleep::default();
        assert_eq!(sleep.look(|| 500), (0, false));
        sleep.begin(1_000);
        assert_eq!(sleep.look(|| 1_030), (30, true));
        sleep.end(1_050);
        assert_eq!(sleep.look(|| 9_000), (50, false));
        sleep.begin(2_000);
        assert_eq!(sleep.look(|| 2_007), (57, true));
    }
}
