//! The state of each color is dropped once, never beside an event of the color; and in
//! the end every state and every event is gone.

use std::collections::BTreeSet;

use super::{Check, ColorId, EventId, Seen, ensure};
use crate::explore::program::Program;

pub(super) struct Freed {
    colors: usize,
    freed: BTreeSet<ColorId>,
    running: BTreeSet<ColorId>,
    events: BTreeSet<EventId>,
}

impl Freed {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.len(),
            freed: BTreeSet::new(),
            running: BTreeSet::new(),
            events: BTreeSet::new(),
        }
    }
}

impl Check for Freed {
    fn name(&self) -> &'static str {
        "freed"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting { event, .. } => {
                self.events.insert(event);
            }
            Seen::Dropped { event } => {
                self.events.remove(&event);
            }
            Seen::Began { event, color, .. } => {
                self.events.remove(&event);
                self.running.insert(color);
                return ensure(!self.freed.contains(&color), || {
                    format!("event {event} begins after the state of {color:?} was dropped")
                });
            }
            Seen::PollBegan { color, .. } => {
                self.running.insert(color);
                return ensure(!self.freed.contains(&color), || {
                    format!("a task is polled after the state of {color:?} was dropped")
                });
            }
            Seen::Ended { color, .. } | Seen::PollEnded { color } => {
                self.running.remove(&color);
            }
            Seen::Freed { color } => {
                ensure(!self.running.contains(&color), || {
                    format!("the state of {color:?} is dropped while an event of it runs")
                })?;
                return ensure(self.freed.insert(color), || {
                    format!("the state of {color:?} is dropped twice")
                });
            }
            Seen::Gone => {
                ensure(self.events.is_empty(), || {
                    format!("events {:?} were never dropped", self.events)
                })?;
                let (freed, colors) = (self.freed.len(), self.colors);
                return ensure(freed == colors, || {
                    format!("the state of {freed} of {colors} colors was dropped in the end")
                });
            }
            _ => {}
        }
        Ok(())
    }
}
