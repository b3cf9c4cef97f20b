//! Timers of a worker: events that are posted when their time has come.

mod delayed;
mod slot;

use core::cmp::{Ordering as Order, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;

pub(crate) use self::delayed::Delayed;
use self::delayed::Found;
pub use self::slot::Timer;
pub(crate) use self::slot::{Fired, Repeating};
use crate::event::Event;
use crate::machine::panics::drop_safely;
use crate::machine::sync::{AtomicBool, Mutex, lock};
use crate::shared::ColorRef;

/// Entries of cancelled timers, and of those that have another one, stay in the heap until
/// they are due, or until they are half of it and more than this many.
const STALE_MIN: usize = 64;

struct Entry {
    /// Equal deadlines fire in the order in which they were set.
    sequence: u64,
    delayed: Delayed,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Order {
        (self.delayed.at, self.sequence).cmp(&(other.delayed.at, other.sequence))
    }
}

/// The timers that a worker keeps. Others fire them where it does not come.
pub(crate) struct Timers {
    kept: Mutex<Option<Kept>>,
    /// Whether there are any: a look that needs no lock.
    any: AtomicBool,
    /// How many entries are of no use any more.
    stale: AtomicUsize,
    /// Whether somebody posts the event of one.
    fires: AtomicBool,
}

#[derive(Default)]
struct Kept {
    /// Soonest first.
    heap: BinaryHeap<Reverse<Entry>>,
    next_sequence: u64,
}

/// The right to post the events of timers, for which nobody waits.
struct Claim<'a>(&'a AtomicBool);

impl<'a> Claim<'a> {
    fn of(taken: &'a AtomicBool) -> Option<Self> {
        // Acquire: what comes next is posted behind what the last one has posted.
        (!taken.swap(true, Acquire)).then_some(Self(taken))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

/// What became of a timer that was due.
pub(crate) enum Due {
    /// Its event was posted to this color.
    Posted(ColorRef),
    /// The color was stopped meanwhile.
    Refused(ColorRef, Event),
    /// It was cancelled, or put off, or its color is gone.
    NotPosted,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            kept: Mutex::new(Some(Kept::default())),
            any: AtomicBool::new(false),
            stale: AtomicUsize::new(0),
            fires: AtomicBool::new(false),
        }
    }

    /// Keeps a timer until it is due; sheds its event if `timers_max` of them are pending.
    /// Whether it is due before all others.
    pub(crate) fn keep(&self, delayed: Delayed, timers_max: usize) -> bool {
        let mut lock = lock(&self.kept);
        let Some(kept) = &mut *lock else {
            drop(lock);
            // The worker has ended: dropping it cancels it.
            drop(delayed);
            return false;
        };
        kept.tidy(&self.stale);
        // Relaxed: who cancels counts it before or after; a few more are kept then.
        if kept.heap.len().saturating_sub(self.stale.load(Relaxed)) >= timers_max {
            drop(lock);
            delayed.shed();
            return false;
        }
        self.push(kept, delayed)
    }

    /// Adds an entry. Whether it is due before all others.
    fn push(&self, kept: &mut Kept, delayed: Delayed) -> bool {
        let (sequence, at) = (kept.next_sequence, delayed.at);
        kept.next_sequence += 1;
        kept.heap.push(Reverse(Entry { sequence, delayed }));
        // Relaxed: who sets a timer of another worker looks whether that sleeps, after
        // this lock; the worker looks here with the lock before it does.
        self.any.store(true, Relaxed);
        kept.next_deadline() == Some(at)
    }

    /// Keeps a timer whose event has come back. Whether it is due before all others.
    fn keep_again(&self, delayed: Delayed) -> bool {
        let mut lock = lock(&self.kept);
        let Some(kept) = &mut *lock else {
            drop(lock);
            // As in `keep`.
            drop(delayed);
            return false;
        };
        self.push(kept, delayed)
    }

    /// Makes a timer due earlier than it was: whether it is before all others then; `None`
    /// if it is over.
    fn bring_forward(&self, timer: &Timer, at: Instant) -> Option<bool> {
        let mut lock = lock(&self.kept);
        let kept = lock.as_mut()?;
        kept.tidy(&self.stale);
        let (entry, is_another) = timer.entry_at(at)?;
        // Relaxed: a hint when to tidy up.
        self.stale.fetch_add(usize::from(is_another), Relaxed);
        Some(entry.is_some_and(|entry| self.push(kept, entry)))
    }

    /// Whether there may be any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// When the next timer is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        lock(&self.kept).as_ref()?.next_deadline()
    }

    /// Posts the event of the next timer, if it is due and nobody else is posting one: of
    /// two who fire the timers none passes the other. What may be the last of something is the
    /// caller's to drop, after that.
    pub(crate) fn fire(
        &self,
        now: Instant,
        post: impl FnOnce(&ColorRef, Event) -> Result<(), Event>,
    ) -> Option<Due> {
        let claim = Claim::of(&self.fires)?;
        let made = match self.take_due(now)? {
            Found::Once(color, event) => Ok((color, event)),
            Found::Every(timer, post, fired) => post
                .event(&timer, fired)
                .map_err(|post| Some((timer, post))),
            Found::Later(_) | Found::Nothing => Err(None),
        };
        match made {
            Ok((color, event)) => {
                let posted = post(&color, event);
                drop(claim);
                Some(match posted {
                    Ok(()) => Due::Posted(color),
                    Err(event) => Due::Refused(color, event),
                })
            }
            Err(over) => {
                drop(claim);
                if let Some((timer, post)) = over {
                    // Its color is gone.
                    timer.cancel_on(None);
                    drop_safely(post);
                }
                Some(Due::NotPosted)
            }
        }
    }

    /// What the next timer whose time has come has to post; one that was put off is kept until
    /// then. Its entry goes before anything is posted: what is posted may keep the timer anew.
    fn take_due(&self, now: Instant) -> Option<Found> {
        let mut lock = lock(&self.kept);
        let kept = lock.as_mut()?;
        let due = kept.next_deadline().is_some_and(|at| at <= now);
        let mut entry = Some(due.then(|| kept.heap.pop()).flatten()?.0.delayed);
        let found = entry
            .as_ref()
            .map_or(Found::Nothing, |entry| entry.take(now));
        match found {
            Found::Later(at) => {
                if let Some(mut entry) = entry.take() {
                    entry.at = at;
                    self.push(kept, entry);
                }
            }
            Found::Nothing => {
                // Relaxed, and no less than 0: a hint.
                let fewer = |stale: usize| stale.checked_sub(1);
                let _ = self.stale.fetch_update(Relaxed, Relaxed, fewer);
            }
            Found::Once(..) | Found::Every(..) => {}
        }
        self.any.store(!kept.heap.is_empty(), Relaxed);
        drop(lock);
        if let (Some(entry), Found::Once(..)) = (&entry, &found) {
            entry.unlist();
        }
        drop(entry);
        Some(found)
    }

    /// Cancels all, and with `for_good` those that come later too.
    pub(crate) fn cancel_all(&self, for_good: bool) {
        let mut lock = lock(&self.kept);
        let kept = match for_good {
            true => lock.take(),
            false => lock.as_mut().map(core::mem::take),
        };
        self.any.store(false, Relaxed);
        drop(lock);
        // Dropping them cancels them.
        drop(kept);
    }
}

impl Kept {
    fn next_deadline(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.delayed.at)
    }

    /// Drops the entries that are of no use, which hold nothing of the program's any more,
    /// once they are most of the heap; `stale` counts them.
    fn tidy(&mut self, stale: &AtomicUsize) {
        // Relaxed: a hint; a timer that was dropped meanwhile is counted once too often,
        // and the next tidying comes a little early.
        let count = stale.load(Relaxed);
        if count >= STALE_MIN && count >= self.heap.len() / 2 {
            stale.store(0, Relaxed);
            self.heap.retain(|entry| entry.0.delayed.is_of_use());
        }
    }
}
