//! Timers of a worker: events that are posted when their time has come.

use core::cmp::{Ordering as Order, Reverse};
use core::fmt;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::event::Event;
use crate::machine::panics::{drop_refused, drop_safely};
use crate::machine::probe;
use crate::machine::sync::{Arc, Mutex, lock};
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
        shared.remotes[*keeper]
            .timers_cancelled
            .fetch_add(1, Relaxed);
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

    /// What to post, unless the timer has been cancelled.
    pub(crate) fn fire(self) -> Option<(ColorRef, Event)> {
        self.timer.take()
    }

    /// Drops the event because there are too many timers.
    pub(crate) fn shed(self) {
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

/// The timers of a worker, soonest first.
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
    next_sequence: u64,
    timers_max: usize,
}

impl Timers {
    pub(crate) fn new(timers_max: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            next_sequence: 0,
            timers_max,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds a timer; gives it back if there are as many as there may be.
    pub(crate) fn add(&mut self, delayed: Delayed) -> Result<(), Delayed> {
        if self.heap.len() >= self.timers_max {
            return Err(delayed);
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.heap.push(Reverse(Entry { sequence, delayed }));
        Ok(())
    }

    /// Takes the next timer whose time has come, cancelled or not.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Delayed> {
        let due = self.heap.peek().is_some_and(|e| e.0.delayed.at <= now);
        due.then(|| self.heap.pop()).flatten().map(|e| e.0.delayed)
    }

    /// When the next timer is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.delayed.at)
    }

    /// Takes all timers.
    pub(crate) fn take_all(&mut self) -> Vec<Delayed> {
        let all = std::mem::take(&mut self.heap);
        all.into_iter().map(|entry| entry.0.delayed).collect()
    }

    /// Drops the cancelled timers, which hold nothing of the program's any more, once
    /// they are most of the heap; `cancelled` counts them.
    pub(crate) fn tidy(&mut self, cancelled: &AtomicUsize) {
        // Relaxed: a hint; a timer that was dropped meanwhile is counted once too often,
        // and the next tidying comes a little early.
        let count = cancelled.load(Relaxed);
        if count >= CANCELLED_MIN && count >= self.heap.len() / 2 {
            cancelled.store(0, Relaxed);
            self.heap.retain(|entry| entry.0.delayed.timer.is_pending());
        }
    }
}
