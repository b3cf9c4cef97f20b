//! The outside world, as a worker sees it.

use std::time::Duration;

use crate::reactor::Reactor;

/// Where a worker sleeps and learns of the outside world.
pub(crate) trait Driver: Send + Sync {
    /// Waits up to `timeout` (`None`: without end) for readiness or a wake-up, and
    /// posts what is ready; with `dispatch` false it ignores what is ready.
    fn wait(&self, timeout: Option<Duration>, dispatch: bool) -> usize;

    /// Ends the current or the next wait, from any thread.
    fn wake(&self);

    /// Whether there is anything that could become ready.
    fn has_sources(&self) -> bool;

    /// The reactor behind it, if it is one.
    fn reactor(&self) -> Option<&Reactor> {
        None
    }
}
