//! Running: one turn of one color.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use mely_sched::{CoreQueue, ReadyColor, Ticketed};

use super::frame::Frame;
use super::turn::{Following, InARow, Turn};
use super::{POLL_INTERVAL_CYCLES, TURN_CYCLES, Worker};
use crate::cost::handlers::Manner;
use crate::event::Event;
use crate::event::handler::HandlerId;
use crate::machine::probe::{self, Work};
use crate::shared::ready::Ready;
use crate::shared::{OwnedColor, Phase};

/// Every how many turns, on average, one event of the turn is timed.
///
/// Two reads of the counter and what is computed from them cost some 40 ns; at one
/// turn in 32 that is about 1 ns a turn, while a cost that changes is followed within
/// some hundred turns.
pub(super) const SAMPLE_TURNS: u32 = 32;

/// How many turns lie between a sample and the next: from half to one and a half of
/// [`SAMPLE_TURNS`]. Turns often come in a rhythm (a request, its answer), and samples
/// that kept time with it would always meet the same event.
fn turns_after(sample: u32) -> u32 {
    // 2^32 by the golden ratio: of numbers in a row the highest bits are spread evenly.
    let spread = sample.wrapping_mul(0x9E37_79B9) >> (u32::BITS - SAMPLE_TURNS.ilog2());
    SAMPLE_TURNS / 2 + 1 + spread
}

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

/// Shows the color that comes so many turns after the next, to fetch it.
#[inline]
fn look_ahead(ready: &CoreQueue<Ready>, behind: usize, fetch: impl FnOnce(&Ready)) {
    // SAFETY: fetching lines does not change the queue.
    if let Some(color) = unsafe { ready.peek(behind) } {
        fetch(color.color());
    }
}

impl Worker {
    /// Runs a turn of what is ready.
    #[inline]
    pub(super) fn run(&self, ready: Ticketed<Ready>) {
        let cycles = self.begin_turn(ready.time_left_cycles());
        self.count_turns(1, cycles);
        match ready.into_color() {
            Ready::Color(color) => self.run_turn(color, false),
            Ready::Fresh(event) => self.run_turn(self.make_fresh(event), true),
        }
    }

    /// Counts turns that take so long.
    pub(super) fn count_turns(&self, turns: u32, cycles: i64) {
        self.remote().counts.turns.add(u64::from(turns));
        self.until_poll_cycles
            .set(self.until_poll_cycles.get() - cycles);
    }

    /// Begins a turn of events that take so long: fetches ahead what follows it. What it
    /// is taken to take, in cycles.
    #[inline]
    fn begin_turn(&self, time_left_cycles: u64) -> i64 {
        probe::work(Work::Turn, 1);
        self.ready.with(|ready| {
            look_ahead(ready, PREFETCH_COLORS, Ready::prefetch);
            look_ahead(ready, PREFETCH_EVENTS, Ready::prefetch_event);
            look_ahead(ready, PREFETCH_STATES, Ready::prefetch_state);
        });
        // More than the interval makes no difference.
        let estimate = time_left_cycles.min(POLL_INTERVAL_CYCLES as u64) as i64;
        estimate + TURN_CYCLES
    }

    /// Fetches ahead what is in the inboxes of the colors that follow one whose inbox
    /// is not empty: they are likely to be alike.
    pub(super) fn fetch_inboxes(&self) {
        self.ready.with(|ready| {
            for ahead in 1 + PREFETCH_STATES..PREFETCH_COLORS {
                look_ahead(ready, ahead, |color| {
                    color.prefetch_inbox(PREFETCH_COLORS - 1 - ahead);
                });
            }
        });
    }

    /// Runs up to a batch of events of a color, queues it again if more wait, and runs
    /// the turns that follow without care.
    fn run_turn(&self, color: OwnedColor, fresh: bool) {
        let remote = self.remote();
        let has_posts = color.has_posts();
        if has_posts {
            self.fetch_inboxes();
        }
        let batch = self.shared.config.batch;
        let moved = color.arrive(self.here);
        if color.home() != self.index {
            self.settle_stolen(&color);
        }
        if has_posts && color.is_stopped() {
            self.shed_pending(&color);
            self.end_turn(color);
            return;
        }
        let sample = self.next_sample();
        if sample.is_some() {
            // Any of its events may be the one that is timed.
            self.take_inbox(&color);
        }
        let turn = Turn::new(batch, color.len(), sample, fresh, moved);
        self.running.put(color);
        let turns = || catch_unwind(AssertUnwindSafe(|| self.run_turns(&turn)));
        while let Err(panic) = turns() {
            if self.after_panic(panic) {
                break;
            }
        }
        remote.counts.running.set(0);
        remote.counts.events.run.add(u64::from(self.ran.take()));
        let (turns, cycles) = turn.followed();
        self.count_turns(turns, cycles);
        let (until_sample, sample) = self.until_sample.get();
        self.until_sample.set((until_sample - turns, sample));
        if let Some(color) = self.running.take() {
            self.end_turn(color);
        }
    }

    /// Moves what others posted to a color to its pending events.
    #[inline]
    pub(super) fn take_inbox(&self, color: &OwnedColor) {
        color.take_inbox(|e| self.costs.weigh_new(e));
    }

    /// Runs the turn of the running color, and then those of other colors for as long as
    /// a step would most likely do nothing between two turns but to go on to the next.
    fn run_turns(&self, turn: &Turn) {
        let following = self.following();
        let mut row = InARow::new(self.remote(), turn, &self.ran);
        while let Some(color) = self.running.lend() {
            // Whatever the events of the program do, what is ready need not wait for them.
            // SAFETY: nothing of this worker touches the queue here.
            unsafe { self.ready.lend() };
            self.run_batch(&color, turn, &mut row);
            self.ready.take_back();
            if row.manner != Manner::Short || !turn.may_follow(&following, self.ran.get()) {
                return;
            }
            let Some(next) = self.next_to_follow(&following) else {
                return;
            };
            if let Some(color) = self.running.take() {
                self.end_turn(color);
            }
            turn.follow(self.begin_turn(next.time_left_cycles()), self.ran.get());
            if let Ready::Color(color) = next.into_color() {
                if color.has_posts() {
                    self.meet_posts(&color);
                }
                self.running.put(color);
            }
        }
    }

    /// What may follow without a step: no turn whose event is timed, nothing that
    /// becomes ready later, and what is private only.
    fn following(&self) -> Following {
        Following {
            before: self.oldest_elsewhere().min(self.next_ticket.get()),
            colors_min: self.colors_min(),
            turns: match self.detour {
                true => 0,
                false => self.until_sample.get().0 - 1,
            },
        }
    }

    /// Takes the color that is next if its turn needs no care. None comes twice: what a
    /// row has run gets a ticket of after its beginning. So what others send meanwhile
    /// waits for one turn of each color here, as it would without rows, and no look at
    /// the mailbox is needed between two turns.
    #[inline]
    fn next_to_follow(&self, following: &Following) -> Option<Ticketed<Ready>> {
        self.ready.with(|ready| {
            // SAFETY: judging the color does not change the queue.
            let first = unsafe { ready.peek(0) }?;
            let Ready::Color(color) = first.color() else {
                return None;
            };
            let follows = first.ticket() < following.before
                && ready.len() >= following.colors_min
                && color.is_settled(self.here);
            if follows { ready.pop() } else { None }
        })
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
            .set((turns_after(sample), sample.wrapping_add(1)));
        Some(sample)
    }

    /// Runs events of a color until its turn is over or none is left.
    pub(super) fn run_batch(&self, color: &OwnedColor, turn: &Turn, row: &mut InARow<'_>) {
        let frame = Frame {
            worker: self,
            color,
        };
        // Kept here, too: what was just written takes some cycles to read.
        let mut ran = self.ran.get();
        loop {
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
            color.unreserve(&event);
            let id = event.handler_id();
            if id != row.id {
                row.turn_to(id, &self.costs);
            }
            let timed = turn.times_next(ran);
            ran += 1;
            self.ran.set(ran);
            if timed || row.manner == Manner::WithCare {
                row.count();
                self.run_with_care(event, id, &frame, turn);
                row.manner = self.costs.manner(id);
            } else {
                // SAFETY: this worker owns the color, whose frame this is, and
                // runs one event at a time.
                unsafe { event.run(&self.nodes, frame.place()) };
            }
        }
    }

    /// Lets the color of an event that is over be that of the next one, if both are
    /// fresh: a turn of short events that have a color each is as long as one of
    /// short events of the same color.
    #[inline]
    fn next_fresh(&self, color: &OwnedColor, turn: &Turn, manner: Manner) -> Option<Event> {
        let goes_on = turn.fresh.get()
            && manner == Manner::Short
            && self.until_poll_cycles.get() > 0
            && color.is_as_new();
        if !goes_on {
            return None;
        }
        let next = self.ready.with(|ready| {
            // SAFETY: as in `next_to_follow`.
            let first = unsafe { ready.peek(0) }?;
            let is_fresh = matches!(first.color(), Ready::Fresh(_));
            let is_next = is_fresh && self.is_next(ready.len(), first.ticket());
            if is_next { ready.pop() } else { None }
        })?;
        let cycles = self.begin_turn(next.time_left_cycles());
        // SAFETY: as in `run_turns`.
        unsafe { self.ready.lend() };
        self.count_turns(1, cycles);
        let Ready::Fresh(event) = next.into_color() else {
            unreachable!("only a fresh one was wanted");
        };
        color.renew(self.fresh_id());
        // As in `make_fresh`.
        color.reserve_always();
        Some(event)
    }

    /// Runs an event that is timed, new, or long.
    #[cold]
    fn run_with_care(&self, event: Event, id: HandlerId, frame: &Frame<'_>, turn: &Turn) {
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
        let sampled = turn.is_timed(self.ran.get()) || publish || self.costs.is_new(id);
        let timed = sampled || self.is_traced();
        let start = if timed { self.shared.clock.cycles() } else { 0 };
        self.begin_trace(id, start);
        // SAFETY: as in `run_batch`.
        unsafe { event.run(&self.nodes, frame.place()) };
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
        match turn.moved.get() && turn.is_timed(self.ran.get()) {
            true => self.costs.sample_after_move(id, cycles, counts),
            false => self.costs.sample(id, cycles, counts),
        }
    }
}
