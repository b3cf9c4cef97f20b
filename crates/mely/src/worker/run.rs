//! Running: one turn of one color.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mely_sched::{Batch, ReadyColor, Ticketed};

use super::costs::{Costs, Manner};
use super::{POLL_INTERVAL_CYCLES, TURN_CYCLES, Worker};
use crate::builder::OnPanic;
use crate::cell::OwnedColor;
use crate::context::Context;
use crate::event::Event;
use crate::handler::HandlerId;
use crate::panics::drop_safely;
use crate::probe::{self, Work};
use crate::ready::Ready;
use crate::remote::Remote;
use crate::shared::Phase;

/// Every how many turns one event of the turn is timed.
///
/// Two reads of the counter and what is computed from them cost some 40 ns; at one
/// turn in 32 that is about 1 ns a turn, while a cost that changes is followed within
/// some hundred turns.
const SAMPLE_TURNS: u32 = 32;

/// How many turns ahead the line of a color is fetched into the cache.
///
/// A line takes 70 ns from the shared cache and 120 ns from another core; a turn of
/// a short event some 40 ns.
const PREFETCH_COLORS: usize = 8;

/// How many turns ahead the line of its first event follows, for which the color's
/// own must have come.
const PREFETCH_EVENTS: usize = 4;

/// How many turns ahead the line of the state follows, to which the event points.
const PREFETCH_STATES: usize = 1;

/// How many events of an inbox are fetched, one more in each of the turns between
/// that of the color's line and that of its state.
const INBOX_EVENTS: usize = PREFETCH_COLORS - 1 - PREFETCH_STATES;

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

/// What is left of a turn; a panic in the middle does not begin it anew.
struct Turn {
    /// Events that were run, or are being run.
    ran: Cell<u32>,
    /// How many may be.
    limit: Cell<u32>,
    /// The one that is timed, counted from 0.
    timed: u32,
    /// The color ran on another core before: the first event is timed, and tells what
    /// that costs.
    moved: bool,
    /// The color is a fresh one: another may follow it in the same turn.
    fresh: bool,
}

impl Turn {
    /// A turn of a color that has `pending` events now.
    fn new(batch: Batch, pending: u32, sample: Option<u32>, fresh: bool, moved: bool) -> Self {
        // Each sample takes another event, so that handlers that take turns within
        // a color are all timed.
        let timed = sample.map(|number| number % pending.clamp(1, batch.events));
        Self {
            ran: Cell::new(0),
            limit: Cell::new(batch.short_events),
            timed: if moved { 0 } else { timed.unwrap_or(u32::MAX) },
            moved,
            fresh,
        }
    }

    /// Whether the event that is being run is the one to be timed.
    fn is_timed(&self) -> bool {
        self.ran.get() == self.timed.wrapping_add(1)
    }
}

/// The handler whose events are being run in a row, and what is to be known of it.
struct InARow<'a> {
    remote: &'a Remote,
    turn: &'a Turn,
    id: HandlerId,
    /// How many events had been run when they were last counted.
    counted: u32,
    /// They are new, or may be long.
    manner: Manner,
}

impl<'a> InARow<'a> {
    fn new(remote: &'a Remote, turn: &'a Turn) -> Self {
        Self {
            remote,
            turn,
            id: HandlerId::UNRESOLVED,
            counted: turn.ran.get(),
            manner: Manner::WithCare,
        }
    }

    /// Turns to another handler.
    fn turn_to(&mut self, id: HandlerId, costs: &Costs, batch: Batch) {
        if self.counted < self.turn.ran.get() {
            self.count();
        }
        self.id = id;
        self.manner = costs.manner(id);
        if self.manner != Manner::Short {
            let limit = self.turn.limit.get().min(batch.events);
            self.turn.limit.set(limit);
        }
        self.remote.counts.running.set(id.index() as u64);
    }

    /// Writes down how many events were run, for whoever looks on.
    fn count(&mut self) {
        let ran = self.turn.ran.get();
        let events = ran - self.counted;
        self.counted = ran;
        self.remote.handlers[self.id.index()]
            .events
            .add(u64::from(events));
    }
}

impl Drop for InARow<'_> {
    fn drop(&mut self) {
        self.count();
    }
}

impl Worker {
    /// Runs a turn of what is ready.
    #[inline]
    pub(super) fn run(&self, ready: Ticketed<Ready>) {
        self.begin_turn(ready.time_left_cycles());
        match ready.into_color() {
            Ready::Color(color) => self.run_turn(color, false),
            Ready::Fresh(event) => self.run_turn(self.make_fresh(event), true),
        }
    }

    /// Counts a turn of events that take so long, and fetches ahead what follows.
    #[inline]
    fn begin_turn(&self, time_left_cycles: u64) {
        self.remote().counts.turns.add(1);
        probe::work(Work::Turn, 1);
        // More than the interval makes no difference.
        let estimate = time_left_cycles.min(POLL_INTERVAL_CYCLES as u64) as i64;
        let until_poll = self.until_poll_cycles.get() - estimate - TURN_CYCLES;
        self.until_poll_cycles.set(until_poll);
        let look = |ahead: usize, color: &Ready| match ahead {
            PREFETCH_COLORS => color.prefetch(),
            PREFETCH_EVENTS => color.prefetch_event(),
            _ => color.prefetch_state(),
        };
        let places = [PREFETCH_COLORS, PREFETCH_EVENTS, PREFETCH_STATES];
        self.ready.look_ahead(places, look);
    }

    /// Fetches ahead what is in the inboxes of the colors that follow one whose inbox
    /// is not empty: they are likely to be alike.
    fn fetch_inboxes(&self) {
        let places = core::array::from_fn(|at| at + 1 + PREFETCH_STATES);
        self.ready
            .look_ahead::<INBOX_EVENTS>(places, |ahead, color| {
                color.prefetch_inbox(PREFETCH_COLORS - 1 - ahead);
            });
    }

    /// Runs up to a batch of events of a color, and queues it again if more wait.
    fn run_turn(&self, color: OwnedColor, fresh: bool) {
        let remote = self.remote();
        if color.has_posts() {
            self.fetch_inboxes();
        }
        let batch = self.shared.config.batch;
        let moved = color.arrive(self.shared.narrow(self.index));
        if color.home() != self.index {
            self.settle_stolen(&color);
        }
        let turn = Turn::new(batch, color.len(), self.next_sample(), fresh, moved);
        if color.is_poisoned() {
            color.discard(|_| remote.counts.events.shed.add(1));
        } else {
            let _running = Running::mark(&self.running, &color);
            let batch = || catch_unwind(AssertUnwindSafe(|| self.run_batch(&color, &turn)));
            while let Err(panic) = batch() {
                self.after_panic(&color, panic);
                if color.is_poisoned() {
                    break;
                }
            }
            self.open_outbox(false);
            remote.counts.running.set(0);
            if let Some(next) = self.next.take() {
                color.put_back(next);
            }
        }
        remote.counts.events.run.add(u64::from(turn.ran.get()));
        if let Err(color) = color.release(self.cells()) {
            color.take_inbox(|e| self.costs.weigh_new(e));
            self.make_ready(Ready::Color(color));
        }
    }

    /// Whether an event of the turn that begins shall be timed: the number of the
    /// sample.
    #[inline]
    fn next_sample(&self) -> Option<u32> {
        let (turns, sample) = self.until_sample.get();
        if turns > 1 {
            self.until_sample.set((turns - 1, sample));
            return None;
        }
        self.until_sample
            .set((SAMPLE_TURNS, sample.wrapping_add(1)));
        Some(sample)
    }

    fn run_batch(&self, color: &OwnedColor, turn: &Turn) {
        let context = Context::new(self, color);
        let mut row = InARow::new(self.remote(), turn);
        loop {
            let ran = turn.ran.get();
            if ran >= turn.limit.get() || self.shared.phase() == Phase::Stopped {
                return;
            }
            // Not by `or_else`: these are the hottest lines there are.
            let event = if let Some(next) = self.next.take() {
                next
            } else if let Some(queued) = color.pop(|e| self.costs.weigh_new(e)) {
                queued
            } else if let Some(fresh) = self.next_fresh(color, turn, row.manner) {
                fresh
            } else {
                return;
            };
            color.unreserve();
            let id = event.handler_id();
            if id != row.id {
                row.turn_to(id, &self.costs, self.shared.config.batch);
                self.open_outbox(row.manner.posts_may_wait());
            }
            turn.ran.set(ran + 1);
            if ran == turn.timed || row.manner == Manner::WithCare {
                row.count();
                self.open_outbox(false);
                self.run_with_care(event, id, &context, turn);
                row.manner = self.costs.manner(id);
                self.open_outbox(row.manner.posts_may_wait());
            } else {
                // SAFETY: this worker owns the color, whose context this is, and
                // runs one event at a time.
                unsafe { event.run(&context) };
            }
        }
    }

    /// Lets the color of an event that is over be that of the next one, if both are
    /// fresh: a turn of short events that have a color each is as long as one of
    /// short events of the same color.
    #[inline]
    fn next_fresh(&self, color: &OwnedColor, turn: &Turn, manner: Manner) -> Option<Event> {
        let goes_on = turn.fresh
            && manner == Manner::Short
            && self.until_poll_cycles.get() > 0
            && color.is_as_new();
        if !goes_on {
            return None;
        }
        let next = self.ready.pop_if(|colors, first| {
            matches!(first.color(), Ready::Fresh(_)) && self.is_next(colors, first.ticket())
        })?;
        self.begin_turn(next.time_left_cycles());
        let Ready::Fresh(event) = next.into_color() else {
            unreachable!("only a fresh one was wanted");
        };
        color.renew(self.fresh_id());
        color.reserve();
        Some(event)
    }

    /// Runs an event that is timed, new, or long.
    #[cold]
    fn run_with_care(&self, event: Event, id: HandlerId, context: &Context<'_, ()>, turn: &Turn) {
        if !self.costs.knows(id) {
            // Another worker looked it up; from now on this one learns its cost too.
            self.costs.weight(event.kind());
        }
        let (mean, worst) = self.costs.mean_and_worst_cycles(id);
        let idle = self.shared.idle.hint().any();
        let publish = self.worth.publish_before(mean, worst, idle);
        if publish {
            self.publish_all();
        }
        let sampled = turn.is_timed() || publish || self.costs.is_new(id);
        let timed = sampled || self.is_traced();
        let start = if timed { self.shared.clock.cycles() } else { 0 };
        self.begin_trace(id, start);
        // SAFETY: as in `run_batch`.
        unsafe { event.run(context) };
        if timed {
            let end = self.shared.clock.cycles();
            self.end_trace(end);
            let cycles = end.saturating_sub(start);
            if sampled {
                self.learn_cost(id, cycles, turn);
            }
            if publish {
                self.end_long_event();
                // With a penalty it looked shorter when the turn began.
                let held = i64::try_from(cycles).unwrap_or(POLL_INTERVAL_CYCLES);
                let until_poll = self.until_poll_cycles.get();
                self.until_poll_cycles.set(until_poll.saturating_sub(held));
            }
        }
    }

    /// Learns from a timed event what its handler costs, here or after a move.
    fn learn_cost(&self, id: HandlerId, cycles: u64, turn: &Turn) {
        let counts = &self.remote().handlers[id.index()];
        match turn.moved && turn.is_timed() {
            true => self.costs.sample_after_move(id, cycles, counts),
            false => self.costs.sample(id, cycles, counts),
        }
    }

    /// Counts a panic, and does what the runtime was told to do after one.
    fn after_panic(&self, color: &OwnedColor, panic: Box<dyn std::any::Any + Send>) {
        self.end_trace_by_panic();
        self.end_long_event();
        let remote = self.remote();
        remote.counts.panics.add(1);
        let running = usize::try_from(remote.counts.running.get()).unwrap_or(0);
        if let Some(counts) = remote.handlers.get(running) {
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
