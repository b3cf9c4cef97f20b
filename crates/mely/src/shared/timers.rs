//! Timers of a worker: events that are posted when their time has come.

use core::cmp::{Ordering as Order, Reverse};
use core::fmt;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;

use crate::event::Event;
use crate::machine::panics::{drop_refused, drop_safely};
use crate::machine::probe;
use crate::machine::sync::{Arc, AtomicBool, Mutex, lock};
use crate::shared::{ColorRef, Shared};

/// Cancelled timers stay in the heap until they are due, or until they are half
/// of it and more than this many.
const CANCELLED_MIN: usize = 64;

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct State {
    /// What to post. Whoever takes it has fired or cancelled the timer: one of them
    /// gets it, and what a cancelled event holds goes at once.
    post: Mutex<Option<(ColorRef, Event)>>,
    shared: Arc<Shared>,
    /// The worker that keeps the timer.
    keeper: usize,
}

/// A delayed event, as [`post_after`](crate::Colored::post_after) returns it.
/// Dropping it lets the timer go on.
#[derive(Clone)]
pub struct Timer(Arc<State>);

impl Timer {
    fn new(post: Option<(ColorRef, Event)>, shared: &Arc<Shared>, keeper: usize) -> Self {
        let state = Arc::new(State {
            post: Mutex::new(post),
            shared: Arc::clone(shared),
            keeper,
        });
        probe::born(Arc::as_ptr(&state));
        Self(state)
    }

    /// A timer whose event was refused: it will never fire.
    pub(crate) fn refused(shared: &Arc<Shared>) -> Self {
        Self::new(None, shared, 0)
    }

    /// A timer that worker `keeper` will keep.
    pub(crate) fn pending(
        shared: &Arc<Shared>,
        keeper: usize,
        color: ColorRef,
        event: Event,
    ) -> Self {
        Self::new(Some((color, event)), shared, keeper)
    }

    /// Cancels the event, and drops it. Returns whether that was in time: `true` means
    /// that the event will not run; `false` that it was posted, or cancelled, before.
    pub fn cancel(&self) -> bool {
        let State { shared, keeper, .. } = &*self.0;
        let Some(post) = self.take() else {
            return false;
        };
        shared.outside_counts.cancelled.add_shared(1);
        // Relaxed: a hint when to tidy up.
        let timers = &shared.remotes[*keeper].timers;
        timers.cancelled.fetch_add(1, Relaxed);
        drop_safely(post);
        true
    }

    /// Whether the event is still to come.
    pub fn is_pending(&self) -> bool {
        lock(&self.0.post).is_some()
    }

    fn take(&self) -> Option<(ColorRef, Event)> {
        lock(&self.0.post).take()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("pending", &self.is_pending())
            .finish()
    }
}

/// A timer that is kept. Dropping it cancels the timer, if it has not fired.
pub(crate) struct Delayed {
    at: Instant,
    timer: Timer,
}

impl Delayed {
    pub(crate) fn new(at: Instant, timer: Timer) -> Self {
        Self { at, timer }
    }

    /// Drops the event because there are too many timers.
    fn shed(self) {
        if let Some(post) = self.timer.take() {
            self.timer.0.shared.outside_counts.shed.add_shared(1);
            drop_refused(post);
        }
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.timer.cancel();
    }
}

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
    /// How many have been cancelled and not dropped yet.
    cancelled: AtomicUsize,
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
    Cancelled,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            kept: Mutex::new(Some(Kept::default())),
            any: AtomicBool::new(false),
            cancelled: AtomicUsize::new(0),
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
        kept.tidy(&self.cancelled);
        // Relaxed: who cancels counts it before or after; a few more are kept then.
        if kept.heap.len().saturating_sub(self.cancelled.load(Relaxed)) >= timers_max {
            drop(lock);
            delayed.shed();
            return false;
        }
        let (sequence, at) = (kept.next_sequence, delayed.at);
        kept.next_sequence += 1;
        kept.heap.push(Reverse(Entry { sequence, delayed }));
        // Relaxed: who sets a timer of another worker looks whether that sleeps, after
        // this lock; the worker looks here with the lock before it does.
        self.any.store(true, Relaxed);
        kept.next_deadline() == Some(at)
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
    /// two who fire the timers none passes the other. No lock is held meanwhile, as the end
    /// of the runtime may have `post` drop the event.
    pub(crate) fn fire(&self, now: Instant, post: impl FnOnce(&ColorRef, Event)) -> Option<Due> {
        let _claim = Claim::of(&self.fires)?;
        let delayed = self.take_due(now)?;
        let Some((color, event)) = delayed.timer.take() else {
            // Relaxed, and no less than 0: a hint.
            let fewer = |cancelled: usize| cancelled.checked_sub(1);
            let _ = self.cancelled.fetch_update(Relaxed, Relaxed, fewer);
            return Some(Due::Cancelled);
        };
        post(&color, event);
        Some(Due::Posted(color))
    }

    /// Takes the next timer whose time has come, cancelled or not.
    fn take_due(&self, now: Instant) -> Option<Delayed> {
        let mut lock = lock(&self.kept);
        let kept = lock.as_mut()?;
        let due = kept.next_deadline().is_some_and(|at| at <= now);
        let delayed = due.then(|| kept.heap.pop()).flatten()?.0.delayed;
        self.any.store(!kept.heap.is_empty(), Relaxed);
        Some(delayed)
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

    /// Drops the cancelled timers, which hold nothing of the program's any more, once
    /// they are most of the heap; `cancelled` counts them.
    fn tidy(&mut self, cancelled: &AtomicUsize) {
        // Relaxed: a hint; a timer that was dropped meanwhile is counted once too often,
        // and the next tidying comes a little early.
        let count = cancelled.load(Relaxed);
        if count >= CANCELLED_MIN && count >= self.heap.len() / 2 {
            cancelled.store(0, Relaxed);
            self.heap.retain(|entry| entry.0.delayed.timer.is_pending());
        }
    }
}
