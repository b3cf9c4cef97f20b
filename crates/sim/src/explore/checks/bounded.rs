//! A bounded color never has more events pending than it may. Timers that are due come
//! on top, by its documentation; and one event that its core has taken, but that has
//! not begun to its own knowledge: there is none while another one runs.
//!
//! Events of control have room of their own, and are refused only where that is full.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, EventId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};

pub(super) struct Bounded {
    colors: Vec<ColorPlan>,
    posting: BTreeMap<EventId, ColorId>,
    /// What has been accepted and has not begun.
    accepted: BTreeMap<EventId, ColorId>,
    control: Control,
    running: BTreeSet<ColorId>,
}

/// Events of control that have not begun.
#[derive(Default)]
struct Control {
    pending: BTreeMap<EventId, ColorId>,
    /// Those whose posts have not returned, and how many others were there meanwhile.
    posting: BTreeMap<EventId, usize>,
    /// Colors that may refuse them for another reason.
    ended: BTreeSet<ColorId>,
    ending: bool,
}

impl Control {
    fn post(&mut self, event: EventId, color: ColorId) {
        self.pending.insert(event, color);
        self.posting.insert(event, 0);
        let others = self.pending.values().filter(|&&of| of == color).count() - 1;
        for (posting, most) in &mut self.posting {
            if self.pending.get(posting) == Some(&color) {
                *most = others.max(*most);
            }
        }
    }

    fn drop(&mut self, event: EventId, colors: &[ColorPlan]) -> Result<(), String> {
        let color = self.pending.remove(&event);
        let (Some(color), Some(others)) = (color, self.posting.remove(&event)) else {
            return Ok(());
        };
        let room = plan_of(colors, color).and_then(|plan| plan.control);
        let excused = self.ending || self.ended.contains(&color);
        ensure(excused || room.is_none_or(|room| others >= room), || {
            format!(
                "event {event} of control is refused while {others} others are pending on {color:?}, which has room for {room:?}"
            )
        })
    }

    fn gone(&mut self, event: EventId) {
        self.pending.remove(&event);
        self.posting.remove(&event);
    }
}

impl Bounded {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.clone(),
            posting: BTreeMap::new(),
            accepted: BTreeMap::new(),
            control: Control::default(),
            running: BTreeSet::new(),
        }
    }

    /// It may have been refused, or have run before the post returned.
    fn gone(&mut self, event: EventId) {
        self.posting.remove(&event);
        self.accepted.remove(&event);
    }

    /// A post has returned.
    fn posted(&mut self, event: EventId) -> Result<(), String> {
        self.control.posting.remove(&event);
        let Some(color) = self.posting.remove(&event) else {
            return Ok(());
        };
        self.accepted.insert(event, color);
        let pending = self.accepted.values().filter(|&&of| of == color).count();
        let capacity = plan_of(&self.colors, color).and_then(|plan| plan.capacity);
        let taken = usize::from(!self.running.contains(&color));
        ensure(capacity.is_none_or(|most| pending <= most + taken), || {
            format!("{pending} events are pending on {color:?}, whose capacity is {capacity:?}")
        })
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
            Seen::Control { event } => {
                if let Some(color) = self.posting.remove(&event) {
                    self.control.post(event, color);
                }
            }
            Seen::Posted { event } => return self.posted(event),
            Seen::Began { event, color, .. } => {
                self.gone(event);
                self.control.gone(event);
                self.running.insert(color);
            }
            Seen::Ended {
                color, panicked, ..
            } => {
                self.running.remove(&color);
                if panicked {
                    self.control.ended.insert(color);
                }
            }
            Seen::Dropped { event } => {
                self.gone(event);
                return self.control.drop(event, &self.colors);
            }
            Seen::Stopping { color, .. } => {
                self.control.ended.insert(color);
            }
            Seen::Ending { .. } => self.control.ending = true,
            _ => {}
        }
        Ok(())
    }
}
