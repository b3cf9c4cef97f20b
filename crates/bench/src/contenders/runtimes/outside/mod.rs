//! Runtimes that also have timers and sockets.

mod mely;
mod tokio;

use std::net::TcpListener;
use std::time::Instant;

use super::{Conditions, Keyed, Mely};
use crate::contenders::implementation::Implementation;
use crate::measure::Failure;

/// What a timer does.
pub(crate) trait Tick: Send + 'static {
    /// It has fired: when to fire again, unless that was the last time.
    fn fired(&mut self) -> Option<Instant>;
}

/// A runtime to which sockets and timers belong.
pub(crate) trait Outside: Keyed {
    /// Accepts connections, and sends back what comes on them, each by itself.
    fn echo(&self, listener: TcpListener) -> Result<(), Failure>;

    /// Makes a key of its own for a timer, which fires at a time and then when it
    /// says.
    fn tick(&self, first: Instant, tick: impl Tick);
}

/// What is to be done on such a runtime.
pub(crate) trait OutsideJob {
    /// What comes out.
    type Output;

    /// Does it.
    fn on<R: Outside>(self, runtime: &R) -> Result<Self::Output, Failure>;
}

/// Whether an implementation is such a runtime of this process.
pub(crate) fn has_outside(implementation: Implementation) -> bool {
    matches!(
        implementation,
        Implementation::Mely(_) | Implementation::Tokio(_)
    )
}

/// Starts such a runtime, does something on it, and ends it. `None` if the
/// implementation is none.
pub(crate) fn start_outside<J: OutsideJob>(
    implementation: Implementation,
    conditions: Conditions,
    job: J,
) -> Option<Result<J::Output, Failure>> {
    let done = match implementation {
        Implementation::Mely(policy) => {
            Mely::start(policy, conditions).and_then(|runtime| job.on(&runtime))
        }
        Implementation::Tokio(_) => {
            super::tokio::start_with_drivers(conditions).and_then(|runtime| job.on(&runtime.tasks))
        }
        _ => return None,
    };
    Some(done)
}
