//! Running a color within an event of another one, which waits for it.
//!
//! An event that awaits the answer of a color that nobody else runs would end, let that color
//! have its turn, and be run a second time: two turns, and most of what a server does on a
//! request a second time, for what a mutex has done in some nanoseconds. Here the called
//! color has its turn inside, once the answer is asked for. It is what lies last in the queue
//! of this core, where thieves see it as all others, until then.
//!
//! Nothing else changes: it runs because this worker owns it, as in any turn, and the color
//! around it stays owned meanwhile. It is done for short events only, one deep, and not while
//! the event around it is one that may be long.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mely_sched::{ReadyColor, Ticketed};

use super::Worker;
use super::run::SAMPLE_TURNS;
use super::turn::{InARow, Turn};
use crate::event::Event;
use crate::machine::probe::{self, Work};
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, OwnedColor};

/// How many turns may be had inside one: as many as there are short events in a turn. Who
/// awaits more answers than that lets others run in between.
const INSIDE_MAX: u32 = 64;

/// What a worker notes of it.
pub(super) struct Within {
    /// The color that was called last: who it is, not a way to it. Null if its answer was
    /// asked for.
    called: Cell<*const ()>,
    /// A color is being run so.
    is_inside: Cell<bool>,
    /// The events of the turn around it.
    ran_around: Cell<u32>,
    /// Turns until one event is timed.
    until_sample: Cell<u32>,
    /// How many more there may be inside one turn, and which one that is.
    left: Cell<(u64, u32)>,
}

impl Default for Within {
    fn default() -> Self {
        Self {
            called: Cell::new(ptr::null()),
            is_inside: Cell::new(false),
            ran_around: Cell::new(0),
            until_sample: Cell::new(SAMPLE_TURNS),
            left: Cell::new((0, INSIDE_MAX)),
        }
    }
}

/// The event around, which goes on when this is dropped.
struct Around<'a> {
    worker: &'a Worker,
    color: Option<OwnedColor>,
    next: Option<Event>,
    ran: u32,
    polled: *const (),
    running: u64,
    drops_of_poisoned: bool,
}

impl<'a> Around<'a> {
    /// Lays aside what the worker notes of the event that it runs.
    fn lay_aside(worker: &'a Worker) -> Self {
        let around = Self {
            worker,
            color: worker.running.take(),
            next: worker.next.take(),
            ran: worker.ran.take(),
            polled: worker.polled.replace(ptr::null()),
            running: worker.remote().counts.running.get(),
            drops_of_poisoned: worker.drops_of_poisoned.replace(false),
        };
        worker.within.is_inside.set(true);
        worker.within.ran_around.set(around.ran);
        around
    }
}

impl Drop for Around<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        // Nothing, but after a panic that was not caught where it should have been.
        drop(worker.running.take());
        worker.within.is_inside.set(false);
        worker.within.ran_around.set(0);
        worker.drops_of_poisoned.set(self.drops_of_poisoned);
        worker.remote().counts.running.set(self.running);
        worker.polled.set(self.polled);
        worker.ran.set(self.ran);
        worker.next.set(self.next.take());
        if let Some(color) = self.color.take() {
            worker.running.put(color);
        }
    }
}

impl Worker {
    /// How many events the turn has run around the one that runs inside.
    pub(super) fn ran_around(&self) -> u32 {
        self.within.ran_around.get()
    }

    /// The event that is being run calls this color.
    #[inline]
    pub(super) fn note_called(&self, color: &ColorRef) {
        if self.shared.config.heuristics.learn {
            self.within.called.set(color.identity());
        }
    }

    /// Whether this color is the one that was called last.
    #[inline]
    pub(super) fn is_called(&self, color: &OwnedColor) -> bool {
        color.borrow().identity() == self.within.called.get()
    }

    /// Whether a color that was called may be run inside: it need not stay elsewhere, and its
    /// event is shorter than the two ways, and the one to wake who may sleep there.
    #[inline(never)]
    pub(super) fn may_run_inside(&self, color: &OwnedColor) -> bool {
        let is_light = |id| self.costs.is_light(id);
        !color.is_pinned()
            && !self.within.is_inside.get()
            && !self.holding.get()
            && !self.detour
            && self.left_inside() > 0
            && color.first_handler().is_some_and(is_light)
    }

    /// The event that is being run awaits an answer: if it is that of the color that was
    /// called last, and nobody has taken this, it has its turn now.
    pub(super) fn run_called(&self) {
        if self.within.called.get().is_null() || self.running.lend().is_none() {
            return;
        }
        let mut called = None;
        self.ready.visit(|ready| {
            let is_called =
                |color: &OwnedColor| self.is_called(color) && self.may_run_inside(color);
            called = ready.pop_newest_if(|ready| ready.as_color().is_some_and(is_called));
        });
        self.within.called.set(ptr::null());
        if let Some(Ready::Color(color)) = called.map(Ticketed::into_color) {
            self.run_inside(color);
        }
    }

    /// How many turns more the turn that is being run may have inside.
    fn left_inside(&self) -> u32 {
        let (turn, left) = self.within.left.get();
        match turn == self.remote().counts.turns.get() {
            true => left,
            false => INSIDE_MAX,
        }
    }

    /// Runs what is pending of a color within the event that is being run.
    fn run_inside(&self, color: OwnedColor) {
        let turn = self.remote().counts.turns.get();
        self.within.left.set((turn, self.left_inside() - 1));
        let around = Around::lay_aside(self);
        self.turn_inside(color);
        drop(around);
        // SAFETY: nothing of this worker touches the queue here.
        unsafe { self.ready.lend() };
        // What was run may have stopped the color around it.
        if let Some(running) = self.running.lend().filter(|running| running.is_stopped()) {
            self.shed_of_running(&running);
        }
    }

    fn turn_inside(&self, color: OwnedColor) {
        probe::work(Work::Turn, 1);
        // It is no turn of its own: who looks on sees the one around it.
        self.count_turns(
            0,
            i64::try_from(color.time_left_cycles()).unwrap_or(i64::MAX),
        );
        let moved = color.arrive(self.here);
        if color.home() != self.index {
            self.settle_stolen(&color);
        }
        if color.has_posts() && color.is_stopped() {
            self.shed_pending(&color);
            return self.end_turn(color);
        }
        let sample = self.next_sample_inside();
        let moved = moved && sample.is_some();
        let turn = Turn::new(self.shared.config.batch, color.len(), sample, false, moved);
        turn.limit.set(color.len());
        self.running.put(color);
        let run = || {
            let mut row = InARow::new(self.remote(), &turn, &self.ran);
            if let Some(color) = self.running.lend() {
                self.run_batch(&color, &turn, &mut row);
            }
        };
        while let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            if self.after_panic(panic) {
                break;
            }
        }
        let ran = u64::from(self.ran.take());
        self.remote().counts.events.run.add(ran);
        if let Some(color) = self.running.take() {
            self.end_turn(color);
        }
    }

    /// Whether an event of the turn that begins shall be timed.
    fn next_sample_inside(&self) -> Option<u32> {
        let left = self.within.until_sample.get() - 1;
        self.within
            .until_sample
            .set(if left == 0 { SAMPLE_TURNS } else { left });
        (left == 0).then_some(0)
    }
}
