//! A runtime that was stopped ends: each worker begins no more than the one event that it
//! was about to begin, and none ends before its handler.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, ColorId, Seen, ensure};

#[derive(Default)]
pub(super) struct Ends {
    stopped: bool,
    /// What each worker has begun since then.
    begun: BTreeMap<usize, u32>,
    running: BTreeSet<ColorId>,
}

impl Ends {
    fn began(&mut self, color: ColorId, worker: usize) -> Result<(), String> {
        self.running.insert(color);
        if !self.stopped {
            return Ok(());
        }
        let begun = self.begun.entry(worker).or_default();
        *begun += 1;
        ensure(*begun == 1, || {
            format!("worker {worker} begins an event of {color:?} long after the stop")
        })
    }
}

impl Check for Ends {
    fn name(&self) -> &'static str {
        "ends"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Began { color, worker, .. } | Seen::PollBegan { color, worker } => {
                return self.began(color, worker);
            }
            Seen::Ended { color, .. } | Seen::PollEnded { color } => {
                self.running.remove(&color);
            }
            Seen::Ending { at_once } => self.stopped = at_once,
            Seen::End { .. } => {
                return ensure(self.running.is_empty(), || {
                    format!(
                        "the runtime has ended while events of {:?} run",
                        self.running
                    )
                });
            }
            _ => {}
        }
        Ok(())
    }
}
