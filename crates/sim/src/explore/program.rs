//! Programs as plain data: what posts what to which color, and when.

use std::sync::Arc;

use crate::mely::{Pending, Policy, QueueKind};

/// What a long event takes, in cycles: more than an event takes before which a core
/// publishes all else that it has (64 000), and than a wake-up must bring (32 000).
pub(super) const LONG_CYCLES: u64 = 100_000;

/// A program, and the machine and schedule that it runs on.
///
/// It ends by itself: what events and destructors post is a tree. Its text
/// ([`Display`](core::fmt::Display)) is what a failure is reported with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Cores of the machine, 1 at least.
    pub cores: usize,
    /// How colors are stolen.
    pub policy: Policy,
    /// The seed by which the machine chooses the core that goes on.
    pub schedule: u64,
    /// A panic poisons its color; else it loses its event alone.
    pub poison: bool,
    /// How many events of a color run in a row; `None` leaves it to the policy.
    pub batch: Option<u32>,
    /// The colors that it makes before anything happens.
    pub colors: Vec<ColorPlan>,
    /// What comes from outside.
    pub arrivals: Vec<Arrival>,
    /// How it ends.
    pub end: End,
    /// What is done outside once it was told to end: beside workers that are held in
    /// their handlers, or after all of them.
    pub late: Vec<Action>,
    /// So many cycles after.
    pub late_cycles: u64,
}

/// A color that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorPlan {
    /// The worker that it begins on, modulo the number of workers.
    pub home: usize,
    /// It must stay there.
    pub pinned: bool,
    /// How many events may be pending.
    pub capacity: Option<usize>,
    /// How many of control besides, on a bounded color; `None` leaves it to the runtime.
    pub control: Option<usize>,
    /// It is the color of that small number, which says where it begins; no other
    /// color of the program has it.
    pub number: Option<u16>,
    /// The colors to which its state has references, by number; perhaps itself.
    pub keeps: Vec<usize>,
    /// Its state has a handle of the runtime.
    pub keeps_handle: bool,
    /// What the destructor of its state does.
    pub last: Vec<Action>,
}

impl ColorPlan {
    /// The worker that it begins on.
    pub(super) fn home(&self, workers: usize) -> usize {
        self.number.map_or(self.home, usize::from) % workers
    }

    /// Whether it must stay there: number 0 does where the events of a core wait in one
    /// queue, as in Libasync-smp.
    pub(super) fn is_pinned(&self, policy: Policy) -> bool {
        let has_fifos = policy.heuristics().queues == QueueKind::EventFifo;
        self.pinned || has_fifos && self.number == Some(0)
    }
}

/// What is done outside of the workers at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Cycles since the beginning.
    pub at_cycles: u64,
    /// By a thread of its own, beside the workers.
    pub thread: bool,
    /// What only a handler can do is left out.
    pub does: Vec<Action>,
}

/// What an event is posted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By a handler of which nothing is known, which spends little.
    Plain,
    /// By one that is annotated as short.
    Short,
    /// By one that is annotated as long, and spends so much.
    Long,
    /// Long, with a penalty.
    Heavy,
}

/// An event: what it does, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its handler.
    pub kind: Kind,
    /// What it does.
    pub does: Vec<Action>,
    /// What the destructor of a value does that it holds, run or not. The value has
    /// references to all colors that it needs.
    pub last: Vec<Action>,
}

/// What the waker does that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It looks whether the answer is there.
    Looks,
    /// It posts an event to the color that was called.
    Posts,
    /// It panics.
    Panics,
    /// Another waker takes its place; its destructor panics.
    PanicsDropped,
}

/// How an event is posted to a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By `post`.
    Post,
    /// By `try_post`.
    TryPost,
    /// By `call`, whose answer nobody waits for.
    Call,
    /// By `post_control`.
    Control,
}

/// What a task awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// The answer of a `call`.
    Answer,
    /// Room, by `post_when_room`.
    Room,
    /// Both, by `call_when_room`.
    RoomAndAnswer,
}

/// A thing that an event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Computes for so many cycles.
    Spend(u64),
    /// Posts to a color, so many times.
    Post {
        /// By number; nothing happens if its handle has been dropped.
        color: usize,
        /// How.
        how: How,
        /// How often in a row.
        times: u32,
        /// What.
        event: Arc<Event>,
    },
    /// Runs a critical section under a color, and waits for it: outside only.
    With {
        /// By number.
        color: usize,
    },
    /// Spawns a task on a color, that calls another one and awaits the answer, so many
    /// times; or posts to it, and awaits room.
    Task {
        /// By number.
        color: usize,
        /// Which it calls, by number.
        to: usize,
        /// What it awaits.
        awaits: Awaits,
        /// How often.
        times: u32,
        /// What it calls.
        event: Arc<Event>,
    },
    /// Calls a color, by a task of it or by itself, and polls the answer with a waker
    /// of the program's own.
    Ask {
        /// By number.
        color: usize,
        /// A task of the color makes the call.
        task: bool,
        /// What the waker does.
        woken: Woken,
        /// What it calls.
        event: Arc<Event>,
    },
    /// Posts to its own color.
    PostSelf {
        /// How often in a row.
        times: u32,
        /// What.
        event: Arc<Event>,
    },
    /// Posts events with a fresh color each.
    PostFresh {
        /// How many.
        times: u32,
        /// What.
        event: Arc<Event>,
    },
    /// Posts to a color later.
    After {
        /// How much later.
        cycles: u64,
        /// By number.
        color: usize,
        /// What.
        event: Arc<Event>,
    },
    /// Cancels the timer that was set so many timers ago.
    Cancel {
        /// 0 is the last one.
        back: usize,
    },
    /// Drops the program's handle of a color.
    Drop {
        /// By number.
        color: usize,
    },
    /// Stops a color.
    Stop {
        /// By number.
        color: usize,
        /// What becomes of its events.
        pending: Pending,
    },
    /// Drops what the state of its color keeps.
    LetGo,
    /// Drops the program's handle of the runtime.
    DropHandle,
    /// Tells the program to end now, and goes on for long.
    End,
    /// Panics: the last thing that it does.
    Panic,
}

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// When nothing is left to do.
    Quiet,
    /// At a time: what is pending runs to its end.
    Drain {
        /// Cycles since the beginning.
        at_cycles: u64,
    },
    /// At a time, at once: what is pending is abandoned.
    Stop {
        /// Cycles since the beginning.
        at_cycles: u64,
    },
}

impl Action {
    /// The event that it posts.
    pub(super) fn event(&self) -> Option<&Arc<Event>> {
        match self {
            Action::Post { event, .. }
            | Action::Task { event, .. }
            | Action::Ask { event, .. }
            | Action::PostSelf { event, .. }
            | Action::PostFresh { event, .. }
            | Action::After { event, .. } => Some(event),
            _ => None,
        }
    }

    /// The same, but the event that it posts does this.
    pub(super) fn with_event(&self, changed: Event) -> Action {
        let mut action = self.clone();
        if let Action::Post { event, .. }
        | Action::Task { event, .. }
        | Action::Ask { event, .. }
        | Action::PostSelf { event, .. }
        | Action::PostFresh { event, .. }
        | Action::After { event, .. } = &mut action
        {
            *event = Arc::new(changed);
        }
        action
    }

    /// The colors that it needs, by number.
    pub(super) fn colors(&self) -> impl Iterator<Item = usize> {
        let (one, other) = match *self {
            Action::Post { color, .. }
            | Action::After { color, .. }
            | Action::Ask { color, .. }
            | Action::With { color }
            | Action::Stop { color, .. }
            | Action::Drop { color } => (Some(color), None),
            Action::Task { color, to, .. } => (Some(color), Some(to)),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// The same, to be changed.
    pub(super) fn colors_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let (one, other) = match self {
            Action::Post { color, .. }
            | Action::After { color, .. }
            | Action::Ask { color, .. }
            | Action::With { color }
            | Action::Stop { color, .. }
            | Action::Drop { color } => (Some(color), None),
            Action::Task { color, to, .. } => (Some(color), Some(to)),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }
}
