//! Running: one turn of one color.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mely_sched::ReadyColor;

use super::{POLL_INTERVAL_CYCLES, TURN_CYCLES, Worker};
use crate::builder::OnPanic;
use crate::cell::OwnedColor;
use crate::context::Context;
use crate::event::Event;
use crate::handler::HandlerId;
use crate::panics::drop_safely;
use crate::shared::Phase;

/// Every how many turns all events of the turn are timed.
///
/// Two reads of the counter cost 16–20 ns; at one turn in 16 that is about 1 ns a
/// turn, while a cost that changes is followed within some hundred turns.
const SAMPLE_TURNS: u64 = 16;

/// How many turns ahead the line of a color is fetched into the cache.
///
/// A line takes 70 ns from the shared cache and 120 ns from another core; a turn of
/// a short event some 40 ns.
const PREFETCH_COLORS: usize = 8;

/// How many turns ahead the line of its first event follows, for which the color's
/// own must have come.
const PREFETCH_EVENTS: usize = 4;

/// Lends the color that a turn keeps on its stack.
///
/// Only [`Worker::run_turn`] stores such a pointer, and it clears it before the
/// color goes away.
pub(super) fn lend<'a>(color: NonNull<OwnedColor>) -> &'a OwnedColor {
    // SAFETY: `Running` below keeps the pointer stored only while the color lives.
    unsafe { color.as_ref() }
}

/// Marks a color as the running one for as long as this lives.
struct Running<'a>(&'a Cell<Option<NonNull<OwnedColor>>>);

impl<'a> Running<'a> {
    fn mark(cell: &'a Cell<Option<NonNull<OwnedColor>>>, color: &'a OwnedColor) -> Self {
        cell.set(Some(NonNull::from(color)));
        Self(cell)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Worker {
    /// Runs up to a batch of events of a color, and queues it again if more wait.
    pub(super) fn run_turn(&self, color: OwnedColor) {
        let turn = self.turns.get().wrapping_add(1);
        self.turns.set(turn);
        let remote = self.remote();
        remote.counts.turns.add(1);
        let estimate = i64::try_from(color.time_left_cycles()).unwrap_or(POLL_INTERVAL_CYCLES);
        let until_poll = self.until_poll_cycles.get().saturating_sub(estimate);
        self.until_poll_cycles.set(until_poll - TURN_CYCLES);

        self.ready.look_ahead(PREFETCH_COLORS, OwnedColor::prefetch);
        self.ready
            .look_ahead(PREFETCH_EVENTS, OwnedColor::prefetch_event);
        let left = Cell::new(self.shared.config.batch_threshold);
        if color.is_poisoned() {
            color.discard(|_| remote.counts.events.shed.add(1));
        } else {
            let _running = Running::mark(&self.running, &color);
            let timed = turn.is_multiple_of(SAMPLE_TURNS);
            let batch = || catch_unwind(AssertUnwindSafe(|| self.run_batch(&color, &left, timed)));
            while let Err(panic) = batch() {
                self.after_panic(&color, panic);
                if color.is_poisoned() {
                    break;
                }
            }
            remote.counts.running.set(0);
        }
        let ran = self.shared.config.batch_threshold - left.get();
        remote.counts.events.run.add(u64::from(ran));
        if let Err(color) = color.release() {
            color.take_inbox(|e| self.costs.weigh_new(e));
            self.make_ready(color);
        }
    }

    fn run_batch(&self, color: &OwnedColor, left: &Cell<u32>, timed: bool) {
        let remote = self.remote();
        let context = Context::new(self, color);
        while left.get() > 0 && self.shared.phase() < Phase::Stopped {
            let Some(event) = color.pop(|e| self.costs.weigh_new(e)) else {
                return;
            };
            left.set(left.get() - 1);
            let id = event.handler_id();
            remote.handlers[id.index()]
                .get_or_init(Default::default)
                .events
                .add(1);
            remote.counts.running.set(id.index() as u64);
            if timed || self.costs.needs_attention(id) {
                self.run_with_care(event, id, &context, timed);
            } else {
                // SAFETY: this worker owns the color, whose context this is, and
                // runs one event at a time.
                unsafe { event.run(&context) };
            }
        }
    }

    /// Runs an event that is timed, new, or long.
    fn run_with_care(&self, event: Event, id: HandlerId, context: &Context<'_, ()>, timed: bool) {
        if !self.costs.knows(id) {
            // Another worker looked it up; from now on this one learns its cost too.
            self.costs.weigh(&event);
        }
        let (mean, worst) = self.costs.mean_and_worst_cycles(id);
        let idle = self.shared.idle.hint().any();
        let publish = self.worth.publish_before(mean, worst, idle);
        if publish {
            self.publish_all();
        }
        let timed = timed || publish || self.costs.is_new(id);
        let start = if timed { self.shared.clock.cycles() } else { 0 };
        // SAFETY: as in `run_batch`.
        unsafe { event.run(context) };
        if timed {
            let cycles = self.shared.clock.cycles().saturating_sub(start);
            if let Some(counts) = self.remote().handlers[id.index()].get() {
                self.costs.sample(id, cycles, counts);
            }
        }
        if publish {
            self.end_long_event();
        }
    }

    /// Counts a panic, and does what the runtime was told to do after one.
    fn after_panic(&self, color: &OwnedColor, panic: Box<dyn std::any::Any + Send>) {
        self.end_long_event();
        let remote = self.remote();
        remote.counts.panics.add(1);
        let running = usize::try_from(remote.counts.running.get()).unwrap_or(0);
        if let Some(counts) = remote.handlers[running].get() {
            counts.panics.add(1);
        }
        match self.shared.config.on_panic {
            OnPanic::Continue => {}
            OnPanic::PoisonColor => color.poison(),
            OnPanic::Abort => std::process::abort(),
        }
        drop_safely(panic);
    }
}
