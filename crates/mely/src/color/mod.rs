//! Colors, and the state they own.

pub(crate) mod before;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod error;
mod every;
pub(crate) mod group;
pub(crate) mod options;
pub(crate) mod refused;
pub(crate) mod reply;
pub(crate) mod room;
pub(crate) mod section;
mod spans;
pub(crate) mod state;
mod stop;
pub(crate) mod task;
mod via;
pub(crate) mod waits;
mod weak;

use core::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

pub use self::stop::Pending;
pub use self::via::WithHandler;
pub use self::weak::WeakColored;
use crate::cell::origin::Origin;
use crate::cell::{Make, Never, Ours};
use crate::color::context::Context;
use crate::color::error::PostError;
use crate::color::reply::Reply;
use crate::event::StatePtr;
use crate::event::handler::Handler;
use crate::shared::ColorRef;
use crate::shared::timers::Timer;
use crate::worker;

/// A color without state: the unit of serial execution.
///
/// Events of one color run one at a time and, as far as one thread posted them, in
/// the order in which they were posted; events of different colors run in parallel
/// (*Efficient Workstealing*, section II-A).
pub type Color = Colored<()>;

/// A color that owns state: reachable only by events of the color, as `&mut T`,
/// one at a time, without a lock.
///
/// A `Colored` is a reference: clone it, send it anywhere, post from any thread.
/// The state is dropped with its color: when the last reference is gone and the last
/// event has run, or else when the runtime has ended and no event can reach it any more.
///
/// ```
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let account = rt.colored(0i64);
/// account.post(|balance, _cx| *balance += 5)?;
/// account.post(|balance, _cx| *balance -= 2)?;
/// assert_eq!(account.blocking_with(|balance| *balance), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The compiler refuses to let the state out:
///
/// ```compile_fail
/// # let rt = mely::Runtime::new().unwrap();
/// let account = rt.colored(String::new());
/// let mut stolen: Option<&mut String> = None;
/// account.post_or_shed(|text, _cx| stolen = Some(text));
/// ```
///
/// Nor is it taken for state of a type that lives longer:
///
/// ```compile_fail
/// fn longer(color: mely::Colored<for<'a> fn(&'a str)>) -> mely::Colored<fn(&'static str)> {
///     color
/// }
/// ```
pub struct Colored<T = ()> {
    color: ColorRef,
    state: StatePtr<T>,
    origin: Origin,
}

impl<T: Send + 'static> Colored<T> {
    pub(crate) fn from_parts(color: ColorRef, state: StatePtr<T>) -> Self {
        let origin = color.origin();
        Self {
            color,
            state,
            origin,
        }
    }

    pub(crate) fn new(color: ColorRef, state: T) -> Self {
        Self::made_by(color, state, Never)
    }

    fn made_by(color: ColorRef, state: T, make: impl Make<T>) -> Self {
        let state = color.adopt(state, make);
        Self::from_parts(color, state)
    }

    pub(crate) fn color_ref(&self) -> &ColorRef {
        &self.color
    }

    /// The number of the color: what [`Handle::numbered_color`](crate::Handle::numbered_color) was
    /// given, or a fresh one above 65 535.
    pub fn id(&self) -> u64 {
        self.color.id()
    }

    /// The color, without its state.
    pub fn color(&self) -> Color {
        Colored::from_parts(self.color.clone(), StatePtr::dangling())
    }

    /// Gives more state to the same color. It lives as long as the color: for the
    /// small numbered colors, as long as the runtime.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let (hits, names) = (rt.numbered_color(7).attach(0), rt.numbered_color(7).attach(""));
    /// assert_eq!(hits.id(), names.id()); // events on the two never run at once
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach<S: Send + 'static>(&self, state: S) -> Colored<S> {
        Colored::new(self.color.clone(), state)
    }

    /// As [`attach`](Self::attach), of what is the runtime's.
    pub(crate) fn attach_ours<S: Send + 'static>(&self, state: S) -> Colored<S> {
        Colored::made_by(self.color.clone(), state, Ours)
    }

    /// Posts as events of `handler`: for its name in the metrics, and for what it
    /// says of cost and penalty.
    pub fn with_handler(&self, handler: &'static Handler) -> WithHandler<'_, T> {
        WithHandler {
            target: self,
            handler: Some(handler),
        }
    }

    /// An event for this color, not posted.
    #[cfg(all(test, loom))]
    pub(crate) fn new_event(
        &self,
        call: impl FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    ) -> crate::event::Event {
        let weight = crate::event::handler::Weight::UNKNOWN;
        crate::event::Event::new(None, None, weight, self.state, call)
    }

    pub(crate) fn unnamed(&self) -> WithHandler<'_, T> {
        WithHandler {
            target: self,
            handler: None,
        }
    }

    /// Posts an event: `event` runs later, under this color, on some core.
    ///
    /// Order: after everything that this thread posted to this color before.
    /// Cost: some 20 ns; an event is one cache line, closures of more than 24
    /// bytes are boxed.
    ///
    /// Never blocks. Where nothing is to be done about a refusal, and in handlers that have
    /// no error to return, [`post_or_shed`](Self::post_or_shed) says so.
    ///
    /// # Errors
    ///
    /// The event is given back, and counted as *shed* in the metrics:
    /// [`PostError::Full`] if the color is bounded and full, [`PostError::Closed`] after a
    /// shutdown or when the color was [stopped](Self::stop), [`PostError::Poisoned`] if a
    /// panic has poisoned it.
    #[inline]
    pub fn post<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post(event)
    }

    /// Posts an event; one that [`post`](Self::post) would give back is dropped, and counted
    /// as *shed* in the metrics.
    #[inline]
    pub fn post_or_shed<F>(&self, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_or_shed(event);
    }

    /// Posts an event after a delay. See [`post_at`](Self::post_at).
    ///
    /// The event that is to come keeps the color alive until it has run or is cancelled;
    /// those of [`post_every`](Self::post_every) do not.
    pub fn post_after<F>(&self, delay: Duration, event: F) -> Timer
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_after(delay, event)
    }

    /// Posts an event at a time: never earlier, later by what the core is busy
    /// with. The timer that is returned can cancel it; dropping that does not. A shutdown
    /// cancels it too, and so does the end of a color that is [stopped](Self::stop).
    ///
    /// As any pending event it keeps the color, and with it the state, alive: what shall end
    /// with its last handle takes [`post_every`](Self::post_every), a
    /// [`WeakColored`](crate::WeakColored) in an event of another color, or cancels the timer.
    ///
    /// On a bounded color it counts as pending from the time that it is due, and is
    /// posted then even if the color is full, as it may be when the timer is set.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let session = rt.colored("open");
    /// let timeout = session.post_after(Duration::from_secs(30), |s, _cx| *s = "timed out");
    /// assert!(timeout.cancel());
    /// assert_eq!(session.blocking_with(|s| *s), "open");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn post_at<F>(&self, at: Instant, event: F) -> Timer
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.unnamed().post_at(at, event)
    }

    /// Posts an event that has a result, a future for any async runtime.
    ///
    /// Order: as for [`post`](Self::post).
    ///
    /// Where an event awaits the answer of its last call right away, and nobody else runs the
    /// color, an event that is not known to be long runs within the first poll of the future,
    /// after what is pending before it, as under a lock that is free: what is polled while the
    /// caller holds a lock must not need that lock, nor an executor that cannot be entered twice.
    /// It remains an event of its own color, with a panic of its own.
    ///
    /// # Errors
    ///
    /// The future gives a [`CallError`](crate::CallError) if the event could not be posted or run.
    pub fn call<R, F>(&self, event: F) -> Reply<R>
    where
        R: Send + 'static,
        F: FnOnce(&mut T, &mut Context<'_, T>) -> R + Send + 'static,
    {
        self.unnamed().call(event)
    }
}

impl<T: Send + 'static> Colored<T> {
    /// Runs an event now, if it is one of the color and state that the calling handler has,
    /// and posts it if not: what a function does that does not know where it is called.
    ///
    /// Run now, it comes before all that is pending, is a part of the calling event in the
    /// metrics, and is given back never. It runs on `state`: pass on the state that the handler
    /// was given, as its other events find it, and no other value of that type.
    ///
    /// ```
    /// # use mely::{Colored, Context};
    /// fn deposit(to: &Colored<i64>, amount: i64, own: &mut i64, cx: &mut Context<'_, i64>) {
    ///     to.dispatch(own, cx, move |balance, _| *balance += amount).ok();
    /// }
    ///
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let (a, b) = (rt.colored(0), rt.colored(0));
    /// let other = b.clone();
    /// a.post(move |own, cx| {
    ///     deposit(&cx.colored(), 5, own, cx);
    ///     assert_eq!(*own, 5);
    ///     deposit(&other, 7, own, cx);
    /// })?;
    /// rt.wait_idle();
    /// assert_eq!((a.blocking_with(|n| *n), b.blocking_with(|n| *n)), (5, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`post`](Self::post).
    pub fn dispatch<F>(
        &self,
        state: &mut T,
        cx: &mut Context<'_, T>,
        event: F,
    ) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        if cx.owned().is_of(&self.color) && cx.state.is(self.state) {
            event(state, cx);
            return Ok(());
        }
        self.post(event)
    }
}

impl Color {
    /// The color of the event that this thread runs, and so that of a future that is
    /// polled there; `None` outside of events.
    ///
    /// For code that is called from events without their [`Context`]: futures, destructors,
    /// executors.
    ///
    /// ```
    /// use mely::Color;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let color = rt.new_color();
    /// let found = color.spawn(async { Color::current() }).wait();
    /// assert_eq!(found, Ok(Some(color)));
    /// assert_eq!(Color::current(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn current() -> Option<Color> {
        let color = worker::with_any_current(|worker| worker?.current_color())?;
        Some(Colored::from_parts(color, StatePtr::dangling()))
    }
}

impl<T> Colored<T> {
    /// Whether the event that this thread runs is of this color: what
    /// [`Color::current`] tells, for less.
    pub fn is_current(&self) -> bool {
        worker::with_any_current(|worker| worker.is_some_and(|worker| worker.runs(&self.color)))
    }
}

impl<T: Send + 'static> Context<'_, T> {
    /// The color that is being run, to keep and post to from elsewhere.
    pub fn color(&self) -> Color {
        self.colored_as(StatePtr::dangling())
    }

    /// The color with its state, to keep and post to from elsewhere.
    pub fn colored(&self) -> Colored<T> {
        self.colored_as(self.state)
    }

    fn colored_as<S: Send + 'static>(&self, state: StatePtr<S>) -> Colored<S> {
        Colored::from_parts(self.owned().to_ref(), state)
    }
}

// A handle gives nobody a state that a panic has left halfway: that runs in events, where it
// ends, and what comes of it is the color's `OnPanic`.
impl<T> UnwindSafe for Colored<T> {}
impl<T> RefUnwindSafe for Colored<T> {}

impl<T> Clone for Colored<T> {
    fn clone(&self) -> Self {
        Self {
            color: self.color.clone(),
            state: self.state,
            origin: self.origin,
        }
    }
}

/// Two are equal if events on them never run at once: the same color.
impl<T, S> PartialEq<Colored<S>> for Colored<T> {
    fn eq(&self, other: &Colored<S>) -> bool {
        self.color.same(&other.color)
    }
}

impl<T> Eq for Colored<T> {}

impl<T> fmt::Debug for Colored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Colored").field(&self.color.id()).finish()
    }
}
