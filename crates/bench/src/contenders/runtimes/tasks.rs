//! Runtimes of tasks: a key is a task that owns the actor and receives from an
//! unbounded channel.

use super::{Actor, Keyed, ToSelf};
use crate::measure::Failure;

/// A handle to a runtime that polls futures.
pub(crate) trait Tasks: Clone + Send + Sync + 'static {
    /// The end of a channel to send to.
    type Sender<M: Send + 'static>: Clone + Send + Sync + 'static;
    /// The end of a channel to receive from.
    type Receiver<M: Send + 'static>: Send + 'static;

    /// Whether keys let others run after each of their messages.
    fn yields(&self) -> bool;

    /// Spawns a task that nobody waits for.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Lets other tasks run.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Makes a channel without a bound.
    fn channel<M: Send + 'static>() -> (Self::Sender<M>, Self::Receiver<M>);

    /// Sends what is dropped if the receiver has gone.
    fn send<M: Send + 'static>(sender: &Self::Sender<M>, message: M);

    /// Receives; `None` when the channel is closed.
    fn receive<M: Send + 'static>(
        receiver: &mut Self::Receiver<M>,
    ) -> impl Future<Output = Option<M>> + Send;

    /// Ends the channel, where dropping the runtime does not end its receiver.
    fn close<M: Send + 'static>(sender: &Self::Sender<M>);
}

struct OwnChannel<'a, R: Tasks, M: Send + 'static>(&'a R::Sender<M>);

impl<R: Tasks, M: Send + 'static> ToSelf<M> for OwnChannel<'_, R, M> {
    #[inline]
    fn post(&mut self, message: M) {
        R::send(self.0, message);
    }
}

fn key<R: Tasks, A: Actor>(runtime: &R, mut actor: A, yields: bool) -> R::Sender<A::Message> {
    let (sender, mut messages) = R::channel();
    let to_self = sender.clone();
    runtime.spawn(async move {
        while let Some(message) = R::receive(&mut messages).await {
            actor.handle(message, &mut OwnChannel::<R, _>(&to_self));
            if yields {
                R::yield_now().await;
            }
        }
    });
    sender
}

impl<R: Tasks> Keyed for R {
    type Key<A: Actor> = R::Sender<A::Message>;

    fn key<A: Actor>(&self, actor: A) -> Self::Key<A> {
        key(self, actor, self.yields())
    }

    fn poster<A: Actor>(&self, actor: A) -> Result<Self::Key<A>, Failure> {
        Ok(key(self, actor, true))
    }

    #[inline]
    fn post<A: Actor>(key: &Self::Key<A>, message: A::Message) {
        R::send(key, message);
    }

    fn close<A: Actor>(key: &Self::Key<A>) {
        <R as Tasks>::close(key);
    }
}
