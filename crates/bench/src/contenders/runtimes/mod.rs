//! Runtimes as most workloads see them: keys that handle the messages posted to
//! them, one at a time and in order.
//!
//! What a key is, is up to the runtime: a color, a task with a channel, a queue whose
//! owner is spawned when something is in it. Each is written as a good user of that
//! runtime would, once for all workloads; calls are static, so that the workloads
//! cost what they would cost if they were written by hand.

mod async_executor;
mod mely;
pub(crate) mod outside;
mod rayon;
pub(crate) mod services;
mod tasks;
mod tokio;

use ::mely::{Affinity, Handler};

pub(crate) use self::mely::Mely;
pub(crate) use self::rayon::Rayon;
pub(crate) use self::tasks::Tasks;

use crate::contenders::implementation::Implementation;
use crate::measure::{Failure, Outcome, Run};

/// What a key does with its messages.
pub(crate) trait Actor: Send + 'static {
    /// What can be posted to it.
    type Message: Send + 'static;

    /// Handles one message. No other message of the key is handled meanwhile.
    fn handle(&mut self, message: Self::Message, to_self: &mut impl ToSelf<Self::Message>);
}

/// The way of a key to post to itself.
pub(crate) trait ToSelf<Message> {
    /// Posts a message behind all that were posted to the key before.
    fn post(&mut self, message: Message);
}

/// A runtime that is started. Dropping it ends it.
pub(crate) trait Keyed: Send + Sync {
    /// A handle to a key, to post from anywhere.
    type Key<A: Actor>: Clone + Send + Sync + 'static;

    /// Makes a key.
    fn key<A: Actor>(&self, actor: A) -> Self::Key<A>;

    /// Makes a key that stays on one worker, where the runtime has a way to say so,
    /// and that lets others run after each of its messages.
    fn poster<A: Actor>(&self, actor: A) -> Result<Self::Key<A>, Failure>;

    /// Posts a message to a key, from inside or outside.
    fn post<A: Actor>(key: &Self::Key<A>, message: A::Message);

    /// Like [`post`](Self::post), for runtimes that learn what kinds of events cost.
    fn post_via<A: Actor>(key: &Self::Key<A>, kind: &'static Handler, message: A::Message) {
        let _ = kind;
        Self::post(key, message);
    }

    /// Says that nobody will post to a key any more.
    fn close<A: Actor>(key: &Self::Key<A>) {
        let _ = key;
    }
}

/// Runtimes that run events which have nothing in common.
pub(crate) trait Fresh {
    /// Runs the workload once.
    fn unbalanced(&self, run: &Run) -> Result<Outcome, Failure>;
}

/// How a runtime is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// Worker threads.
    pub(crate) workers: usize,
    /// Where those of Mely run.
    pub(crate) affinity: Affinity,
    /// Whether a key lets others run after each of its messages, not only when it
    /// has none or has run a few.
    pub(crate) yields: bool,
}

/// What is to be done on a runtime, whichever it is.
pub(crate) trait Job {
    /// What comes out.
    type Output;

    /// Does it.
    fn on<R: Keyed + Fresh + 'static>(self, runtime: &R) -> Result<Self::Output, Failure>;
}

/// Starts a runtime of this process, does something on it, and ends it. `None` if
/// the implementation is no runtime, or not one of this process.
pub(crate) fn start<J: Job>(
    implementation: Implementation,
    conditions: Conditions,
    job: J,
) -> Option<Result<J::Output, Failure>> {
    let done = match implementation {
        Implementation::Mely(policy) => {
            Mely::start(policy, conditions).and_then(|runtime| job.on(&runtime))
        }
        Implementation::Tokio(_) => {
            tokio::start(conditions).and_then(|runtime| job.on(&runtime.tasks))
        }
        Implementation::AsyncExecutor => {
            async_executor::start(conditions).and_then(|runtime| job.on(&runtime.tasks))
        }
        Implementation::Rayon => Rayon::start(conditions).and_then(|runtime| job.on(&runtime)),
        Implementation::Asio | Implementation::Go | Implementation::Floor => return None,
    };
    Some(done)
}
