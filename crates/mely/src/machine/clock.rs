//! Time, injected: production reads the machine's, a simulation brings its own.

use std::time::Instant;

/// Where a runtime gets its time from.
pub(crate) trait Clock: Send + Sync {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The cycle counter.
    fn cycles(&self) -> u64;

    /// How many cycles of the counter a second has.
    fn cycles_per_second(&self) -> f64 {
        crate::machine::cycles::per_second()
    }
}

/// What reading the cycle counter takes, in cycles: the least of a few readings.
pub(crate) fn reading_cycles(clock: &dyn Clock) -> u64 {
    // So many that at least one is not interrupted.
    const READINGS: usize = 32;
    let reading = || clock.cycles().abs_diff(clock.cycles());
    (0..READINGS).map(|_| reading()).min().unwrap_or(0)
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
        crate::machine::cycles::now()
    }
}
