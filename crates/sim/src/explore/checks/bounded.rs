//! A bounded color never has more events pending than it may. Timers that are due come
//! on top, by its documentation; and one event that its core has taken, but that has
//! not begun to its own knowledge: there is none while another one runs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};

pub(super) struct Bounded {
    colors: Vec<ColorPlan>,
    posting: BTreeMap<EventId, ColorId>,
    /// What has been accepted and has not begun.
    accepted: BTreeMap<EventId, ColorId>,
    running: BTreeSet<ColorId>,
}

impl Bounded {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.clone(),
            posting: BTreeMap::new(),
            accepted: BTreeMap::new(),
            running: BTreeSet::new(),
        }
    }

    /// It may have been refused, or have run before the post returned.
    fn gone(&mut self, event: EventId) {
        self.posting.remove(&event);
        self.accepted.remove(&event);
    }
}

impl Check for Bounded {
    fn name(&self) -> &'static str {
        "bounded"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting {
                event,
                color,
                due: None,
                ..
            } if plan_of(&self.colors, color).is_some_and(|plan| plan.capacity.is_some()) => {
                self.posting.insert(event, color);
            }
            Seen::Posted { event } => {
                let Some(color) = self.posting.remove(&event) else {
                    return Ok(());
                };
                self.accepted.insert(event, color);
                let pending = self.accepted.values().filter(|&&of| of == color).count();
                let capacity = plan_of(&self.colors, color).and_then(|plan| plan.capacity);
                let taken = usize::from(!self.running.contains(&color));
                return ensure(capacity.is_none_or(|most| pending <= most + taken), || {
                    format!(
                        "{pending} events are pending on {color:?}, whose capacity is {capacity:?}"
                    )
                });
            }
            Seen::Began { event, color, .. } => {
                self.gone(event);
                self.running.insert(color);
            }
            Seen::Ended { color, .. } => {
                self.running.remove(&color);
            }
            Seen::Dropped { event } => self.gone(event),
            _ => {}
        }
        Ok(())
    }
}
