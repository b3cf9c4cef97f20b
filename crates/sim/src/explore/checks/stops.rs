//! What a thread posts to a color after it has stopped it never runs, whatever was to become
//! of what was pending; and nothing begins any more where an event of the color has stopped it
//! and dropped that. Others may still post to a batch that is being run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Poster, Seen, ensure};
use crate::mely::Pending;

#[derive(Default)]
pub(super) struct Stops {
    /// By whom.
    stopped: BTreeMap<ColorId, BTreeSet<Poster>>,
    /// Of which nothing begins any more.
    ended: BTreeSet<ColorId>,
    /// What is not to run.
    late: BTreeSet<EventId>,
}

impl Stops {
    fn has_not_ended(&self, color: ColorId) -> Result<(), String> {
        ensure(!self.ended.contains(&color), || {
            format!("{color:?} goes on although an event of it has stopped it")
        })
    }
}

impl Check for Stops {
    fn name(&self) -> &'static str {
        "stops"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Stopped {
                color,
                by,
                pending,
                within,
            } => {
                self.stopped.entry(color).or_default().insert(by);
                if within && pending == Pending::Drop {
                    self.ended.insert(color);
                }
            }
            Seen::Posting {
                event, color, by, ..
            } if self
                .stopped
                .get(&color)
                .is_some_and(|all| all.contains(&by)) =>
            {
                self.late.insert(event);
            }
            Seen::Began { event, color, .. } => {
                ensure(!self.late.contains(&event), || {
                    format!("event {event} begins although {color:?} was stopped before its post")
                })?;
                return self.has_not_ended(color);
            }
            Seen::PollBegan { color, .. } => return self.has_not_ended(color),
            _ => {}
        }
        Ok(())
    }
}
