//! How many events of a color run in a row.

use crate::policy::Heuristics;

/// How many events of one color a core runs in a row before the next ready color
/// has its turn (*Efficient Workstealing*, section IV-A).
pub const BATCH_THRESHOLD: u32 = 10;

/// Events that take no longer are short, in cycles.
pub const SHORT_EVENT_CYCLES: u32 = 256;

/// How many short events run in a row: 64 of 256 cycles are 7 µs at 2.5 GHz.
///
/// To change from a color to the next costs 60 cycles and more, and up to four cache
/// misses: more than a short event. With 64 events in a row it is a few cycles each;
/// ten were 40 % slower on chains of events of 50 cycles.
const BATCH_SHORT: u32 = 64;

/// How many events of a color a core runs in a row.
///
/// ```
/// use mely_sched::{Batch, Policy};
/// assert_eq!(Batch::of(Policy::Mely.heuristics()), Batch::fixed(10));
/// assert!(Batch::of(Policy::Adaptive.heuristics()).short_events > 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Of events of any length.
    pub events: u32,
    /// As long as all of them are short.
    pub short_events: u32,
}

impl Batch {
    /// The same number for all events.
    pub const fn fixed(events: u32) -> Self {
        Self {
            events,
            short_events: events,
        }
    }

    /// What the papers say, or what is known to be better where costs are learned.
    pub const fn of(heuristics: Heuristics) -> Self {
        Self {
            events: BATCH_THRESHOLD,
            short_events: match heuristics.learn {
                true => BATCH_SHORT,
                false => BATCH_THRESHOLD,
            },
        }
    }
}
