//! Admission: who may post, and the one place where that is counted.

use super::{Phase, Shared};
use crate::cost::counters::EventCounts;

/// Who posts, and what that counts in.
#[derive(Clone, Copy)]
pub(crate) enum Poster<'a> {
    /// A worker of the runtime, until that has stopped.
    Worker(&'a EventCounts),
    /// The event that a worker runs, to its own color, for as long as it runs.
    Handler(&'a EventCounts),
    /// Another thread, until the runtime drains.
    Outside,
    /// The runtime itself, on whatever thread, until it has stopped.
    Itself,
}

/// Why a post was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Full,
    Closed,
}

impl Shared {
    /// Whether an event may be posted to where `take_room` looks for room; counts it, as
    /// shed if it may not.
    #[inline]
    pub(crate) fn admit(
        &self,
        poster: Poster<'_>,
        take_room: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        let open = match poster {
            Poster::Worker(counts) => {
                counts.posted.add(1);
                self.phase() < Phase::Stopped
            }
            Poster::Handler(counts) => {
                counts.posted.add(1);
                true
            }
            Poster::Outside | Poster::Itself => {
                self.outside_counts.posted.add_shared(1);
                let last = match poster {
                    Poster::Outside => Phase::Running,
                    _ => Phase::Draining,
                };
                self.phase() <= last
            }
        };
        let refusal = match open {
            true if take_room() => return Ok(()),
            true => Refusal::Full,
            false => Refusal::Closed,
        };
        self.count_shed(poster);
        Err(refusal)
    }

    /// Counts an event that was refused, or was not to be run after all.
    pub(crate) fn count_shed(&self, poster: Poster<'_>) {
        match poster {
            Poster::Worker(counts) | Poster::Handler(counts) => counts.shed.add(1),
            Poster::Outside | Poster::Itself => self.outside_counts.shed.add_shared(1),
        }
    }
}
