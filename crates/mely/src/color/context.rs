//! What a handler is told, and what it can do.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use std::time::Instant;

use crate::color::error::PostError;
use crate::color::refused::{given_back, not_admitted};
use crate::color::spans::Inside;
use crate::event::handler::Handler;
use crate::event::{Call, Place, StatePtr, Takes};
use crate::machine::panics::drop_refused;
use crate::machine::probe;
use crate::machine::region::{Access, Region};
use crate::machine::sync::Arc;
use crate::shared::{OwnedColor, Shared};
use crate::worker::Frame;

/// What a handler is told while it runs: its color, its core, the time; and the
/// cheapest way to post to its own color.
///
/// `T` is the state that the color owns, as in [`Colored<T>`](crate::Colored).
///
/// ```
/// # let rt = mely::Runtime::builder().workers(1).build()?;
/// let steps = rt.colored(Vec::new());
/// steps.post(|steps, cx| {
///     steps.push("first");
///     cx.post_or_shed(|steps, _cx| steps.push("third")); // runs after this handler
///     steps.push("second");
/// })?;
/// # rt.wait_idle();
/// assert_eq!(steps.blocking_with(|s| s.clone()), ["first", "second", "third"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It lends the state of its color, and of no other type:
///
/// ```compile_fail
/// use mely::Context;
/// fn longer<'c>(cx: Context<'c, for<'a> fn(&'a str)>) -> Context<'c, fn(&'static str)> {
///     cx
/// }
/// ```
pub struct Context<'a, T = ()> {
    // First, so that the compiler names it: a context stays in its handler.
    _here: PhantomData<dyn ContextOfAnotherEvent>,
    pub(super) frame: FrameOf<'a>,
    pub(super) state: StatePtr<T>,
}

/// What a compiler says of a context that an event of another color, or a thread, shall use:
/// that this cannot be sent. Each event gets a context of its own.
trait ContextOfAnotherEvent {}

/// The frame of the event that is being run, about which the compiler need not tell what in
/// it cannot be sent.
#[derive(Clone, Copy)]
pub(super) struct FrameOf<'a>(&'a Frame<'a>);

// SAFETY: nobody but contexts has one, and these are not sent.
unsafe impl Send for FrameOf<'_> {}
// SAFETY: as above.
unsafe impl Sync for FrameOf<'_> {}

impl<'a> Deref for FrameOf<'a> {
    type Target = Frame<'a>;

    #[inline]
    fn deref(&self) -> &Frame<'a> {
        self.0
    }
}

impl<T, F> Call<T> for F
where
    T: Send + 'static,
    F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    #[inline]
    unsafe fn call(self, mut state: StatePtr<T>, place: Place<'_>) {
        // SAFETY: workers run events in frames.
        let frame = unsafe { Frame::of(place) };
        let mut context = Context {
            _here: PhantomData,
            frame: FrameOf(frame),
            state,
        };
        // SAFETY: the state lives as long as its color, and only the one event of
        // the color that is being run, this one, reaches it.
        self(unsafe { state.as_mut() }, &mut context);
    }
}

/// What [`Taking`] takes: of the room for control, or nothing.
pub(super) const CONTROL: bool = true;
pub(super) const NOTHING: bool = false;

/// An event that takes of the room for control, or nothing of the room of its color.
pub(super) struct Taking<F, const OF_CONTROL: bool>(pub(super) F);

impl<T, F, const OF_CONTROL: bool> Call<T> for Taking<F, OF_CONTROL>
where
    T: Send + 'static,
    F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    const TAKES: Takes = match OF_CONTROL {
        CONTROL => Takes::Control,
        NOTHING => Takes::Nothing,
    };

    #[inline]
    unsafe fn call(self, state: StatePtr<T>, place: Place<'_>) {
        // SAFETY: passed on from the caller.
        unsafe { self.0.call(state, place) }
    }
}

impl<T: Send + 'static> Context<'_, T> {
    pub(super) fn owned(&self) -> &OwnedColor {
        self.frame.color
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.frame.worker.shared()
    }

    /// The number of the worker that runs the handler, from 0.
    pub fn worker(&self) -> usize {
        self.frame.worker.index()
    }

    /// The number, as the system has it, of the CPU that the worker is pinned to; `None` while it is
    /// free ([`Affinity`](crate::Affinity)).
    pub fn cpu(&self) -> Option<usize> {
        self.frame.worker.remote().cpu.get()
    }

    /// The time, from the clock of the runtime.
    pub fn now(&self) -> Instant {
        self.frame.worker.shared().clock.now()
    }

    /// Tells a simulation that the handler reads or writes this memory, so that it
    /// takes as long as on the machine that is simulated. In production it is no
    /// instruction: say what a handler touches once, and leave it in.
    ///
    /// ```
    /// use mely::{Access, Region};
    /// # let rt = mely::Runtime::builder().workers(1).build()?;
    /// let table = rt.colored(vec![0_u8; 4096]);
    /// table.post(|table, cx| {
    ///     cx.touch(Region::of(&table[..64]), Access::Write);
    ///     table[..64].fill(1);
    /// })?;
    /// # rt.wait_idle();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn touch(&self, region: Region, how: Access) {
        probe::touch_region(region, how);
    }

    /// Tells a simulation that the handler computes for so many cycles. In
    /// production it is no instruction, and nothing waits.
    #[inline]
    pub fn spend(&self, cycles: u64) {
        probe::spend(cycles);
    }

    /// Posts an event to the color that is being run: it runs after this handler,
    /// and after all that this thread posted to the color before.
    ///
    /// # Errors
    ///
    /// As for [`Colored::post`](crate::Colored::post): a bounded color may be full, and the
    /// handler may have [stopped](crate::Colored::stop) its color.
    #[inline]
    pub fn post<F>(&mut self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        post_as(&self.frame, self.state, None, event)
    }

    /// Posts as events of `handler`: for its name in the metrics, and for what it says of
    /// cost and penalty.
    ///
    /// ```
    /// use mely::Handler;
    /// static REST: Handler = Handler::new("Rest");
    ///
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// rt.post(|_, cx| cx.with_handler(&REST).post_or_shed(|_, _| ()))?;
    /// rt.wait_idle();
    /// assert_eq!(rt.metrics().handler("Rest").map(|h| h.events), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn with_handler(&mut self, handler: &'static Handler) -> ContextWithHandler<'_, T> {
        ContextWithHandler {
            _here: PhantomData,
            frame: self.frame,
            state: self.state,
            handler,
        }
    }

    /// Like [`post`](Self::post), but an event that is refused is dropped, and counted as
    /// *shed* in the metrics.
    #[inline]
    pub fn post_or_shed<F>(&mut self, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        if let Err(refused) = self.post(event) {
            drop_refused(refused);
        }
    }

    /// Posts an event that may run in parallel to anything else: with a new color of its
    /// own. The cheapest way to spread work that shares no state.
    ///
    /// It begins on this core, and is stolen when that pays. Refused, when the runtime has
    /// stopped while the handler ran, it is dropped and counted as *shed*.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// static DONE: AtomicU32 = AtomicU32::new(0);
    ///
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// rt.post(|_, cx| {
    ///     for _ in 0..10 {
    ///         cx.post_parallel(|_, _| _ = DONE.fetch_add(1, Relaxed));
    ///     }
    /// })?;
    /// rt.wait_idle();
    /// assert_eq!(DONE.load(Relaxed), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn post_parallel<F>(&mut self, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        post_parallel_as(&self.frame, None, event);
    }
}

/// A [`Context`] together with the [`Handler`] that its posts are events of.
///
/// The methods are those of the context, which see.
pub struct ContextWithHandler<'a, T = ()> {
    _here: PhantomData<dyn ContextOfAnotherEvent>,
    frame: FrameOf<'a>,
    state: StatePtr<T>,
    handler: &'static Handler,
}

impl<T: Send + 'static> ContextWithHandler<'_, T> {
    /// See [`Context::post`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn post<F>(&mut self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        post_as(&self.frame, self.state, Some(self.handler), event)
    }

    /// See [`Context::post_or_shed`].
    #[inline]
    pub fn post_or_shed<F>(&mut self, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        if let Err(refused) = self.post(event) {
            drop_refused(refused);
        }
    }

    /// See [`Context::post_parallel`].
    #[inline]
    pub fn post_parallel<F>(&mut self, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        post_parallel_as(&self.frame, Some(self.handler), event);
    }
}

#[inline]
fn post_parallel_as<F>(frame: &Frame<'_>, handler: Option<&'static Handler>, event: F)
where
    F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
{
    let inside = Inside::here();
    frame.worker.post_fresh(|worker| {
        let state = StatePtr::dangling();
        inside.around(Some(worker), worker.event(handler, state, event))
    });
}

#[inline]
fn post_as<T, F>(
    frame: &Frame<'_>,
    state: StatePtr<T>,
    handler: Option<&'static Handler>,
    event: F,
) -> Result<(), PostError<F>>
where
    T: Send + 'static,
    F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
{
    let Frame { worker, color } = *frame;
    let mut inside = Inside::here();
    let admitted = worker
        .shared()
        .admit(worker.handler_poster(), || color.reserve());
    if let Err(refusal) = admitted {
        return Err(not_admitted(&color.borrow(), refusal, event));
    }
    let event = worker.event(handler, state, event);
    let post = |event| worker.post_to_running(color, event);
    inside.carry(Some(worker), event, post).map_err(|stopped| {
        worker.shared().count_shed(worker.handler_poster());
        // SAFETY: it was made with that just now.
        unsafe { given_back::<T, F>(&color.borrow(), stopped) }
    })
}

impl<T> fmt::Debug for ContextWithHandler<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextWithHandler")
            .field("color", &self.frame.color.id())
            .field("handler", &self.handler.name())
            .finish()
    }
}

impl<T> fmt::Debug for Context<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("color", &self.frame.color.id())
            .field("worker", &self.frame.worker.index())
            .finish()
    }
}
