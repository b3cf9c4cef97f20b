//! Programs as text: what a failure is reported with.

use core::fmt;

use super::program::{Action, Awaits, End, Program};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { cores, policy, .. } = self;
        write!(f, "{cores} cores, {policy}, schedule {}", self.schedule)?;
        if let Some(batch) = self.batch {
            write!(f, ", batches of {batch}")?;
        }
        let after_panic = match self.poison {
            true => "poisons its color",
            false => "loses its event",
        };
        writeln!(f, ", a panic {after_panic}")?;
        for (number, color) in self.colors.iter().enumerate() {
            write!(f, "color {number}: home {}", color.home(*cores))?;
            if let Some(small) = color.number {
                write!(f, ", of number {small}")?;
            }
            if color.pinned {
                f.write_str(", pinned")?;
            }
            if let Some(capacity) = color.capacity {
                write!(f, ", capacity {capacity}")?;
                if let Some(control) = color.control {
                    write!(f, " and {control} of control")?;
                }
            }
            if !color.keeps.is_empty() {
                write!(f, ", its state refers to {:?}", color.keeps)?;
            }
            if color.keeps_handle {
                f.write_str(", and to the runtime")?;
            }
            writeln!(f)?;
            write_last(f, &color.last, 0)?;
        }
        for arrival in &self.arrivals {
            let place = if arrival.thread {
                "a thread"
            } else {
                "outside"
            };
            writeln!(f, "{place}, at {}:", arrival.at_cycles)?;
            write_actions(f, &arrival.does, 1)?;
        }
        match self.end {
            End::Quiet => writeln!(f, "shuts down when all is quiet")?,
            End::Drain { at_cycles } => writeln!(f, "drains at {at_cycles}")?,
            End::Stop { at_cycles } => writeln!(f, "stops at {at_cycles}")?,
        }
        if !self.late.is_empty() {
            writeln!(f, "outside, {} later:", self.late_cycles)?;
        }
        write_actions(f, &self.late, 1)
    }
}

/// What a destructor does.
fn write_last(f: &mut fmt::Formatter<'_>, last: &[Action], depth: usize) -> fmt::Result {
    if !last.is_empty() {
        writeln!(f, "{:1$}dropped:", "", 2 * depth)?;
    }
    write_actions(f, last, depth + 1)
}

fn write_actions(f: &mut fmt::Formatter<'_>, does: &[Action], depth: usize) -> fmt::Result {
    for action in does {
        write!(f, "{:1$}", "", 2 * depth)?;
        match action {
            Action::Spend(cycles) => write!(f, "spend {cycles}")?,
            Action::Post {
                color, how, times, ..
            } => write!(f, "{how:?} to {color}, {times} times")?,
            Action::With { color } => write!(f, "wait for a section under {color}")?,
            Action::Task {
                color,
                to,
                awaits,
                times,
                ..
            } => {
                let awaits = match awaits {
                    Awaits::Answer => "calls",
                    Awaits::Room => "waits for room in",
                    Awaits::RoomAndAnswer => "calls, once there is room,",
                };
                write!(f, "spawn on {color} what {awaits} {to}, {times} times")?;
            }
            Action::Ask {
                color, task, woken, ..
            } => {
                let by = if *task { " by a task" } else { "" };
                write!(f, "ask {color}{by}, the waker {woken:?}")?;
            }
            Action::PostSelf { times, .. } => write!(f, "post to its own color, {times} times")?,
            Action::PostFresh { times, .. } => write!(f, "post to {times} fresh colors")?,
            Action::After { cycles, color, .. } => write!(f, "post to {color} after {cycles}")?,
            Action::Cancel { back } => write!(f, "cancel the timer set {back} before the last")?,
            Action::Drop { color } => write!(f, "drop the handle of {color}")?,
            Action::Stop { color, pending } => write!(f, "stop {color}, {pending:?}")?,
            Action::LetGo => f.write_str("drop what its state refers to")?,
            Action::DropHandle => f.write_str("drop the handle of the runtime")?,
            Action::End => f.write_str("end the program")?,
            Action::Panic => f.write_str("panic")?,
        }
        match action.event() {
            Some(event) => {
                writeln!(f, ": {:?}", event.kind)?;
                write_actions(f, &event.does, depth + 1)?;
                write_last(f, &event.last, depth + 1)?;
            }
            None => writeln!(f)?,
        }
    }
    Ok(())
}
