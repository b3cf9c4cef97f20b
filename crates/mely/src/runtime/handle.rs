//! References to a runtime.

use core::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use crate::color::context::Context;
use crate::color::error::PostError;
use crate::color::group::Group;
use crate::color::options::ColorOptions;
use crate::color::waits::wait_for;
use crate::color::{Color, Colored};
use crate::event::StatePtr;
use crate::machine::sync::Arc;
use crate::runtime::ending::{self, DRAIN_POLL};
use crate::runtime::metrics::Snapshot;
use crate::shared::{Phase, Shared};
use crate::worker;

/// A reference to a runtime: makes colors and reads metrics, from any thread.
#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

// As for `Colored`: nothing behind it is left halfway by a panic of the program.
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The runtime whose worker this thread is: in handlers, in futures that are polled under a
    /// color, and in whatever destructor or waker a worker calls. `None` on other threads:
    /// those of the program, and those for what blocks, take a clone of a handle along.
    ///
    /// For code that is called without a [`Context`], which has it as
    /// [`Context::handle`]. The color of the event is [`Color::current`].
    ///
    /// ```
    /// use mely::Handle;
    /// /// Begins something beside the caller, whatever task that is.
    /// fn begin(work: impl Future<Output = ()> + Send + 'static) -> Option<mely::Reply<()>> {
    ///     Some(Handle::current()?.new_color().spawn(work))
    /// }
    ///
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let begun = rt.new_color().spawn(async { begin(async {})?.await.ok() });
    /// assert_eq!(begun.wait()?, Some(()));
    /// assert!(begin(async {}).is_none()); // not by a worker: `rt` is at hand
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn current() -> Option<Self> {
        worker::with_any_current(|worker| Some(Self::new(Arc::clone(worker?.shared()))))
    }

    /// The color with a small number, as in the papers: the same number is the same
    /// color, and it lives as long as the runtime. Color 0 is what
    /// [`post`](Self::post) posts to.
    pub fn numbered_color(&self, number: u16) -> Color {
        let color = self.shared.small_color(number);
        Colored::from_parts(color, StatePtr::dangling())
    }

    /// A new color without state; there can be any number. It begins on the worker that
    /// makes it, or on each in turn when made outside of the workers.
    pub fn new_color(&self) -> Color {
        self.colored(())
    }

    /// Posts an event without a color of the program's: it runs under color 0, after all
    /// that this thread posted so before. A program of one loop begins as it is, with all
    /// its events here, and becomes parallel as they get colors.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// rt.post(|_, _cx| println!("one of these at a time"))?;
    /// rt.post(|_, _cx| println!("then the next"))?;
    /// rt.wait_idle();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Colored::post`].
    pub fn post<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.numbered_color(0).post(event)
    }

    /// State with a new color of its own.
    pub fn colored<T: Send + 'static>(&self, state: T) -> Colored<T> {
        let color = worker::new_color(&self.shared, |here| {
            let home = here.unwrap_or_else(|| self.shared.next_home());
            self.shared.default_traits(home)
        });
        Colored::new(color, state)
    }

    /// The settings of a color that is to be made: pinned, bounded, placed.
    pub fn color_options(&self) -> ColorOptions {
        ColorOptions::new(Arc::clone(&self.shared))
    }

    /// A new group, for colors and tasks that are waited for and stopped together.
    pub fn group(&self) -> Group {
        Group::new(&self.shared)
    }

    /// Runs a future under a color of its own, and blocks until it gives something: for `main`
    /// and for tests. Elsewhere spawn it, and await its [`Reply`](crate::Reply).
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let counter = rt.colored(40);
    /// let answer = rt.block_on(async move { counter.call(|n, _cx| *n + 2).await });
    /// assert_eq!(answer, Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where the future panics, or is dropped by a shutdown; and inside a handler of the same
    /// runtime, or of one that it waits for, as [`Reply::wait`](crate::Reply::wait) does.
    #[track_caller]
    pub fn block_on<Fut>(&self, future: Fut) -> Fut::Output
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        match self.new_color().spawn(future).wait() {
            Ok(output) => output,
            Err(error) => panic!("Handle::block_on: {error}"),
        }
    }

    /// Begins to shut the runtime down, from any thread and from handlers: as
    /// [`Runtime::shutdown`](crate::Runtime::shutdown) does, but it does not wait. Whether it has begun by this.
    ///
    /// Whoever has the [`Runtime`](crate::Runtime) learns the rest, by its `shutdown` or by dropping it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let color = rt.new_color();
    /// color.post(|_, cx| assert!(cx.handle().shutdown(Duration::from_secs(5))))?;
    /// while color.post(|_, _| ()).is_ok() {}
    /// assert!(rt.shutdown(Duration::from_secs(5))?.events_run > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(&self, deadline: Duration) -> bool {
        ending::begin(&self.shared, deadline)
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.shared.remotes.len()
    }

    /// What the runtime has counted so far. Reads all workers' counters; takes some
    /// microseconds and stops nobody.
    pub fn metrics(&self) -> Snapshot {
        Snapshot::of(&self.shared)
    }

    /// Blocks until no event is pending or running: for tests and benchmarks.
    /// Timers that are not due count as pending.
    ///
    /// # Panics
    ///
    /// Inside a handler of the same runtime, or of one that it waits for: that could wait
    /// for itself.
    pub fn wait_idle(&self) {
        let waiting = wait_for(self.shared.number);
        if let Err(error) = &waiting {
            panic!("Handle::wait_idle: {error}");
        }
        while !self.shared.is_quiescent() && self.shared.phase() < Phase::Stopped {
            crate::machine::sync::pause(DRAIN_POLL);
        }
    }
}

impl<T: Send + 'static> Context<'_, T> {
    /// The runtime. Where there is no context, it is [`Handle::current`].
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(self.shared()))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
