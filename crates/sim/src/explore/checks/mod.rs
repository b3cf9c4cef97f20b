//! The invariants: a file for each, told of all that is seen, step by step.

mod account;
mod bounded;
mod ends;
mod fair;
mod freed;
mod loss;
mod order;
mod pinned;
mod room;
mod serial;
mod sleep;
mod stops;
mod timers;
mod unlocked;
mod woken;

use std::time::Instant;

use super::program::{Kind, Program};
use crate::mely::{Pending, ShutdownReport, Snapshot};

/// The number of an event, in the order in which events were posted.
pub(super) type EventId = u64;

/// The number of an answer that is waited for by a waker of the program's own.
pub(super) type AskId = u64;

/// Who posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Poster {
    Outside,
    Worker(usize),
    /// A thread beside the workers.
    Thread(usize),
    /// A task, by the number that it has for that.
    Task(EventId),
}

/// A color, as the checks know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColorId {
    /// By number in the program.
    Planned(usize),
    /// Made for one event.
    Fresh(EventId),
}

/// Something that is seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'a> {
    /// An event is about to be posted.
    Posting {
        event: EventId,
        color: ColorId,
        by: Poster,
        /// The color of the event that posts it.
        from: Option<ColorId>,
        kind: Kind,
        /// It is posted then, not now.
        due: Option<Instant>,
    },
    /// The post has returned.
    Posted { event: EventId },
    /// What is about to be posted is of control.
    Control { event: EventId },
    /// A task is told that there is no room for what it is to post, or no answer yet.
    NoRoom { event: EventId },
    /// A color is about to be stopped.
    Stopping { color: ColorId, pending: Pending },
    /// It was stopped, by an event of its own or not.
    Stopped {
        color: ColorId,
        by: Poster,
        pending: Pending,
        within: bool,
    },
    /// An event begins.
    Began {
        event: EventId,
        color: ColorId,
        worker: usize,
        /// Where it can read the clock.
        now: Option<Instant>,
    },
    /// It ends.
    Ended {
        event: EventId,
        color: ColorId,
        panicked: bool,
    },
    /// A task is spawned.
    Spawning,
    /// A poll of a task of a color begins.
    PollBegan { color: ColorId, worker: usize },
    /// It ends.
    PollEnded { color: ColorId },
    /// An answer is about to be waited for.
    Asking { ask: AskId },
    /// It was there, or another waker waits for it now.
    Unasked { ask: AskId },
    /// The waker that waits for it is called.
    Woken { ask: AskId },
    /// Whether the answer was there then.
    Looked { ask: AskId, ready: bool },
    /// The runtime calls the program, its handlers or its destructors, on a core that has
    /// so many locks, and whose worker lies or does not.
    Called { locks: usize, lies: bool },
    /// A timer is about to be cancelled, if it is in time.
    Cancelling { event: EventId },
    /// A timer was cancelled in time.
    Cancelled { event: EventId },
    /// An event was dropped that has not begun.
    Dropped { event: EventId },
    /// The state of a color was dropped.
    Freed { color: ColorId },
    /// A core is about to go on.
    Step {
        now: u64,
        /// Since when each worker sleeps that does.
        asleep: &'a [Option<u64>],
    },
    /// All workers sleep, and nothing will wake them.
    Asleep { pending: u64 },
    /// The shutdown begins.
    Ending { at_once: bool },
    /// All workers have ended.
    End {
        metrics: &'a Snapshot,
        report: &'a ShutdownReport,
    },
    /// The last reference to anything has been dropped; so many values of the program
    /// are left.
    Gone { left: usize },
}

impl Seen<'_> {
    /// Whether the runtime has called the program.
    pub(super) fn is_of_program(&self) -> bool {
        matches!(
            self,
            Seen::Began { .. }
                | Seen::PollBegan { .. }
                | Seen::Dropped { .. }
                | Seen::Freed { .. }
                | Seen::Woken { .. }
        )
    }
}

/// Checks an invariant.
pub(super) trait Check: Send {
    /// What the invariant is called.
    fn name(&self) -> &'static str;

    /// Looks at what is seen; an error says what is wrong with it.
    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String>;
}

/// All of them, for a program.
pub(super) fn all(program: &Program) -> Vec<Box<dyn Check>> {
    vec![
        Box::new(serial::Serial::default()),
        Box::new(pinned::Pinned::new(program)),
        Box::new(timers::Timers::default()),
        Box::new(freed::Freed::new(program)),
        Box::new(order::Order::default()),
        Box::new(bounded::Bounded::new(program)),
        Box::new(stops::Stops::default()),
        Box::new(room::Room::default()),
        Box::new(fair::Fair::new(program)),
        Box::new(loss::Loss::new(program)),
        Box::new(sleep::Sleep::new(program)),
        Box::new(account::Account::default()),
        Box::new(woken::Waking::default()),
        Box::new(unlocked::Unlocked),
        Box::new(ends::Ends::default()),
    ]
}

/// Fails with a message, unless something holds.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(otherwise()),
    }
}

/// What the program says of a color; fresh ones are like any other.
fn plan_of(program: &[super::program::ColorPlan], color: ColorId) -> Option<super::ColorPlan> {
    match color {
        ColorId::Planned(number) => program.get(number).cloned(),
        ColorId::Fresh(_) => None,
    }
}
