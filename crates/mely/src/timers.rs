//! Timers of a worker: events that are posted when their time has come.

use core::cmp::{Ordering as Order, Reverse};
use core::fmt;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicUsize};
use std::time::Instant;

use crate::cell::ColorRef;
use crate::event::Event;

const PENDING: u8 = 0;
const FIRED: u8 = 1;
const CANCELLED: u8 = 2;

/// Cancelled timers stay in the heap until they are due, or until they are half
/// of it and more than this many.
const CANCELLED_MIN: usize = 64;

struct State {
    state: AtomicU8,
    /// Shared by the timers of a worker.
    cancelled: Arc<AtomicUsize>,
}

/// A delayed event, as [`post_after`](crate::Colored::post_after) returns it.
/// Dropping it lets the timer go on.
#[derive(Clone)]
pub struct Timer(Arc<State>);

impl Timer {
    fn new(state: u8, cancelled: Arc<AtomicUsize>) -> Self {
        let state = AtomicU8::new(state);
        Self(Arc::new(State { state, cancelled }))
    }

    /// A timer that will never fire, because its event was refused.
    pub(crate) fn refused() -> Self {
        Self::new(CANCELLED, Arc::default())
    }

    /// Cancels the event. Returns whether that was in time: `true` means that the
    /// event will not run; `false` that it was posted, or cancelled, before.
    pub fn cancel(&self) -> bool {
        // AcqRel pairs with the one in `fire`: exactly one of the two succeeds.
        let cancelled = self
            .0
            .state
            .compare_exchange(PENDING, CANCELLED, AcqRel, Acquire)
            .is_ok();
        if cancelled {
            // Relaxed: a hint when to tidy up.
            self.0.cancelled.fetch_add(1, Relaxed);
        }
        cancelled
    }

    /// Whether the event is still to come.
    pub fn is_pending(&self) -> bool {
        self.0.state.load(Acquire) == PENDING
    }

    fn fire(&self) -> bool {
        self.0
            .state
            .compare_exchange(PENDING, FIRED, AcqRel, Acquire)
            .is_ok()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("pending", &self.is_pending())
            .finish()
    }
}

/// A timer on its way to the worker that will keep it.
pub(crate) struct Delayed {
    pub(crate) at: Instant,
    pub(crate) color: ColorRef,
    pub(crate) event: Event,
    pub(crate) timer: Timer,
}

impl Delayed {
    /// `cancelled` counts the cancelled timers of the worker that will keep it.
    pub(crate) fn new(
        at: Instant,
        color: ColorRef,
        event: Event,
        cancelled: &Arc<AtomicUsize>,
    ) -> Self {
        Self {
            at,
            color,
            event,
            timer: Timer::new(PENDING, Arc::clone(cancelled)),
        }
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

/// What [`Timers::pop_due`] found.
pub(crate) struct Due {
    /// Timers that were found cancelled on the way.
    pub(crate) cancelled: u64,
    pub(crate) event: Option<(ColorRef, Event)>,
}

/// The timers of a worker, soonest first.
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
    next_sequence: u64,
    cancelled: Arc<AtomicUsize>,
    /// Cancelled timers dropped and not yet reported.
    tidied: u64,
    timers_max: usize,
}

impl Timers {
    pub(crate) fn new(timers_max: usize, cancelled: Arc<AtomicUsize>) -> Self {
        Self {
            heap: BinaryHeap::new(),
            next_sequence: 0,
            cancelled,
            tidied: 0,
            timers_max,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds a timer; gives it back if there are as many as there may be.
    pub(crate) fn add(&mut self, delayed: Delayed) -> Result<(), Delayed> {
        self.tidy();
        if self.heap.len() >= self.timers_max {
            return Err(delayed);
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.heap.push(Reverse(Entry { sequence, delayed }));
        Ok(())
    }

    /// Takes the next event whose time has come.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Due {
        let mut cancelled = std::mem::take(&mut self.tidied);
        while self.heap.peek().is_some_and(|e| e.0.delayed.at <= now) {
            let Some(Reverse(Entry { delayed, .. })) = self.heap.pop() else {
                break;
            };
            if delayed.timer.fire() {
                let event = Some((delayed.color, delayed.event));
                return Due { cancelled, event };
            }
            cancelled += 1;
        }
        let event = None;
        Due { cancelled, event }
    }

    /// When the next timer is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.delayed.at)
    }

    /// Cancels and drops all timers; returns how many events that were.
    pub(crate) fn cancel_all(&mut self) -> u64 {
        let all = std::mem::take(&mut self.heap);
        for entry in &all {
            entry.0.delayed.timer.cancel();
        }
        std::mem::take(&mut self.tidied) + all.len() as u64
    }

    /// Drops the cancelled timers once they are most of the heap.
    fn tidy(&mut self) {
        let cancelled = self.cancelled.load(Relaxed);
        if cancelled < CANCELLED_MIN || cancelled < self.heap.len() / 2 {
            return;
        }
        self.cancelled.store(0, Relaxed);
        let before = self.heap.len();
        self.heap.retain(|entry| entry.0.delayed.timer.is_pending());
        self.tidied += (before - self.heap.len()) as u64;
    }
}
