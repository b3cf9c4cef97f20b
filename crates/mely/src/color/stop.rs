//! The end of a color before that of its last handle.

use super::{Color, Colored};
use crate::cell::room::Room;
use crate::color::context::Context;
use crate::color::spans::Inside;
use crate::machine::panics::drop_refused;
use crate::shared::colors::POLL_COLOR;
use crate::worker::{self, Worker};

/// What becomes of the pending events of a color that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// They run: all that was posted before, in its order.
    Run,
    /// They are dropped, and count as shed.
    Drop,
}

/// Stops a color where it is dropped: in the event that comes after all others, or with that,
/// which a color that a panic has poisoned does not run.
struct Stops(Color);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.stop_now();
    }
}

impl<T: Send + 'static> Colored<T> {
    /// Ends the color while others still have handles of it: later posts are refused as
    /// [`Closed`](crate::PostError::Closed), calls that are dropped say so, and when the last
    /// event is over the color's states are dropped. What cannot be stopped is color 0 of a
    /// runtime with a single reactor.
    ///
    /// With [`Pending::Drop`] nothing begins any more after this, if it is called in an event
    /// of the color; elsewhere the batch that is being run may go on, and what is pending is
    /// dropped by the worker that has the color. With [`Pending::Run`]
    /// what was posted before runs first, on a full color too, and posts are accepted, and
    /// shed, until then.
    ///
    /// Before the states go the timers of the color are cancelled, and its tasks given up.
    ///
    /// ```
    /// use mely::{Pending, PostError};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let session = rt.colored(vec!["open"]);
    /// session.post(|log, _| log.push("last words"))?;
    /// session.stop(Pending::Run);
    /// # rt.wait_idle();
    /// assert!(matches!(session.post(|_, _| ()), Err(PostError::Closed(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop(&self, pending: Pending) {
        let shared = self.color.shared();
        let is_polled = shared.single().is_some() && self.id() == u64::from(POLL_COLOR);
        if is_polled {
            return;
        }
        match pending {
            Pending::Drop => self.stop_now(),
            Pending::Run if self.is_stopped() => {}
            Pending::Run => {
                let stops = Stops(self.color());
                // While the runtime drains, too: what was accepted before runs.
                let last = move |(): &mut (), _: &mut Context<'_>| drop(stops);
                let color = self.color();
                let nothing = &mut Inside::nothing();
                let posted = color.unnamed().post_with_room(nothing, Room::Last, last);
                _ = posted.map_err(drop_refused);
            }
        }
    }

    /// Whether it was stopped: whether posts are refused for that.
    pub fn is_stopped(&self) -> bool {
        self.color.is_stopped()
    }

    fn stop_now(&self) {
        let shared = self.color.shared();
        worker::with_current(shared, |worker: Option<&Worker>| match worker {
            Some(worker) => worker.stop(&self.color),
            None => drop(self.color.stop()),
        });
    }
}
