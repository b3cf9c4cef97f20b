//! A color waits at most one batch of each other color that is ready on its core.
//!
//! Checked for colors that do not move, since a post has returned that can be taken at
//! once: on their own core, or from outside if nobody steals. Whoever posts may stand still
//! before that, and a thief that looks into the mailbox of a core in a long event has what
//! was sent there in its hands, until it has sent back what is pinned. The color that runs may end its batch, and come
//! again before the core has looked at what others sent: two batches of a color are
//! the bound. What runs inside an event, as it was called there, is of the turn around it.
//! Where the events of a core wait in one queue (Libasync-smp, CFSE), they
//! run as they were posted, however many are of one color.

use std::collections::BTreeMap;

use super::{Check, ColorId, EventId, Poster, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};
use crate::mely::{Heuristics, QueueKind};

/// How many events run in a row at most where the program leaves that to the policy.
pub(super) const BATCH_THRESHOLD: u32 = 10;
/// The same, where costs are learned and events are short.
const BATCH_LEARNED: u32 = 64;

pub(super) struct Fair {
    colors: Vec<ColorPlan>,
    cores: usize,
    heuristics: Heuristics,
    batch: u32,
    /// Events whose posts have not returned.
    posting: BTreeMap<EventId, usize>,
    /// Events pending that can be taken at once, of colors that do not move.
    pending: BTreeMap<EventId, ColorId>,
    /// How many events of each other color ran on the core of a color that waits.
    waiting: BTreeMap<usize, BTreeMap<ColorId, u32>>,
    /// The colors that run, and where.
    running: BTreeMap<ColorId, usize>,
}

impl Fair {
    pub(super) fn new(program: &Program) -> Self {
        let heuristics = program.policy.heuristics();
        let by_policy = match heuristics.learn {
            true => BATCH_LEARNED,
            false => BATCH_THRESHOLD,
        };
        Self {
            colors: program.colors.clone(),
            cores: program.cores,
            heuristics,
            batch: program.batch.unwrap_or(by_policy),
            posting: BTreeMap::new(),
            pending: BTreeMap::new(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
        }
    }

    /// The core of a color that does not move.
    fn home(&self, color: ColorId) -> Option<usize> {
        let plan = plan_of(&self.colors, color)?;
        let stays = plan.pinned || !self.heuristics.steal;
        stays.then_some(plan.home(self.cores))
    }

    fn has_pending(&self, color: ColorId) -> bool {
        self.pending.values().any(|&of| of == color)
    }

    fn began(&mut self, event: EventId, color: ColorId, worker: usize) -> Result<(), String> {
        self.posting.remove(&event);
        self.pending.remove(&event);
        if let ColorId::Planned(number) = color {
            self.waiting.remove(&number);
        }
        let runs_inside = self.running.values().any(|&at| at == worker);
        self.running.insert(color, worker);
        if runs_inside {
            return Ok(());
        }
        for (&number, others) in &mut self.waiting {
            if self.colors[number].home(self.cores) != worker {
                continue;
            }
            let ran = others.entry(color).or_default();
            *ran += 1;
            let (ran, most) = (*ran, 2 * self.batch);
            ensure(ran <= most, || {
                format!(
                    "color {number} waits on worker {worker} while {ran} events of {color:?} run: two batches are {most}"
                )
            })?;
        }
        Ok(())
    }
}

impl Check for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        if self.heuristics.queues == QueueKind::EventFifo {
            return Ok(());
        }
        if let Seen::Ended { color, .. } | Seen::PollEnded { color } = *seen {
            self.running.remove(&color);
        }
        match *seen {
            Seen::Posting {
                event,
                color: color @ ColorId::Planned(number),
                by,
                due: None,
                ..
            } => {
                let Some(home) = self.home(color) else {
                    return Ok(());
                };
                let is_taken_at_once = match by {
                    Poster::Outside => !self.heuristics.steal,
                    _ => by == Poster::Worker(home),
                };
                if is_taken_at_once {
                    self.posting.insert(event, number);
                }
            }
            Seen::Posted { event } => {
                // Unless it has begun meanwhile.
                if let Some(number) = self.posting.remove(&event) {
                    let color = ColorId::Planned(number);
                    if !self.has_pending(color) {
                        self.waiting.insert(number, BTreeMap::new());
                    }
                    self.pending.insert(event, color);
                }
            }
            Seen::Began {
                event,
                color,
                worker,
                ..
            } => return self.began(event, color, worker),
            // A poll is an event that has no number.
            Seen::PollBegan { color, worker } => return self.began(0, color, worker),
            Seen::Ended {
                color: color @ ColorId::Planned(number),
                ..
            }
            | Seen::PollEnded {
                color: color @ ColorId::Planned(number),
            } if self.home(color).is_some() && self.has_pending(color) => {
                self.waiting.insert(number, BTreeMap::new());
            }
            Seen::Dropped { event } => {
                self.posting.remove(&event);
                if let Some(color @ ColorId::Planned(number)) = self.pending.remove(&event)
                    && !self.has_pending(color)
                {
                    self.waiting.remove(&number);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
