//! Making colors that are pinned, bounded or placed.

use core::fmt;

use crate::cell::{AfterPanic, Anew, Capacity, OnPanic, Traits, UNBOUNDED};
use crate::color::{Color, Colored};
use crate::machine::sync::Arc;
use crate::shared::{ColorRef, Shared};
use crate::worker;

/// Settings of a color that is to be made.
///
/// ```
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let log = rt.color_options().pin_to(0).capacity(1000).colored(String::new())?;
/// log.post(|text, cx| {
///     assert_eq!(cx.worker(), 0);
///     text.push_str("on worker 0, whatever thieves do");
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ColorOptions {
    shared: Arc<Shared>,
    home: Option<usize>,
    pinned: bool,
    capacity: Capacity,
    after_panic: AfterPanic,
}

impl ColorOptions {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            home: None,
            pinned: false,
            after_panic: AfterPanic::AsRuntime,
            capacity: shared.config.color_capacity,
            shared,
        }
    }

    /// The worker that the color begins on: its *home*, until another steals it. Default: the worker
    /// that makes it, or each in turn from outside.
    #[must_use]
    pub fn start_on(mut self, worker: usize) -> Self {
        self.home = Some(worker);
        self
    }

    /// The worker that runs the color for good: it is never stolen (pinning, in
    /// *Improving Event-Driven Programming on Multicore Systems by Cache-Aware Work Stealing*).
    #[must_use]
    pub fn pin_to(mut self, worker: usize) -> Self {
        self.pinned = true;
        self.start_on(worker)
    }

    /// Like [`pin_to`](Self::pin_to) under the policies that know pinning
    /// ([`Heuristics::pinning`](crate::Heuristics::pinning)), like
    /// [`start_on`](Self::start_on) under the others: for programs that compare them.
    #[must_use]
    pub fn pin_by_policy(mut self, worker: usize) -> Self {
        self.pinned = self.shared.config.heuristics.pinning;
        self.start_on(worker)
    }

    /// How many events may be pending. Default: that of the runtime.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = Capacity::try_from(events).unwrap_or(UNBOUNDED);
        self
    }

    /// What the color does when one of its events panics. Default: as the
    /// [runtime](crate::Builder::on_panic).
    ///
    /// ```
    /// use mely::{CallError, OnPanic};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let ledger = rt.color_options().on_panic(OnPanic::PoisonColor).colored(0)?;
    /// let failed = ledger.try_blocking_with(|_| -> u8 { std::panic::resume_unwind(Box::new("odd")) });
    /// assert_eq!(failed, Err(CallError::Panicked("odd".into())));
    /// assert_eq!(ledger.try_blocking_with(|n| *n), Err(CallError::Poisoned));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.after_panic = AfterPanic::As(on_panic);
        self
    }

    /// Makes a new color whose state `make` makes: now, and anew whenever an event of the
    /// color has panicked, before the next one runs. Instead of what
    /// [`on_panic`](Self::on_panic) says.
    ///
    /// The state that the panic has left is dropped then; other states that were
    /// [attached](Colored::attach) stay. A panic of `make` itself on that occasion poisons
    /// the color. `make` runs on the worker, as an event does, and must not wait.
    ///
    /// ```
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let cache = rt.color_options().restarting(|| vec!["fresh"])?;
    /// let failed = cache.try_blocking_with(|list| {
    ///     list.push("half done");
    ///     std::panic::resume_unwind(Box::new("odd"))
    /// });
    /// assert_eq!(failed.map(|()| 0).unwrap_err().to_string(), "the event panicked: odd");
    /// assert_eq!(cache.blocking_with(|list| list.clone()), ["fresh"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchWorker`] if the home is not a worker of the runtime; `make` is not called.
    ///
    /// # Panics
    ///
    /// When `make` does, the first time.
    pub fn restarting<T, F>(mut self, mut make: F) -> Result<Colored<T>, NoSuchWorker>
    where
        T: Send + 'static,
        F: FnMut() -> T + Send + 'static,
    {
        self.after_panic = AfterPanic::Restart;
        let color = self.color()?;
        let state = make();
        Ok(Colored::made_by(color, state, Anew(make)))
    }

    /// Makes a new color without state.
    ///
    /// # Errors
    ///
    /// [`NoSuchWorker`] if the home is not a worker of the runtime.
    pub fn new_color(self) -> Result<Color, NoSuchWorker> {
        self.colored(())
    }

    /// Makes a new color that owns `state`.
    ///
    /// # Errors
    ///
    /// [`NoSuchWorker`] if the home is not a worker of the runtime.
    pub fn colored<T: Send + 'static>(self, state: T) -> Result<Colored<T>, NoSuchWorker> {
        Ok(Colored::new(self.color()?, state))
    }

    /// Makes a color that has no home to be wrong.
    pub(super) fn anywhere(&self) -> Color {
        let color = worker::new_color(&self.shared, |here| {
            let home = here.unwrap_or_else(|| self.shared.next_home());
            self.shared.default_traits(home)
        });
        Colored::new(color, ())
    }

    fn color(&self) -> Result<ColorRef, NoSuchWorker> {
        let workers = self.shared.remotes.len();
        if let Some(worker) = self.home.filter(|&worker| worker >= workers) {
            return Err(NoSuchWorker { worker, workers });
        }
        Ok(worker::new_color(&self.shared, |here| {
            let home = self.home.or(here);
            let home = home.unwrap_or_else(|| self.shared.next_home());
            Traits {
                pinned: self.pinned,
                capacity: self.capacity,
                after_panic: self.after_panic,
                ..self.shared.default_traits(home)
            }
        }))
    }
}

impl fmt::Debug for ColorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColorOptions")
            .field("home", &self.home)
            .field("pinned", &self.pinned)
            .field("capacity", &self.capacity)
            .field("after_panic", &self.after_panic)
            .finish_non_exhaustive()
    }
}

/// A worker number that the runtime does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchWorker {
    /// The number that was given.
    pub worker: usize,
    /// How many workers there are, numbered from 0.
    pub workers: usize,
}

impl fmt::Display for NoSuchWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoSuchWorker { worker, workers } = self;
        let last = workers.saturating_sub(1);
        write!(f, "no worker {worker}: the runtime has workers 0 to {last}")
    }
}

impl std::error::Error for NoSuchWorker {}
