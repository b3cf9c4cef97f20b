//! Tokio's multi-thread runtime.

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Conditions, Tasks};
use crate::measure::Failure;

#[derive(Clone)]
pub(crate) struct Tokio {
    pub(super) handle: Handle,
    yields: bool,
}

/// The runtime. Its tasks are dropped with it.
pub(crate) struct Started {
    pub(crate) tasks: Tokio,
    _runtime: Runtime,
}

pub(crate) fn start(conditions: Conditions) -> Result<Started, Failure> {
    build(&mut Builder::new_multi_thread(), conditions)
}

/// With sockets and time, which make workers sleep in another way.
pub(crate) fn start_with_drivers(conditions: Conditions) -> Result<Started, Failure> {
    build(Builder::new_multi_thread().enable_all(), conditions)
}

fn build(builder: &mut Builder, conditions: Conditions) -> Result<Started, Failure> {
    let runtime = builder.worker_threads(conditions.workers).build()?;
    let tasks = Tokio {
        handle: runtime.handle().clone(),
        yields: conditions.yields,
    };
    Ok(Started {
        tasks,
        _runtime: runtime,
    })
}

impl Tasks for Tokio {
    type Sender<M: Send + 'static> = UnboundedSender<M>;
    type Receiver<M: Send + 'static> = UnboundedReceiver<M>;

    fn yields(&self) -> bool {
        self.yields
    }

    #[inline]
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn channel<M: Send + 'static>() -> (UnboundedSender<M>, UnboundedReceiver<M>) {
        unbounded_channel()
    }

    #[inline]
    fn send<M: Send + 'static>(sender: &UnboundedSender<M>, message: M) {
        sender.send(message).ok();
    }

    #[inline]
    fn receive<M: Send + 'static>(
        receiver: &mut UnboundedReceiver<M>,
    ) -> impl Future<Output = Option<M>> + Send {
        receiver.recv()
    }

    fn close<M: Send + 'static>(_sender: &UnboundedSender<M>) {}
}
