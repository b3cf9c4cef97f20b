//! Tasks: futures that are polled only as events of a color.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use crate::color::Color;
use crate::reply::{self, Answerer, Reply};

type Boxed<R> = Pin<Box<dyn Future<Output = R> + Send>>;

struct Task<R> {
    color: Color,
    /// A poll has been posted and has not begun.
    woken: AtomicBool,
    /// Locked only by the color's events, which run one at a time; the lock is what
    /// tells the compiler so.
    future: Mutex<Option<(Boxed<R>, Answerer<R>)>>,
}

impl<R: Send + 'static> Task<R> {
    fn poll(self: &Arc<Self>) {
        // AcqRel pairs with the one in `wake`: what the waker did before is seen.
        self.woken.swap(false, AcqRel);
        let mut slot = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((mut future, answerer)) = slot.take() else {
            return;
        };
        let waker = Waker::from(Arc::clone(self));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => *slot = Some((future, answerer)),
            Poll::Ready(result) => answerer.answer(Ok(result)),
        }
    }

    fn schedule(self: Arc<Self>) {
        // AcqRel: see `poll`.
        if self.woken.swap(true, AcqRel) {
            return;
        }
        let task = Arc::clone(&self);
        if self.color.try_post(move |(), _cx| task.poll()).is_err() {
            // Nobody will poll it again: whoever waits for the result must know.
            let mut slot = self.future.lock().unwrap_or_else(PoisonError::into_inner);
            drop(slot.take());
        }
    }
}

impl<R: Send + 'static> Wake for Task<R> {
    fn wake(self: Arc<Self>) {
        self.schedule();
    }
}

/// Runs `future` under `color`.
pub(crate) fn spawn<Fut>(color: Color, future: Fut) -> Reply<Fut::Output>
where
    Fut: Future + Send + 'static,
    Fut::Output: Send + 'static,
{
    let (answerer, reply) = reply::channel();
    let task = Arc::new(Task {
        color,
        woken: AtomicBool::new(false),
        future: Mutex::new(Some((Box::pin(future) as Boxed<_>, answerer))),
    });
    task.schedule();
    reply
}
