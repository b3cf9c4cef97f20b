//! Every event that was accepted runs: a panic loses that event alone, unless it is to
//! poison its color; then no event of the color begins any more.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};
use crate::mely;

struct Pending {
    color: ColorId,
    /// The post has returned.
    accepted: bool,
    /// It is posted by a timer, which ends with its color.
    timer: bool,
    /// Its color was stopped before it had been accepted, or is to drop it.
    may_go: bool,
}

pub(super) struct Loss {
    colors: Vec<ColorPlan>,
    poison: bool,
    poisoned: BTreeSet<ColorId>,
    pending: BTreeMap<EventId, Pending>,
    /// Those that were stopped.
    stopped: BTreeSet<ColorId>,
    /// Their cancelling has begun, and may drop them.
    cancelling: BTreeSet<EventId>,
    ending: bool,
}

impl Loss {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.clone(),
            poison: program.poison,
            poisoned: BTreeSet::new(),
            pending: BTreeMap::new(),
            stopped: BTreeSet::new(),
            cancelling: BTreeSet::new(),
            ending: false,
        }
    }

    /// What has been accepted runs before the color ends, if that is to be; also what a first
    /// stop has found, and a second one finds again.
    fn stop(&mut self, color: ColorId, pending: mely::Pending) {
        let drops = pending == mely::Pending::Drop;
        self.stopped.insert(color);
        for event in self
            .pending
            .values_mut()
            .filter(|event| event.color == color)
        {
            event.may_go |= drops || event.timer || !event.accepted;
        }
    }

    fn dropped(&mut self, event: EventId) -> Result<(), String> {
        let Some(dropped) = self.pending.remove(&event) else {
            return Ok(());
        };
        let color = dropped.color;
        let excused = self.ending
            || dropped.may_go
            || !dropped.accepted && self.may_be_refused(color)
            || self.poisoned.contains(&color)
            || self.cancelling.contains(&event);
        ensure(excused, || {
            format!("event {event} of {color:?} was dropped and never ran")
        })
    }

    fn may_be_refused(&self, color: ColorId) -> bool {
        plan_of(&self.colors, color).is_some_and(|plan| plan.capacity.is_some())
    }
}

impl Check for Loss {
    fn name(&self) -> &'static str {
        "loss"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting {
                event, color, due, ..
            } => {
                let pending = Pending {
                    color,
                    accepted: false,
                    timer: due.is_some(),
                    may_go: self.stopped.contains(&color),
                };
                self.pending.insert(event, pending);
            }
            Seen::Stopping { color, pending } => self.stop(color, pending),
            Seen::Posted { event } => {
                if let Some(pending) = self.pending.get_mut(&event) {
                    pending.accepted = true;
                }
            }
            Seen::Began { event, color, .. } => {
                self.pending.remove(&event);
                return ensure(!self.poisoned.contains(&color), || {
                    format!("event {event} begins although a panic poisoned {color:?}")
                });
            }
            Seen::PollBegan { color, .. } => {
                return ensure(!self.poisoned.contains(&color), || {
                    format!("a task is polled although a panic poisoned {color:?}")
                });
            }
            Seen::Ended {
                color,
                panicked: true,
                ..
            } if self.poison => {
                self.poisoned.insert(color);
            }
            Seen::Cancelling { event } => {
                self.cancelling.insert(event);
            }
            Seen::Cancelled { event } => {
                self.pending.remove(&event);
            }
            // As the runtime has it: else somebody sleeps who should not.
            Seen::Asleep { pending: 0 } => {
                let left = self.pending.iter().find(|(_, event)| event.accepted);
                return ensure(left.is_none(), || {
                    format!("event {:?} has not run, and never will", left.map(|l| l.0))
                });
            }
            Seen::Ending { .. } => self.ending = true,
            Seen::Dropped { event } => return self.dropped(event),
            _ => {}
        }
        Ok(())
    }
}
