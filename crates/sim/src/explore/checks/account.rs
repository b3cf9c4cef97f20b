//! Posted = run + shed + cancelled + abandoned; and the metrics agree with what the
//! program did.

use std::collections::BTreeSet;

use super::{Check, EventId, Poster, Seen, ensure};
use crate::mely::{Pending, ShutdownReport, Snapshot};

#[derive(Default)]
pub(super) struct Account {
    posted: u64,
    run: u64,
    dropped: u64,
    panics: u64,
    /// Polls of tasks that were seen, and how many there may be: one when the task is
    /// spawned, one for each answer that it awaits, and each time that it waits for room.
    polls: u64,
    polls_max: u64,
    /// Events by which colors end, after all that is pending.
    stops: u64,
    /// What waits for room, and how much of that was dropped unposted, perhaps.
    waiting: BTreeSet<EventId>,
    unposted_max: u64,
    /// How often a task may have been refused the room that it had just seen: once before it
    /// waits and once after, and once before the post that succeeds.
    refused_max: u64,
    ends_at_once: bool,
}

impl Account {
    fn check(&self, metrics: &Snapshot, report: &ShutdownReport) -> Result<(), String> {
        let events = metrics.events;
        let done = events.run + events.shed + events.cancelled + events.abandoned;
        ensure(events.posted == done, || {
            format!(
                "of {} events posted {done} are accounted for: {events:?}",
                events.posted
            )
        })?;
        let others_max = self.polls_max + self.stops;
        let posted_min = self.posted - self.unposted_max - self.waiting.len() as u64;
        let posted_max = self.posted + others_max + self.refused_max;
        let posted = posted_min + self.polls..=posted_max;
        ensure(posted.contains(&events.posted), || {
            format!(
                "{posted:?} events were posted, {} were counted",
                events.posted
            )
        })?;
        let run = self.run + self.polls..=self.run + others_max;
        ensure(run.contains(&events.run), || {
            format!("{run:?} events ran, {} were counted", events.run)
        })?;
        ensure(report.events_run == events.run, || {
            format!(
                "{} events are reported to have run, of {}",
                report.events_run, events.run
            )
        })?;
        let panics = metrics.total(|worker| worker.panics);
        ensure(self.panics == panics, || {
            format!("{} events panicked, {panics} were counted", self.panics)
        })?;
        let abandoned: u64 = report.abandoned.iter().map(|(_, events)| events).sum();
        ensure(abandoned == events.abandoned, || {
            format!(
                "{abandoned} events are reported to be abandoned, of {}",
                events.abandoned
            )
        })?;
        ensure(self.ends_at_once || abandoned == 0, || {
            format!("{abandoned} events were abandoned although there was time")
        })
    }
}

impl Check for Account {
    fn name(&self) -> &'static str {
        "account"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Posting { by, .. } => {
                self.posted += 1;
                let of_task = u64::from(matches!(by, Poster::Task(_)));
                self.polls_max += of_task;
                self.refused_max += of_task;
            }
            Seen::Spawning => self.polls_max += 1,
            Seen::NoRoom { event } => {
                self.polls_max += 1;
                self.refused_max += 2;
                self.waiting.insert(event);
            }
            Seen::Posted { event } => {
                self.waiting.remove(&event);
            }
            Seen::Stopping {
                pending: Pending::Run,
                ..
            } => self.stops += 1,
            Seen::PollBegan { .. } => self.polls += 1,
            Seen::Began { event, .. } => {
                self.run += 1;
                self.waiting.remove(&event);
            }
            Seen::Dropped { event } => {
                self.dropped += 1;
                self.unposted_max += u64::from(self.waiting.remove(&event));
            }
            Seen::Ended { panicked: true, .. } => self.panics += 1,
            Seen::Ending { at_once } => self.ends_at_once = at_once,
            Seen::End { metrics, report } => return self.check(metrics, report),
            Seen::Gone { .. } => {
                let (posted, ended) = (self.posted, self.run + self.dropped);
                return ensure(posted == ended, || {
                    format!("of {posted} events posted {ended} ran or were dropped")
                });
            }
            _ => {}
        }
        Ok(())
    }
}
