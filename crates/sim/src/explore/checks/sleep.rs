//! Work and a sleeping worker never stay together: all workers sleep only when nothing
//! is pending; and under a policy that steals by time left none sleeps for long beside
//! a long event that it might steal. (The others leave a color where it is that has
//! half of the events of its core, as *Efficient Workstealing*, figure 2, says.)

use std::collections::{BTreeMap, BTreeSet};

use super::fair::BATCH_THRESHOLD;
use super::{Check, ColorId, EventId, Seen, ensure, plan_of};
use crate::explore::program::LONG_CYCLES;
use crate::explore::program::{ColorPlan, Kind, Program};
use crate::mely::simulated::meter;

/// How many events may run first, where costs are learned: a core offers all that it
/// has before a long event, so one that runs already, and the turns of short ones.
const EVENTS_LEARNED: u64 = 2;

/// What a core does around an event, at the most, in cycles.
const AROUND_CYCLES: u64 = 1_000;

pub(super) struct Sleep {
    colors: Vec<ColorPlan>,
    steals: bool,
    /// How long a worker may sleep beside work that is worth waking it, in cycles.
    bound_cycles: u64,
    now: u64,
    /// Long events that wait, of colors that may be stolen, and since when.
    long: BTreeMap<EventId, (ColorId, u64)>,
    posting: BTreeMap<EventId, ColorId>,
    stopped: BTreeSet<ColorId>,
    /// Colors of which an event runs (`None`), or since when none does.
    free_since: BTreeMap<ColorId, Option<u64>>,
}

impl Sleep {
    pub(super) fn new(program: &Program) -> Self {
        let heuristics = program.policy.heuristics();
        // The papers' policies look at a color that is ready already when its core has
        // ended its turn: it may have become worth a steal since.
        let batch = u64::from(program.batch.unwrap_or(BATCH_THRESHOLD));
        let events = match heuristics.learn {
            true => EVENTS_LEARNED,
            false => batch + 1,
        };
        Self {
            colors: program.colors.clone(),
            steals: heuristics.steal && heuristics.time_left,
            bound_cycles: events * (LONG_CYCLES + AROUND_CYCLES),
            now: 0,
            long: BTreeMap::new(),
            posting: BTreeMap::new(),
            stopped: BTreeSet::new(),
            free_since: BTreeMap::new(),
        }
    }

    fn beside_work(&self, asleep: &[Option<u64>]) -> Result<(), String> {
        let sleepers = asleep.iter().enumerate();
        let sleepers = sleepers.filter_map(|(worker, since)| Some((worker, (*since)?)));
        let Some((worker, since)) = sleepers.min_by_key(|&(_, since)| since) else {
            return Ok(());
        };
        for (event, (color, posted)) in &self.long {
            let Some(&Some(free)) = self.free_since.get(color) else {
                continue;
            };
            let beside = self.now.saturating_sub(since.max(free).max(*posted));
            ensure(beside <= self.bound_cycles, || {
                format!(
                    "worker {worker} has slept for {beside} cycles beside event {event} of {color:?}, which is long and may be stolen"
                )
            })?;
        }
        Ok(())
    }
}

impl Check for Sleep {
    fn name(&self) -> &'static str {
        "sleep"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Step { now, asleep } => {
                self.now = now;
                if !self.long.is_empty() {
                    return self.beside_work(asleep);
                }
            }
            Seen::Asleep { pending } => {
                return ensure(pending == 0, || {
                    format!("all workers sleep while {pending} events are pending")
                });
            }
            Seen::Posting {
                event,
                color,
                kind: Kind::Long,
                due: None,
                ..
            } if self.steals
                && !self.stopped.contains(&color)
                && !plan_of(&self.colors, color).is_some_and(|plan| plan.pinned) =>
            {
                self.posting.insert(event, color);
            }
            Seen::Posted { event } => {
                if let Some(color) = self.posting.remove(&event) {
                    self.long.insert(event, (color, meter::now()));
                    self.free_since.entry(color).or_insert(Some(0));
                }
            }
            Seen::Began { event, color, .. } => {
                self.posting.remove(&event);
                self.long.remove(&event);
                self.free_since.insert(color, None);
            }
            Seen::PollBegan { color, .. } => {
                self.free_since.insert(color, None);
            }
            Seen::Ended { color, .. } | Seen::PollEnded { color } => {
                self.free_since.insert(color, Some(meter::now()));
            }
            Seen::Dropped { event } => {
                self.posting.remove(&event);
                self.long.remove(&event);
            }
            // Perhaps it is not run any more.
            Seen::Stopping { color, .. } => {
                self.posting.retain(|_, of| *of != color);
                self.long.retain(|_, (of, _)| *of != color);
                self.stopped.insert(color);
            }
            _ => {}
        }
        Ok(())
    }
}
