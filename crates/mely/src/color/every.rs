//! Events that come again and again, for as long as their color lives.

use std::time::Duration;

use super::{Colored, WeakColored, WithHandler};
use crate::color::context::Context;
use crate::color::spans::Inside;
use crate::event::Event;
use crate::event::handler::Handler;
use crate::machine::panics::drop_safely;
use crate::shared::admission::Poster;
use crate::shared::timers::{Fired, Repeating, Timer};
use crate::shared::{ColorRef, Phase};
use crate::worker::{self, Worker};

/// What a repeating timer posts.
pub(super) struct Every<T, F> {
    target: WeakColored<T>,
    handler: Option<&'static Handler>,
    period: Duration,
    inside: Inside,
    call: F,
}

impl<T, F> Every<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    pub(super) fn new(posts: &WithHandler<'_, T>, period: Duration, call: F) -> Self {
        Self {
            target: posts.target.downgrade(),
            handler: posts.handler,
            period,
            inside: Inside::here(),
            call,
        }
    }
}

impl<T, F> Repeating for Every<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    fn event(
        self: Box<Self>,
        timer: &Timer,
        fired: Fired,
    ) -> Result<(ColorRef, Event), Box<dyn Repeating>> {
        let Some(target) = self.target.upgrade() else {
            return Err(self);
        };
        let shared = target.color_ref().shared();
        let admitted = worker::with_current(shared, |worker| {
            // The place is taken by whoever posts what timers make.
            let poster = worker.map_or(Poster::Outside, Worker::poster);
            shared.admit(poster, || true)
        });
        if admitted.is_err() {
            return Err(self);
        }
        let handler = self.handler;
        let round = Round {
            every: Some(self),
            timer: timer.clone(),
            fired,
            began: false,
        };
        let posts = WithHandler {
            target: &target,
            handler,
        };
        let event = posts.unweighed(move |state: &mut T, cx: &mut Context<'_, T>| {
            round.run(state, cx);
        });
        Ok((target.into_color_ref(), event))
    }
}

/// One event of many: brings back what makes the next. If it is dropped unrun, with its
/// color or its runtime, there is none.
struct Round<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    every: Option<Box<Every<T, F>>>,
    timer: Timer,
    fired: Fired,
    began: bool,
}

impl<T, F> Round<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    fn run(mut self, state: &mut T, cx: &mut Context<'_, T>) {
        // Cancelled meanwhile, it does not begin.
        self.began = self.timer.begin_on(cx.worker());
        if let Some(every) = self.every.as_mut().filter(|_| self.began) {
            let Every { inside, call, .. } = &mut **every;
            inside.run(|| call(state, cx));
        }
    }
}

impl<T, F> Drop for Round<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    fn drop(&mut self) {
        let Some(every) = self.every.take() else {
            return;
        };
        let period = every.period;
        if self.began {
            // After a panic, too.
            self.timer.again(every, self.fired, period);
        } else {
            self.timer.cancel();
            drop_safely(every);
        }
    }
}

impl Timer {
    /// Cancels the event, and drops it. Returns whether that was in time: `true` means
    /// that the event will not run; `false` that it was posted, or cancelled, before.
    ///
    /// Of an event that comes again and again none comes after one that has begun, and `true`
    /// means that none will begin any more; `false` that one is about to begin or being run
    /// elsewhere, the last one, or that it was over. The event itself is told `true`.
    pub fn cancel(&self) -> bool {
        worker::with_current(self.shared(), |worker| {
            self.cancel_on(worker.map(Worker::index))
        })
    }
}

impl<T: Send + 'static> WithHandler<'_, T> {
    /// See [`Colored::post_every`].
    pub fn post_every<F>(&self, period: Duration, event: F) -> Timer
    where
        F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let color = &self.target.color;
        let shared = color.shared();
        let every = Every::new(&self.or_of::<F>(), period, event);
        worker::with_current(shared, |worker| {
            let keeper = worker.map_or(usize::from(color.traits().home), Worker::index);
            let at = shared.after(period);
            let timer = Timer::repeating(keeper, at, color, Box::new(every));
            if shared.phase() == Phase::Running {
                return timer.set(color);
            }
            timer.shed();
            timer
        })
    }
}

impl<T: Send + 'static> Colored<T> {
    /// Posts an event after each period, until the timer that is returned is cancelled, the
    /// color ends, or the runtime is shut down.
    ///
    /// The timer does not keep the color alive; that `event` gets the context spares it a
    /// color of its own, which would. The next event is posted a period after the one before
    /// was due, but not before that has run: what was missed is skipped, and there is never
    /// more than one at a time. An event that panics does not end it.
    ///
    /// Between two events nothing of it is pending: it does not keep
    /// [`wait_idle`](crate::Handle::wait_idle) or a shutdown waiting, and in the metrics each event
    /// counts as posted when it is due.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let (ticks, done) = (rt.colored(0), rt.colored(false));
    /// let enough = done.clone();
    /// let timer = ticks.post_every(Duration::from_millis(1), move |n, _cx| {
    ///     *n += 1;
    ///     if *n == 3 {
    ///         enough.post_or_shed(|done, _| *done = true);
    ///     }
    /// });
    /// while !done.blocking_with(|done| *done) {}
    /// timer.cancel();
    /// assert!(!timer.is_pending() && ticks.blocking_with(|n| *n) >= 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn post_every<F>(&self, period: Duration, event: F) -> Timer
    where
        F: FnMut(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_every(period, event)
    }
}
