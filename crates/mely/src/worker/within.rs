//! Running a color within an event of another one, which waits for it.
//!
//! An event that awaits the answer of a color that nobody else runs would end, let that color
//! have its turn, and be run a second time: two turns, and most of what a server does on a
//! request a second time, for what a mutex has done in some nanoseconds. Here the called
//! color has its turn inside, once the answer is asked for. Until then it lies in the queue of
//! this core, where thieves see it as all others: as the last if the call has made it ready,
//! further before if something else has. From there it is taken, too, or all who call it
//! meanwhile would have to wait for its turn, and make it ready anew before that is over.
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
use crate::shared::{ColorRef, OwnedColor, Phase};

/// Among how many colors, of those that became ready last, the called one is looked for: a
/// compare of 1 ns each, for what costs microseconds if it is not found.
const AMONG_COLORS: usize = 64;

/// A call, as its answer knows it: no other of the same runtime has this number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallNumber(u64);

/// With so many bits for those of a worker it calls for a day before they come again.
const CALL_BITS: u32 = 48;

/// Whether this thread is in a span of the program's, where an event that has none must not run.
fn is_in_span() -> bool {
    #[cfg(feature = "tracing")]
    return !tracing::Span::current().is_none();
    #[cfg(not(feature = "tracing"))]
    false
}

/// What a worker notes of it.
pub(super) struct Within {
    /// The color that was called last: who it is, not a way to it. Null if its answer was
    /// asked for.
    called: Cell<*const ()>,
    /// The number of that call, of all of this worker.
    call: Cell<u64>,
    /// A color is being run so.
    is_inside: Cell<bool>,
    /// The events of the turn around it.
    ran_around: Cell<u32>,
    /// Turns until one event is timed.
    until_sample: Cell<u32>,
    /// How many events have run inside one turn, and which one that is.
    had: Cell<(u64, u32)>,
}

impl Default for Within {
    fn default() -> Self {
        Self {
            called: Cell::new(ptr::null()),
            call: Cell::new(0),
            is_inside: Cell::new(false),
            ran_around: Cell::new(0),
            until_sample: Cell::new(SAMPLE_TURNS),
            had: Cell::new((0, 0)),
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

    /// The event that is being run calls this color: by which its answer will know the call.
    #[inline]
    pub(super) fn note_called(&self, color: &ColorRef) -> CallNumber {
        if !self.shared.config.heuristics.learn {
            return CallNumber::default();
        }
        self.within.called.set(color.identity());
        self.within.call.set(self.within.call.get() + 1);
        self.call_number()
    }

    /// The number of the last call of this worker; never that of none.
    fn call_number(&self) -> CallNumber {
        let worker = self.index as u64 + 1;
        CallNumber((worker << CALL_BITS) ^ self.within.call.get())
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
        !color.is_pinned()
            && !self.within.is_inside.get()
            && !self.holding.get()
            && !self.detour
            && self.left_inside() > 0
            && self.begins_lightly(color)
            // An event would see that its thread unwinds, of a panic that is not its own.
            && !std::thread::panicking()
    }

    /// The event that is being run awaits the answer of a call: if that was the last one, and
    /// nobody has taken the color that was called, it has its turn now.
    pub(super) fn run_called(&self, call: CallNumber) {
        let is_last = !self.within.called.get().is_null() && call == self.call_number();
        if !is_last || self.running.lend().is_none() {
            return;
        }
        let mut called = None;
        self.ready.visit(|ready| {
            let is_called = |color: &OwnedColor| {
                self.is_called(color)
                    && self.may_run_inside(color)
                    && (!is_in_span() || (color.len() == 1 && !color.has_posts()))
            };
            called = ready.take_newest_if(AMONG_COLORS, |ready| {
                ready.as_color().is_some_and(is_called)
            });
        });
        self.within.called.set(ptr::null());
        if let Some(Ready::Color(color)) = called.map(Ticketed::into_color) {
            self.run_inside(color);
        }
    }

    /// How many events more the turn that is being run may have inside: a batch in all, so that
    /// others wait at most twice as long for it. Who awaits more answers than that lets others
    /// run in between.
    fn left_inside(&self) -> u32 {
        let batch = self.shared.config.batch.short_events;
        batch.saturating_sub(self.had_inside())
    }

    /// How many events have run inside the turn that is being run.
    fn had_inside(&self) -> u32 {
        let (turn, had) = self.within.had.get();
        match turn == self.remote().counts.turns.get() {
            true => had,
            false => 0,
        }
    }

    /// Counts an event that runs inside the turn that is being run.
    fn count_inside(&self) {
        let turn = self.remote().counts.turns.get();
        self.within.had.set((turn, self.had_inside() + 1));
    }

    /// Whether the first of the color's events is light.
    fn begins_lightly(&self, color: &OwnedColor) -> bool {
        let is_light = |id| self.costs.is_light(id);
        color.first_handler().is_some_and(is_light)
    }

    /// Runs what is pending of a color within the event that is being run.
    fn run_inside(&self, color: OwnedColor) {
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
        let mut pending = color.len();
        let mut inside = Some(color);
        while let Some(color) = inside.take() {
            if pending == 0 {
                inside = self.end_inside(color);
                pending = inside.as_ref().map_or(0, ReadyColor::len);
            } else if self.goes_on_inside(&color) {
                turn.go_on(self.ran.get(), 1);
                pending -= 1;
                self.count_inside();
                self.running.put(color);
                self.run_next_inside(&turn);
                inside = self.running.take();
            } else {
                self.end_turn(color);
            }
        }
        let ran = u64::from(self.ran.take());
        self.remote().counts.events.run.add(ran);
    }

    /// Whether the next event of the color inside, too, is to run there.
    fn goes_on_inside(&self, color: &OwnedColor) -> bool {
        self.left_inside() > 0
            && self.shared.phase() != Phase::Stopped
            && self.begins_lightly(color)
    }

    /// Runs the next event of the color inside.
    fn run_next_inside(&self, turn: &Turn) {
        let run = || {
            let mut row = InARow::new(self.remote(), turn, &self.ran);
            if let Some(color) = self.running.lend() {
                self.run_batch(&color, turn, &mut row);
            }
        };
        while let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            if self.after_panic(panic) {
                return;
            }
        }
    }

    /// Ends the turn of a color inside, unless others have posted to it meanwhile: their
    /// callers wait for that, and whoever calls next would find it waiting. What it posts to
    /// itself is left for a turn of its own, as the answer is there.
    fn end_inside(&self, color: OwnedColor) -> Option<OwnedColor> {
        if self.has_next() || color.len() > 0 || is_in_span() {
            self.end_turn(color);
            return None;
        }
        self.give_up(color)
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
