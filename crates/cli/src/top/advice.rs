//! Which handlers and colors to pin, and which not: the rules are in the help of the command.

use super::change::{Change, HandlerChange, WorkerChange};

/// How much slower an event must run right after its color moved.
const PENALTY_MIN: f64 = 2.0;
/// How many moves say enough.
const MOVES_MIN: f64 = 20.0;
/// What the moves must cost, as a part of a worker's time: less is not worth a change.
const LOSS_MIN: f64 = 0.01;
/// How long an event of a pinned color must have waited, in seconds.
const WAIT_MIN: f64 = 0.1;
/// What part of its time a worker must have slept that could have run it.
const SLEPT_MIN: f64 = 0.5;

/// Something to do about a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Advice {
    /// Moving the colors of this handler costs more than it moves.
    Pin {
        handler: String,
        penalty: f64,
        moves_per_second: f64,
        /// What they cost, as a part of a worker's time.
        loss: f64,
    },
    /// This pinned color waits beside a worker that sleeps.
    Unpin {
        color: Option<u64>,
        handler: String,
        seconds: f64,
        sleeper: usize,
    },
}

impl Advice {
    /// A word for what is to be done.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Pin { .. } => "pin",
            Self::Unpin { .. } => "unpin",
        }
    }

    /// What is to be done, and why.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Pin {
                handler,
                penalty,
                moves_per_second,
                loss,
            } => format!(
                "{handler}: its events run {penalty:.1} times as long right after their color \
                 moved, and {moves_per_second:.0} moves a second cost {:.1} % of a worker, more \
                 than they move; pin its colors, spread over the workers (ColorOptions::pin_to), \
                 or tell the scheduler (Handler::penalty({penalty:.0}))",
                loss * 100.0
            ),
            Self::Unpin {
                color,
                handler,
                seconds,
                sleeper,
            } => format!(
                "{}: it is pinned, and an event of {handler} has waited for {seconds:.1} s while \
                 worker {sleeper} slept; let it be stolen (ColorOptions::start_on), or pin it \
                 elsewhere",
                color.map_or("a color".to_owned(), |color| format!("color {color}"))
            ),
        }
    }
}

pub(super) fn of(change: &Change) -> Vec<Advice> {
    let steal_seconds = change.steal_seconds.unwrap_or(0.0);
    let pins = change.handlers.iter();
    let pins = pins.filter_map(|handler| to_pin(handler, steal_seconds));
    pins.chain(to_unpin(change)).collect()
}

fn to_pin(handler: &HandlerChange, steal_seconds: f64) -> Option<Advice> {
    let cost = handler.cost_seconds?;
    let known = handler.penalty >= PENALTY_MIN && handler.moves >= MOVES_MIN;
    if !known || handler.moves_per_second <= 0.0 {
        return None;
    }
    let lost = steal_seconds + (handler.penalty - 1.0) * cost;
    let moved = cost * handler.events_per_second / handler.moves_per_second;
    let loss = handler.moves_per_second * lost;
    (lost >= moved && loss >= LOSS_MIN).then(|| Advice::Pin {
        handler: handler.name.clone(),
        penalty: handler.penalty,
        moves_per_second: handler.moves_per_second,
        loss,
    })
}

fn to_unpin(change: &Change) -> Option<Advice> {
    // It sleeps now, too: not the one that the color is pinned to, which has an event to run.
    let sleepers = change.workers.iter().filter(|worker| worker.sleeps);
    let idle = |worker: &WorkerChange| worker.busy.map_or(0.0, |busy| 1.0 - busy);
    let sleeper = sleepers
        .filter(|worker| idle(worker) >= SLEPT_MIN)
        .max_by(|a, b| idle(a).total_cmp(&idle(b)))?;
    let waits = change.waiting.iter();
    let longest = waits
        .filter(|one| one.is_pinned && one.seconds >= WAIT_MIN)
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    Some(Advice::Unpin {
        color: longest.color,
        handler: longest.handler.clone(),
        seconds: longest.seconds,
        sleeper: sleeper.worker,
    })
}
