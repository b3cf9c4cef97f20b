//! Who waits for room is woken when there is some: once all workers sleep nobody waits.

use std::collections::BTreeSet;

use super::{Check, EventId, Seen, ensure};

#[derive(Default)]
pub(super) struct Room {
    /// What is to be posted, or to be answered, and was told to wait.
    waiting: BTreeSet<EventId>,
    /// What waits no more: another worker may have run it before its caller says that it waits.
    over: BTreeSet<EventId>,
}

impl Check for Room {
    fn name(&self) -> &'static str {
        "room"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::NoRoom { event } if !self.over.contains(&event) => {
                self.waiting.insert(event);
            }
            Seen::Posted { event } | Seen::Began { event, .. } | Seen::Dropped { event } => {
                self.waiting.remove(&event);
                self.over.insert(event);
            }
            // As the runtime has it: else somebody sleeps who should not.
            Seen::Asleep { pending: 0 } => {
                return ensure(self.waiting.is_empty(), || {
                    format!("all workers sleep while {:?} wait for room", self.waiting)
                });
            }
            _ => {}
        }
        Ok(())
    }
}
