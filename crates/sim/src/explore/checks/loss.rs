//! Every event that was accepted runs: a panic loses that event alone, unless it is to
//! poison its color; then no event of the color begins any more.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};

struct Pending {
    color: ColorId,
    /// The post has returned.
    accepted: bool,
}

pub(super) struct Loss {
    colors: Vec<ColorPlan>,
    poison: bool,
    poisoned: BTreeSet<ColorId>,
    pending: BTreeMap<EventId, Pending>,
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
            cancelling: BTreeSet::new(),
            ending: false,
        }
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
            Seen::Posting { event, color, .. } => {
                let accepted = false;
                self.pending.insert(event, Pending { color, accepted });
            }
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
            Seen::Dropped { event } => {
                let Some(Pending { color, accepted }) = self.pending.remove(&event) else {
                    return Ok(());
                };
                let refused = !accepted && self.may_be_refused(color);
                let excused = self.ending
                    || refused
                    || self.poisoned.contains(&color)
                    || self.cancelling.contains(&event);
                return ensure(excused, || {
                    format!("event {event} of {color:?} was dropped and never ran")
                });
            }
            _ => {}
        }
        Ok(())
    }
}
