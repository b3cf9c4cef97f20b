//! What one thread posts to a color runs in that order, and so does what the events of
//! one color post to another. Timers are posted when they are due, by the runtime.

use std::collections::BTreeMap;

use super::{Check, ColorId, EventId, Poster, Seen, ensure};

#[derive(Default)]
pub(super) struct Order {
    posted: BTreeMap<EventId, (Poster, Option<ColorId>)>,
    /// The last event that ran, by who posted it and its color.
    by_thread: BTreeMap<(Poster, ColorId), EventId>,
    by_color: BTreeMap<(ColorId, ColorId), EventId>,
}

impl Check for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting {
                event,
                by,
                from,
                due: None,
                ..
            } => {
                self.posted.insert(event, (by, from));
            }
            Seen::Began { event, color, .. } => {
                let Some((by, from)) = self.posted.remove(&event) else {
                    return Ok(());
                };
                let before = self.by_thread.insert((by, color), event);
                ensure(before < Some(event), || {
                    format!(
                        "{by:?} posted event {event} to {color:?} before event {before:?}, which ran first"
                    )
                })?;
                if let Some(from) = from {
                    let before = self.by_color.insert((from, color), event);
                    ensure(before < Some(event), || {
                        format!(
                            "{from:?} posted event {event} to {color:?} before event {before:?}, which ran first"
                        )
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
