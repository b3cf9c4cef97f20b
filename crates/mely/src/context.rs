//! What a handler is told, and what it can do.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::time::Instant;

use crate::cell::OwnedColor;
use crate::color::{Color, Colored};
use crate::event::{NodePool, StatePtr};
use crate::handler::Handler;
use crate::probe;
use crate::region::{Access, Region};
use crate::runtime::Handle;
use crate::worker::Worker;

/// What a handler is told while it runs: its color, its core, the time; and the
/// cheapest way to post to its own color.
///
/// `T` is the state that the color owns, as in [`Colored<T>`].
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
pub struct Context<'a, T = ()> {
    worker: &'a Worker,
    color: &'a OwnedColor,
    state: StatePtr<T>,
    // A context stays on its core's thread, within its handler.
    _here: PhantomData<*mut ()>,
}

impl<'a> Context<'a, ()> {
    #[inline]
    pub(crate) fn new(worker: &'a Worker, color: &'a OwnedColor) -> Self {
        Self {
            worker,
            color,
            state: StatePtr(NonNull::dangling()),
            _here: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn typed<T>(&self, state: StatePtr<T>) -> Context<'a, T> {
        Context {
            worker: self.worker,
            color: self.color,
            state,
            _here: PhantomData,
        }
    }
}

impl<T: Send + 'static> Context<'_, T> {
    #[inline]
    pub(crate) fn pool(&self) -> Option<&NodePool> {
        Some(self.worker.nodes())
    }

    /// The color that is being run, to keep and post to from elsewhere.
    pub fn color(&self) -> Color {
        self.colored_as(StatePtr(NonNull::dangling()))
    }

    /// The color with its state, to keep and post to from elsewhere.
    pub fn colored(&self) -> Colored<T> {
        self.colored_as(self.state)
    }

    fn colored_as<S: Send + 'static>(&self, state: StatePtr<S>) -> Colored<S> {
        Colored::from_parts(self.color.to_ref(), state)
    }

    /// The number of the worker that runs the handler, from 0.
    pub fn worker(&self) -> usize {
        self.worker.index()
    }

    /// The OS number of the core that the worker is pinned to; `None` while it is
    /// free ([`Affinity`](crate::Affinity)).
    pub fn core(&self) -> Option<usize> {
        self.worker.remote().cpu.get()
    }

    /// The runtime.
    pub fn handle(&self) -> Handle {
        Handle::new(self.worker.shared().clone())
    }

    /// The time, from the clock of the runtime.
    pub fn now(&self) -> Instant {
        self.worker.shared().clock.now()
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
        self.worker.post_fresh(|worker| {
            let state = StatePtr(NonNull::dangling());
            worker.event(handler, state, event)
        });
    }

    #[inline]
    fn post_as<F>(&mut self, handler: Option<&'static Handler>, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let counts = &self.worker.remote().counts.events;
        counts.posted.add(1);
        if !self.color.reserve() {
            counts.shed.add(1);
            return;
        }
        let event = self.worker.event(handler, self.state, event);
        self.worker.post_to_running(self.color, event);
    }
}

impl<T> fmt::Debug for Context<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("color", &self.color.id())
            .field("worker", &self.worker.index())
            .finish()
    }
}
