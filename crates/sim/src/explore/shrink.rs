//! Makes a program that fails smaller.

use std::sync::Arc;

use super::program::{Action, ColorPlan, End, Event, Program};
use super::{Violation, run::Run};

/// How many schedules each smaller program is tried with: what is left out shifts all
/// that comes after, and the bug may need another order then.
const SCHEDULES: u64 = 8;

/// A smaller program that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunken {
    /// The program.
    pub program: Program,
    /// The same invariant as before, perhaps seen otherwise.
    pub violation: Violation,
    /// How many programs were tried.
    pub tries: u32,
}

/// Makes a program smaller as long as it breaks the same invariant when `execute` runs
/// it, within so many tries.
///
/// ```
/// use mely_sim::explore::{Fault, Program, execute, shrink};
///
/// let broken = |program: &Program| execute(program, Some(Fault::KeptState));
/// let program = Program::random(3);
/// let violation = broken(&program).violation.unwrap();
/// let small = shrink(&program, violation, 200, broken);
/// assert!(small.program.arrivals.is_empty());
/// assert_eq!(small.violation.invariant, "freed");
/// ```
#[must_use]
pub fn shrink(
    program: &Program,
    violation: Violation,
    tries_max: u32,
    execute: impl Fn(&Program) -> Run,
) -> Shrunken {
    let mut best = Shrunken {
        program: program.clone(),
        violation,
        tries: 0,
    };
    let mut edit = 0;
    // Through all edits until none of them helps any more.
    let mut since_progress = 0;
    while best.tries < tries_max && since_progress <= EDITS.len() {
        let before = best.program.clone();
        try_edit(EDITS[edit], &mut best, tries_max, &execute);
        since_progress = match best.program == before {
            true => since_progress + 1,
            false => 0,
        };
        edit = (edit + 1) % EDITS.len();
    }
    best
}

/// A way to make a program smaller: the program without its part of that number;
/// `None` if there are no more.
type Edit = fn(&Program, usize) -> Option<Program>;

const EDITS: &[Edit] = &[
    without_arrival,
    without_an_eighth,
    without_action,
    without_event,
    once,
    without_color,
    plainer_color,
    fewer_cores,
    simpler,
];

/// Tries an edit at each place, as long as there are tries.
fn try_edit(edit: Edit, best: &mut Shrunken, tries_max: u32, execute: &impl Fn(&Program) -> Run) {
    let mut at = 0;
    while let Some(smaller) = edit(&best.program, at) {
        let same = smaller == best.program;
        let fails = !same && still_fails(smaller, best, tries_max, execute);
        // Where something was left out, the next one has its number.
        at += usize::from(!fails);
        if best.tries >= tries_max {
            return;
        }
    }
}

fn still_fails(
    smaller: Program,
    best: &mut Shrunken,
    tries_max: u32,
    execute: &impl Fn(&Program) -> Run,
) -> bool {
    let first = smaller.schedule;
    for more in 0..SCHEDULES {
        if best.tries >= tries_max {
            return false;
        }
        best.tries += 1;
        let program = Program {
            schedule: first.wrapping_add(more),
            ..smaller.clone()
        };
        if let Some(violation) = execute(&program).violation
            && violation.invariant == best.violation.invariant
        {
            best.program = program;
            best.violation = violation;
            return true;
        }
    }
    false
}

fn without_arrival(program: &Program, at: usize) -> Option<Program> {
    let mut smaller = program.clone();
    (at < smaller.arrivals.len()).then(|| smaller.arrivals.remove(at))?;
    Some(smaller)
}

/// How many actions there are, at any depth.
fn count(does: &[Action]) -> usize {
    let of_event = |event: &Arc<Event>| count(&event.does) + count(&event.last);
    let below = |action: &Action| action.event().map_or(0, of_event);
    does.iter().map(|action| 1 + below(action)).sum()
}

fn actions(program: &Program) -> usize {
    let arrivals = program.arrivals.iter().map(|a| count(&a.does));
    let colors = program.colors.iter().map(|color| count(&color.last));
    arrivals.chain(colors).sum::<usize>() + count(&program.late)
}

/// What becomes of the action of that number.
type Change<'a> = &'a dyn Fn(usize, &Action) -> Option<Action>;

fn changed(does: &[Action], at: &mut usize, change: Change<'_>) -> Vec<Action> {
    let mut all = Vec::with_capacity(does.len());
    for action in does {
        let number = *at;
        *at += 1;
        let event = action.event().map(|event| Event {
            kind: event.kind,
            does: changed(&event.does, at, change),
            last: changed(&event.last, at, change),
        });
        if let Some(action) = change(number, action) {
            all.push(match event {
                Some(event) => action.with_event(event),
                None => action,
            });
        }
    }
    all
}

/// The program with each action, told its number, as `change` says; without it, and
/// all that follows from it, where that is nothing.
fn with_actions(program: &Program, change: impl Fn(usize, &Action) -> Option<Action>) -> Program {
    let mut at = 0;
    let mut smaller = program.clone();
    for arrival in &mut smaller.arrivals {
        arrival.does = changed(&arrival.does, &mut at, &change);
    }
    for color in &mut smaller.colors {
        color.last = changed(&color.last, &mut at, &change);
    }
    smaller.late = changed(&smaller.late, &mut at, &change);
    smaller
}

/// Without an eighth of the actions at a time.
fn without_an_eighth(program: &Program, at: usize) -> Option<Program> {
    let size = actions(program) / 8;
    let gone = at * size..(at + 1) * size;
    (size > 1 && at < 8).then(|| {
        with_actions(program, |number, action| {
            (!gone.contains(&number)).then(|| action.clone())
        })
    })
}

fn without_action(program: &Program, at: usize) -> Option<Program> {
    (at < actions(program)).then(|| {
        with_actions(program, |number, action| {
            (number != at).then(|| action.clone())
        })
    })
}

/// What an event does, and its destructor, in the place of its post.
fn without_event(program: &Program, gone: usize) -> Option<Program> {
    (gone < actions(program)).then(|| {
        let mut at = 0;
        let mut smaller = program.clone();
        for arrival in &mut smaller.arrivals {
            arrival.does = lifted(&arrival.does, &mut at, gone);
        }
        for color in &mut smaller.colors {
            color.last = lifted(&color.last, &mut at, gone);
        }
        smaller.late = lifted(&smaller.late, &mut at, gone);
        smaller
    })
}

fn lifted(does: &[Action], at: &mut usize, gone: usize) -> Vec<Action> {
    let mut all = Vec::with_capacity(does.len());
    for action in does {
        let number = *at;
        *at += 1;
        let Some(event) = action.event() else {
            all.push(action.clone());
            continue;
        };
        let does = lifted(&event.does, at, gone);
        let last = lifted(&event.last, at, gone);
        if number == gone {
            all.extend(does.into_iter().chain(last));
        } else {
            let kind = event.kind;
            all.push(action.with_event(Event { kind, does, last }));
        }
    }
    all
}

/// An action once instead of several times; else fewer times.
fn once(program: &Program, at: usize) -> Option<Program> {
    let fewer = |number, action: &Action| {
        let mut action = action.clone();
        if let Action::Post { times, .. }
        | Action::Task { times, .. }
        | Action::PostSelf { times, .. }
        | Action::PostFresh { times, .. } = &mut action
            && number == at / 2
        {
            *times = if at.is_multiple_of(2) {
                1
            } else {
                (*times * 3 / 4).max(1)
            };
        }
        Some(action)
    };
    (at / 2 < actions(program)).then(|| with_actions(program, fewer))
}

/// Without a color, and all that is done to it.
fn without_color(program: &Program, gone: usize) -> Option<Program> {
    if program.colors.len() < 2 || gone >= program.colors.len() {
        return None;
    }
    let renumber = |number: usize| number - usize::from(number > gone);
    let renumbered = |_, action: &Action| {
        let mut action = action.clone();
        if action.colors().any(|color| color == gone) {
            return None;
        }
        action
            .colors_mut()
            .for_each(|color| *color = renumber(*color));
        Some(action)
    };
    let mut smaller = with_actions(program, renumbered);
    smaller.colors.remove(gone);
    for color in &mut smaller.colors {
        color.keeps.retain(|&kept| kept != gone);
        color
            .keeps
            .iter_mut()
            .for_each(|kept| *kept = renumber(*kept));
    }
    Some(smaller)
}

/// A color that is not pinned, or not bounded, or has no number, or keeps nothing.
fn plainer_color(program: &Program, at: usize) -> Option<Program> {
    let mut smaller = program.clone();
    let color: &mut ColorPlan = smaller.colors.get_mut(at / 6)?;
    match at % 6 {
        0 => color.pinned = false,
        1 => color.capacity = None,
        2 => color.number = None,
        3 => color.keeps.clear(),
        4 => color.control = None,
        _ => color.keeps_handle = false,
    }
    Some(smaller)
}

fn fewer_cores(program: &Program, at: usize) -> Option<Program> {
    (at + 1 < program.cores).then(|| Program {
        cores: at + 1,
        ..program.clone()
    })
}

/// What is said of the program as a whole, one after the other.
fn simpler(program: &Program, at: usize) -> Option<Program> {
    let mut smaller = program.clone();
    match at {
        0 => smaller.poison = false,
        1 => smaller.batch = None,
        2 => smaller.end = End::Quiet,
        3 => smaller.arrivals.iter_mut().for_each(|a| a.at_cycles = 0),
        4 => smaller.arrivals.iter_mut().for_each(|a| a.thread = false),
        5 => smaller.late_cycles = 0,
        _ => return None,
    }
    Some(smaller)
}
