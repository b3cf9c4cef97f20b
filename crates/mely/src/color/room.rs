//! Posting to bounded colors: control beside data, and waiting for room.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context as TaskContext, Poll, ready};

use super::via::answering;
use super::{Colored, WithHandler};
use crate::color::context::{CONTROL, Context, Taking};
use crate::color::error::{CallError, PostError};
use crate::color::reply::{self, Reply};
use crate::color::spans::Inside;
use crate::event::handler::Handler;
use crate::machine::panics::drop_refused;
use crate::shared::{ColorRef, Phase};
use crate::worker;

impl<T: Send + 'static> Colored<T> {
    /// Posts an event of control: one that a full color takes, too, as long as it has room
    /// for control ([`ColorOptions::control_capacity`](crate::ColorOptions::control_capacity)).
    ///
    /// For what must come through when data is shed: to close, to flush, to change a limit.
    /// Order: as for [`post`](Self::post), behind the data that was posted before.
    ///
    /// ```
    /// # use mely::PostError;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let line = rt.color_options().capacity(0).control_capacity(1).colored("open")?;
    /// assert!(matches!(line.post(|_, _| ()), Err(PostError::Full(_))));
    /// line.post_control(|line, _| *line = "closed")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`post`](Self::post).
    pub fn post_control<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_control(event)
    }

    /// Posts an event once the color has room for it: a future for any async runtime.
    ///
    /// Those who wait are woken in the order in which they came; posts that do not wait may
    /// come between. A thread waits so by `block_on` of an executor, but not in a handler.
    /// The event is posted by the poll that finds room: dropping the future before drops the
    /// event unposted.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let log = rt.color_options().capacity(2).colored(Vec::new())?;
    /// let lines = log.clone();
    /// let writer = rt.new_color().spawn(async move {
    ///     for n in 0..100 {
    ///         lines.post_when_room(move |log, _| log.push(n)).await.ok();
    ///     }
    /// });
    /// writer.wait()?;
    /// rt.wait_idle();
    /// assert!(log.blocking_with(|log| log.drain(..).eq(0..100)) );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The future gives the event back when the color is stopped or poisoned, or the runtime
    /// shut down; as [`PostError::Full`], at once, if the color has a capacity of 0.
    pub fn post_when_room<F>(&self, event: F) -> PostWhenRoom<T, F>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_when_room(event)
    }

    /// Posts an event that has a result once the color has room for it: a future for any async
    /// runtime, of that result.
    ///
    /// It waits for room as [`post_when_room`](Self::post_when_room) does, in the same turn,
    /// and for the answer as a [`call`](Self::call). Dropping the future takes the event back
    /// while it waits for room, and not any more after that.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let store = rt.color_options().capacity(1).colored(0)?;
    /// let clients: Vec<_> = (0..10)
    ///     .map(|_| {
    ///         let store = store.clone();
    ///         rt.new_color().spawn(async move {
    ///             store.call_when_room(|sum, _cx| { *sum += 1; *sum }).await
    ///         })
    ///     })
    ///     .collect();
    /// for client in clients {
    ///     assert!(client.wait()?? <= 10); // `call` might have been refused
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The future gives a [`CallError`] if the event could not be posted or run:
    /// [`CallError::Full`], at once, if the color has a capacity of 0.
    pub fn call_when_room<R, F>(&self, event: F) -> CallWhenRoom<T, R>
    where
        R: Send + 'static,
        F: FnOnce(&mut T, &mut Context<'_, T>) -> R + Send + 'static,
    {
        self.unnamed().call_when_room(event)
    }
}

impl<T: Send + 'static> WithHandler<'_, T> {
    /// See [`Colored::post_control`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn post_control<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let named = self.or_of::<F>();
        let (inside, event) = (&mut Inside::here(), Taking::<_, CONTROL>(event));
        let posted = named.post_taking(inside, event);
        posted.map_err(|refused| refused.map(|Taking(event)| event))
    }

    /// See [`Colored::post_when_room`].
    pub fn post_when_room<F>(&self, event: F) -> PostWhenRoom<T, F>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        PostWhenRoom {
            target: self.target.clone(),
            handler: self.handler,
            inside: Inside::here(),
            event: Some(event),
            ticket: None,
        }
    }

    /// See [`Colored::call_when_room`].
    pub fn call_when_room<R, F>(&self, event: F) -> CallWhenRoom<T, R>
    where
        R: Send + 'static,
        F: FnOnce(&mut T, &mut Context<'_, T>) -> R + Send + 'static,
    {
        let (answerer, reply) = reply::channel(self.target.color.shared().number);
        let event: Boxed<T> = Box::new(answering(event, answerer));
        CallWhenRoom {
            waits: Some(self.or_of::<F>().post_when_room(event)),
            reply,
        }
    }
}

/// An event that is posted when its color has room, as
/// [`Colored::post_when_room`] returns it.
#[must_use = "the event is posted only when this is awaited"]
pub struct PostWhenRoom<T, F> {
    target: Colored<T>,
    handler: Option<&'static Handler>,
    /// The span that it is posted in, whoever polls this.
    inside: Inside,
    event: Option<F>,
    /// Its place among those who wait.
    ticket: Option<u64>,
}

// The event is moved, never pinned.
impl<T, F> Unpin for PostWhenRoom<T, F> {}

impl<T, F> PostWhenRoom<T, F> {
    fn color(&self) -> &ColorRef {
        &self.target.color
    }

    /// Waits no more; whom it has kept from being woken is woken instead.
    fn leave(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let (color, rooms) = (self.color(), &self.color().shared().rooms);
        if !rooms.leave(color, ticket) && color.has_room() {
            rooms.wake(color);
        }
    }
}

impl<T, F> PostWhenRoom<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    /// Posts the event if it will not be refused for want of room.
    fn try_post(&mut self) -> Option<Result<(), PostError<F>>> {
        let color = self.color();
        let ends = color.is_stopped() || color.shared().phase() != Phase::Running;
        let never = color.traits().capacity == 0;
        if !(color.has_room() || ends || never) {
            return None;
        }
        let event = self.event.take().expect("not polled after its end");
        let target = WithHandler {
            target: &self.target,
            handler: self.handler,
        };
        match target.post_taking(&mut self.inside, event) {
            Err(PostError::Full(event)) if !never => {
                self.event = Some(event);
                None
            }
            posted => Some(posted),
        }
    }
}

impl<T, F> Future for PostWhenRoom<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    type Output = Result<(), PostError<F>>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut posted = this.try_post();
        if posted.is_none() {
            let waker = cx.waker().clone();
            let (color, rooms) = (this.color(), &this.color().shared().rooms);
            this.ticket = Some(rooms.wait(color, this.ticket, waker));
            // There may be room since.
            posted = this.try_post();
        }
        if posted.is_none() {
            worker::note_awaits(this.color().shared().number);
        }
        match posted {
            None => Poll::Pending,
            Some(posted) => {
                this.leave();
                Poll::Ready(posted)
            }
        }
    }
}

impl<T, F> Drop for PostWhenRoom<T, F> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<T, F> fmt::Debug for PostWhenRoom<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostWhenRoom")
            .field("target", &self.target)
            .field("waits", &self.ticket.is_some())
            .finish_non_exhaustive()
    }
}

type Boxed<T> = Box<dyn FnOnce(&mut T, &mut Context<'_, T>) + Send>;

/// The result of an event that is posted when its color has room, as
/// [`Colored::call_when_room`] returns it.
#[must_use = "the event is posted only when this is awaited"]
pub struct CallWhenRoom<T, R> {
    /// Until the event is posted.
    waits: Option<PostWhenRoom<T, Boxed<T>>>,
    reply: Reply<R>,
}

impl<T: Send + 'static, R> Future for CallWhenRoom<T, R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(waits) = &mut this.waits {
            // Before it is posted, as by `call`: it may run within this poll.
            this.reply.note_call(worker::note_called(waits.color()));
            let posted = ready!(Pin::new(waits).poll(cx));
            this.waits = None;
            if let Err(refused) = posted {
                let error = CallError::from(&refused);
                drop_refused(refused);
                return Poll::Ready(Err(error));
            }
        }
        Pin::new(&mut this.reply).poll(cx)
    }
}

impl<T, R> fmt::Debug for CallWhenRoom<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWhenRoom")
            .field("waits", &self.waits)
            .finish_non_exhaustive()
    }
}
