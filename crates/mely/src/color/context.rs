//! What a handler is told, and what it can do.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use std::time::Instant;

use crate::event::handler::Handler;
use crate::event::{Call, Place, StatePtr};
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
///     cx.post(|steps, _cx| steps.push("third")); // runs after this handler
///     steps.push("second");
/// });
/// # rt.settle();
/// assert_eq!(steps.with(|s| s.clone()), ["first", "second", "third"]);
/// # Ok::<(), mely::BuildError>(())
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
    pub(super) frame: &'a Frame<'a>,
    pub(super) state: StatePtr<T>,
    // A context stays on its core's thread, within its handler.
    _here: PhantomData<*mut ()>,
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
            frame,
            state,
            _here: PhantomData,
        };
        // SAFETY: the state lives as long as its color, and only the one event of
        // the color that is being run, this one, reaches it.
        self(unsafe { state.as_mut() }, &mut context);
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

    /// The OS number of the core that the worker is pinned to; `None` while it is
    /// free ([`Affinity`](crate::Affinity)).
    pub fn core(&self) -> Option<usize> {
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
    /// });
    /// # rt.settle();
    /// # Ok::<(), mely::BuildError>(())
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
    /// On a bounded color that is full the event is shed, and counted.
    #[inline]
    pub fn post<F>(&mut self, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post_as(None, event);
    }

    /// Like [`post`](Self::post), as an event of `handler`.
    #[inline]
    pub fn post_via<F>(&mut self, handler: &'static Handler, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post_as(Some(handler), event);
    }

    /// Posts an event with a fresh color of its own: it may run beside anything
    /// else. The cheapest way to spread work that shares no state.
    ///
    /// It begins on this core, and is stolen when that pays.
    #[inline]
    pub fn post_fresh<F>(&mut self, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.post_fresh_as(None, event);
    }

    /// Like [`post_fresh`](Self::post_fresh), as an event of `handler`.
    #[inline]
    pub fn post_fresh_via<F>(&mut self, handler: &'static Handler, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.post_fresh_as(Some(handler), event);
    }

    #[inline]
    fn post_fresh_as<F>(&mut self, handler: Option<&'static Handler>, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.frame.worker.post_fresh(|worker| {
            let state = StatePtr::dangling();
            worker.event(handler, state, event)
        });
    }

    #[inline]
    fn post_as<F>(&mut self, handler: Option<&'static Handler>, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let Frame { worker, color } = *self.frame;
        let admitted = worker
            .shared()
            .admit(worker.handler_poster(), || color.reserve());
        if admitted.is_ok() {
            let event = worker.event(handler, self.state, event);
            if let Err(refused) = worker.post_to_running(color, event) {
                worker.shed(refused);
            }
        }
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
