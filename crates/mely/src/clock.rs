//! Time, injected: production reads the machine's, a simulation brings its own.

use std::time::Instant;

/// Where a runtime gets its time from.
pub(crate) trait Clock: Send + Sync {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The cycle counter.
    fn cycles(&self) -> u64;
}

/// The machine's clocks.
#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[inline]
    fn cycles(&self) -> u64 {
        crate::cycles::now()
    }
}
