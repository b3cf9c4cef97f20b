//! async-executor, the executor of smol, run by as many threads as there are workers.

use std::thread::JoinHandle;

use async_channel::{Receiver, Sender, unbounded};
use async_executor::StaticExecutor;
use futures_lite::future::{block_on, yield_now};

use super::{Conditions, Tasks};
use crate::measure::Failure;

#[derive(Clone, Copy)]
pub(crate) struct AsyncExecutor {
    executor: &'static StaticExecutor,
    yields: bool,
}

/// The executor and its threads.
pub(crate) struct Started {
    pub(crate) tasks: AsyncExecutor,
    stop: Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

pub(crate) fn start(conditions: Conditions) -> Result<Started, Failure> {
    // The form that spawns fastest. A few hundred bytes stay behind with each run.
    let executor: &'static StaticExecutor = Box::leak(Box::new(StaticExecutor::new()));
    let (stop, stopped) = unbounded::<()>();
    let mut started = Started {
        tasks: AsyncExecutor {
            executor,
            yields: conditions.yields,
        },
        stop,
        threads: Vec::with_capacity(conditions.workers),
    };
    for worker in 0..conditions.workers {
        let stopped = stopped.clone();
        let thread = std::thread::Builder::new()
            .name(format!("async-{worker}"))
            .spawn(move || _ = block_on(executor.run(stopped.recv())))?;
        started.threads.push(thread);
    }
    Ok(started)
}

impl Drop for Started {
    fn drop(&mut self) {
        self.stop.close();
        for thread in self.threads.drain(..) {
            // A panic has been reported by the hook; the run fails without events.
            drop(thread.join());
        }
        // Nobody owns the tasks of a leaked executor: those whose channels are closed
        // end here.
        while self.tasks.executor.try_tick() {}
    }
}

impl Tasks for AsyncExecutor {
    type Sender<M: Send + 'static> = Sender<M>;
    type Receiver<M: Send + 'static> = Receiver<M>;

    fn yields(&self) -> bool {
        self.yields
    }

    #[inline]
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.executor.spawn(task).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        yield_now()
    }

    fn channel<M: Send + 'static>() -> (Sender<M>, Receiver<M>) {
        unbounded()
    }

    #[inline]
    fn send<M: Send + 'static>(sender: &Sender<M>, message: M) {
        sender.try_send(message).ok();
    }

    #[inline]
    async fn receive<M: Send + 'static>(receiver: &mut Receiver<M>) -> Option<M> {
        receiver.recv().await.ok()
    }

    fn close<M: Send + 'static>(sender: &Sender<M>) {
        sender.close();
    }
}
