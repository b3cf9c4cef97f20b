//! The state of each color is dropped once, never beside an event of the color, nor while
//! one is pending; each event is run or dropped, once; and in the end nothing of the program
//! is left.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Seen, ensure};
use crate::explore::program::Program;

pub(super) struct Freed {
    colors: usize,
    freed: BTreeSet<ColorId>,
    running: BTreeSet<ColorId>,
    /// Those that have neither begun nor been dropped.
    events: BTreeMap<EventId, ColorId>,
    /// Those with a panic, which may have poisoned them and so ended their state; whether it
    /// was to do that, another check knows.
    panicked: BTreeSet<ColorId>,
    /// Those that are stopped: their events go with their states, or are dropped by who posts.
    stopped: BTreeSet<ColorId>,
    /// Those whose timers are being cancelled.
    cancelling: BTreeSet<EventId>,
    ending: bool,
}

impl Freed {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.len(),
            freed: BTreeSet::new(),
            running: BTreeSet::new(),
            events: BTreeMap::new(),
            panicked: BTreeSet::new(),
            stopped: BTreeSet::new(),
            cancelling: BTreeSet::new(),
            ending: false,
        }
    }
}

impl Freed {
    fn goes(&mut self, event: EventId) -> Result<(), String> {
        let was_there = self.events.remove(&event).is_some();
        ensure(was_there, || {
            format!("event {event} runs or is dropped a second time")
        })
    }
}

impl Check for Freed {
    fn name(&self) -> &'static str {
        "freed"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting { event, color, .. } => {
                self.events.insert(event, color);
            }
            Seen::Dropped { event } => return self.goes(event),
            Seen::Began { event, color, .. } => {
                self.goes(event)?;
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
            Seen::Ended {
                color, panicked, ..
            } => {
                self.running.remove(&color);
                if panicked {
                    self.panicked.insert(color);
                }
            }
            Seen::PollEnded { color } => {
                self.running.remove(&color);
            }
            Seen::Ending { .. } => self.ending = true,
            Seen::Stopping { color, .. } => {
                self.stopped.insert(color);
            }
            // Its event is no longer pending, and goes with the color.
            Seen::Cancelling { event } => {
                self.cancelling.insert(event);
            }
            Seen::Freed { color } => {
                // An event that is posted to a runtime which ends is dropped by who posts, one
                // that a poisoned color has refused or that waits in a queue of its core, later.
                let excused =
                    self.ending || self.panicked.contains(&color) || self.stopped.contains(&color);
                let pending = |(event, of): (&EventId, &ColorId)| {
                    *of == color && !excused && !self.cancelling.contains(event)
                };
                ensure(!self.events.iter().any(pending), || {
                    format!("the state of {color:?} is dropped while events of it are pending")
                })?;
                ensure(!self.running.contains(&color), || {
                    format!("the state of {color:?} is dropped while an event of it runs")
                })?;
                return ensure(self.freed.insert(color), || {
                    format!("the state of {color:?} is dropped twice")
                });
            }
            Seen::Gone { left } => {
                ensure(self.events.is_empty(), || {
                    format!("events {:?} were never dropped", self.events)
                })?;
                ensure(left == 0, || {
                    format!("{left} values of the program are left in the end")
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
