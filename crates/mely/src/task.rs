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
    /// Held while the future is polled.
    future: Mutex<Option<(Boxed<R>, Answerer<R>)>>,
    /// Nobody will poll the future again.
    over: AtomicBool,
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
        drop(slot);
        // AcqRel pairs with the one in `give_up`: of this and that, the later one
        // sees the other, and finds the lock free.
        if self.over.fetch_or(false, AcqRel) {
            self.give_up();
        }
    }

    fn schedule(self: Arc<Self>) {
        // AcqRel: see `poll`.
        if self.woken.swap(true, AcqRel) {
            return;
        }
        let task = Arc::clone(&self);
        if !self.color.unnamed().post_always(move |(), _cx| task.poll()) {
            self.give_up();
        }
    }

    /// Drops the future, so that whoever waits for the result knows. One that is
    /// being polled, perhaps by the caller, is dropped after the poll.
    fn give_up(&self) {
        // AcqRel: see `poll`.
        self.over.swap(true, AcqRel);
        if let Ok(mut slot) = self.future.try_lock() {
            let dropped = slot.take();
            drop(slot);
            drop(dropped);
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
    let (answerer, reply) = reply::channel(color.color_ref().shared());
    let task = Arc::new(Task {
        color,
        woken: AtomicBool::new(false),
        future: Mutex::new(Some((Box::pin(future) as Boxed<_>, answerer))),
        over: AtomicBool::new(false),
    });
    task.schedule();
    reply
}
