//! Timers for futures: events of the color that waits.

mod interval;
mod sleep;
mod timeout;

use std::time::{Duration, Instant};

pub use self::interval::{Interval, MissedTickBehavior, interval, interval_at};
#[cfg(feature = "hyper")]
pub(crate) use self::sleep::Spare;
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::timeout::{timeout, timeout_at};

/// So long after `start`. A time beyond the clock's range never comes; a century stands
/// for it.
pub(crate) fn after(start: Instant, delay: Duration) -> Instant {
    let century = Duration::from_secs(100 * 365 * 24 * 3600);
    start.checked_add(delay).unwrap_or_else(|| start + century)
}
