//! Where a worker sleeps, and what it learns there of the outside world.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, EventFlags};

/// What a wait found ready.
pub(crate) type ReadyList = Vec<epoll::Event>;

/// Told when its descriptor is ready.
pub(crate) trait Source: Send + Sync {
    fn ready(self: Arc<Self>, flags: EventFlags);
}

/// Where a source is registered, to be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

/// Descriptors whose readiness is watched.
pub(crate) trait Sources: Send + Sync {
    /// Watches a descriptor from now on; if it is ready already, `source` is told at the
    /// next wait.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn add(&self, fd: BorrowedFd<'_>, source: Arc<dyn Source>) -> io::Result<Token>;

    /// Ends the watch.
    fn remove(&self, fd: BorrowedFd<'_>, token: Token);

    /// Forgets all sources, at the end of the runtime.
    fn clear(&self);
}

/// Where a worker sleeps and learns of the outside world.
pub(crate) trait Driver: Send + Sync {
    /// Waits up to `timeout` (`None`: without end) for readiness or a wake-up, and
    /// notes what is ready. Nothing of the program's is called.
    fn wait(&self, ready: &mut ReadyList, timeout: Option<Duration>);

    /// Notes what is ready without waiting, for another than who waits there: a wake-up is
    /// left for him.
    fn look(&self, ready: &mut ReadyList) {
        ready.clear();
    }

    /// Posts what is ready; how much that was.
    fn dispatch(&self, ready: &mut ReadyList) -> usize {
        ready.clear();
        0
    }

    /// Ends the current or the next wait, from any thread.
    fn wake(&self);

    /// Lets other threads run on this core, if one of them is ready to.
    fn give_way(&self) {}

    /// Whether there is anything that could become ready.
    fn has_sources(&self) -> bool;

    /// Where descriptors are registered with it, if they can be.
    fn sources(&self) -> Option<&dyn Sources> {
        None
    }
}
