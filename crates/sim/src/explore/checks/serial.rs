//! One event of a color at a time.

use std::collections::BTreeMap;

use super::{Check, ColorId, EventId, Seen, ensure};

#[derive(Default)]
pub(super) struct Serial {
    running: BTreeMap<ColorId, (EventId, usize)>,
}

impl Check for Serial {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Began {
                event,
                color,
                worker,
                ..
            } => {
                let other = self.running.insert(color, (event, worker));
                ensure(other.is_none(), || {
                    format!(
                        "event {event} of {color:?} begins on worker {worker} while (event, worker) {other:?} runs"
                    )
                })
            }
            Seen::Ended { event, color, .. } => {
                let running = self.running.remove(&color);
                ensure(running.is_some_and(|(running, _)| running == event), || {
                    format!("event {event} of {color:?} ends while {running:?} runs")
                })
            }
            // No event has the number 0.
            Seen::PollBegan { color, worker } => {
                let other = self.running.insert(color, (0, worker));
                ensure(other.is_none(), || {
                    format!(
                        "a task of {color:?} is polled on worker {worker} while (event, worker) {other:?} runs"
                    )
                })
            }
            Seen::PollEnded { color } => {
                let running = self.running.remove(&color);
                ensure(running.is_some_and(|(running, _)| running == 0), || {
                    format!("a poll of {color:?} ends while {running:?} runs")
                })
            }
            _ => Ok(()),
        }
    }
}
