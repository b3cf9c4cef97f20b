//! Timers never fire early, and not after they were cancelled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::{Check, EventId, Seen, ensure};

#[derive(Default)]
pub(super) struct Timers {
    due: BTreeMap<EventId, Instant>,
    cancelled: BTreeSet<EventId>,
}

impl Check for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting {
                event,
                due: Some(due),
                ..
            } => {
                self.due.insert(event, due);
            }
            Seen::Cancelled { event } => {
                self.cancelled.insert(event);
            }
            Seen::Began { event, now, .. } => {
                ensure(!self.cancelled.contains(&event), || {
                    format!("event {event} begins although its timer was cancelled")
                })?;
                if let (Some(due), Some(now)) = (self.due.remove(&event), now) {
                    let early = due.saturating_duration_since(now);
                    return ensure(early.is_zero(), || {
                        format!("event {event} begins {early:?} before it is due")
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}
