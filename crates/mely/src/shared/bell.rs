//! Where the monitor of a runtime waits while nothing is to be looked at.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::machine::sync::unpoison;

/// What the one who waits is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rung {
    /// Nothing, or to go on.
    GoOn,
    /// To end.
    End,
}

/// A bell that workers ring when they get up, if somebody waits for that.
#[derive(Default)]
pub(crate) struct Bell {
    /// Somebody waits without a limit.
    waits: AtomicBool,
    ended: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    /// Waits for so long, or, without a limit, until a worker gets up. `all_sleep` is asked
    /// once more after it shows that somebody waits.
    pub(crate) fn wait(&self, limit: Option<Duration>, all_sleep: impl Fn() -> bool) -> Rung {
        let mut ended = unpoison(self.ended.lock());
        if let Some(limit) = limit {
            if !*ended {
                ended = unpoison(self.rung.wait_timeout(ended, limit)).0;
            }
        } else {
            // Release, before the counts of sleepers are read and written: a worker that
            // has got up since, which they would show, sees it.
            self.waits.store(true, Release);
            while !*ended && self.waits.load(Relaxed) && all_sleep() {
                ended = unpoison(self.rung.wait(ended));
            }
            self.waits.store(false, Relaxed);
        }
        match *ended {
            true => Rung::End,
            false => Rung::GoOn,
        }
    }

    /// A worker has got up.
    #[inline]
    pub(crate) fn ring(&self) {
        // Relaxed: the counts of sleepers have the ordering; see `wait`.
        if self.waits.load(Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let ended = self.ended.lock();
        self.waits.store(false, Relaxed);
        drop(ended);
        self.rung.notify_all();
    }

    /// Tells whoever waits, now or later, to end.
    pub(crate) fn end(&self) {
        *unpoison(self.ended.lock()) = true;
        self.rung.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_bell_is_heard_by_who_waits_and_by_who_comes_later() {
        let bell = Bell::default();
        // Somebody does not sleep: there is nothing to wait for.
        assert_eq!(bell.wait(None, || false), Rung::GoOn);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| bell.wait(None, || true));
            while !waiter.is_finished() {
                bell.ring();
            }
            assert_eq!(waiter.join().ok(), Some(Rung::GoOn));
        });
        bell.end();
        assert_eq!(bell.wait(None, || true), Rung::End);
        assert_eq!(bell.wait(Some(Duration::MAX), || true), Rung::End);
    }
}
