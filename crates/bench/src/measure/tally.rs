//! Counts events without making threads wait for each other.
//!
//! A counter that all threads share would cost more than many of the events that it
//! counts. So each thread has a slot, and whoever wants the total adds them up.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// More threads than this at a time would share slots, and lose counts.
const SLOTS: usize = 1024;

/// Two cache lines: processors fetch them in pairs.
#[repr(align(128))]
struct Slot(AtomicU64);

static COUNTS: [Slot; SLOTS] = [const { Slot(AtomicU64::new(0)) }; SLOTS];

/// Slots that have ever been used: only these are added up.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Slots of threads that have ended.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

struct Owned(usize);

impl Owned {
    fn take() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the mutex orders it.
        let next = || USED.fetch_add(1, Ordering::Relaxed) % SLOTS;
        Self(free.pop().unwrap_or_else(next))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.0);
    }
}

thread_local! {
    static OWNED: Owned = Owned::take();
    /// The slot without the check that a destructor costs; none is `SLOTS`.
    static AT: Cell<usize> = const { Cell::new(SLOTS) };
}

/// Counts one event.
#[inline]
pub(crate) fn count() {
    let at = AT.get();
    let slot = COUNTS.get(at).unwrap_or_else(|| first());
    // No other thread writes the slot. Release: pairs with `total`, so that who
    // sees the count sees what the event did.
    let count = slot.0.load(Ordering::Relaxed);
    slot.0.store(count + 1, Ordering::Release);
}

#[cold]
fn first() -> &'static Slot {
    let at = OWNED.with(|owned| owned.0);
    AT.set(at);
    &COUNTS[at]
}

/// The events that all threads have counted since the process began.
pub(crate) fn total() -> u64 {
    // Relaxed: a thread that has just come has counted nothing that matters yet.
    let used = USED.load(Ordering::Relaxed).min(SLOTS);
    COUNTS[..used]
        .iter()
        .map(|slot| slot.0.load(Ordering::Acquire))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_leave_their_counts() {
        // Other tests count too: only a lower bound is certain.
        let before = total();
        for _ in 0..3 {
            std::thread::scope(|scope| {
                (0..4).for_each(|_| drop(scope.spawn(|| (0..1000).for_each(|_| count()))));
            });
        }
        assert!(total() - before >= 12_000);
    }
}
