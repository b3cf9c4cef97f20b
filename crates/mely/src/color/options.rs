//! Making colors that are pinned, bounded or placed.

use core::fmt;

use crate::cell::{Capacity, Traits, UNBOUNDED};
use crate::color::{Color, Colored};
use crate::machine::sync::Arc;
use crate::shared::Shared;
use crate::worker;

/// Settings of a color that is to be made.
///
/// ```
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let log = rt.color_options().pinned(0).capacity(1000).colored(String::new())?;
/// log.post(|text, cx| {
///     assert_eq!(cx.worker(), 0);
///     text.push_str("on worker 0, whatever thieves do");
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ColorOptions {
    shared: Arc<Shared>,
    home: Option<usize>,
    pinned: bool,
    capacity: Capacity,
}

impl ColorOptions {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            home: None,
            pinned: false,
            capacity: shared.config.color_capacity,
            shared,
        }
    }

    /// The worker that runs the color until another steals it. Default: the worker
    /// that makes it, or each in turn from outside.
    #[must_use]
    pub fn home(mut self, worker: usize) -> Self {
        self.home = Some(worker);
        self
    }

    /// The worker that runs the color for good: it is never stolen (seed 002,
    /// pinning).
    #[must_use]
    pub fn pinned(mut self, worker: usize) -> Self {
        self.pinned = true;
        self.home(worker)
    }

    /// Like [`pinned`](Self::pinned) under the policies that know pinning
    /// ([`Heuristics::pinning`](crate::Heuristics::pinning)), like
    /// [`home`](Self::home) under the others: for programs that compare them.
    #[must_use]
    pub fn pinned_by_policy(mut self, worker: usize) -> Self {
        self.pinned = self.shared.config.heuristics.pinning;
        self.home(worker)
    }

    /// How many events may be pending. Default: that of the runtime.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = Capacity::try_from(events).unwrap_or(UNBOUNDED);
        self
    }

    /// Makes a fresh color.
    ///
    /// # Errors
    ///
    /// [`NoSuchWorker`] if the home is not a worker of the runtime.
    pub fn fresh(self) -> Result<Color, NoSuchWorker> {
        self.colored(())
    }

    /// Makes a fresh color that owns `state`.
    ///
    /// # Errors
    ///
    /// [`NoSuchWorker`] if the home is not a worker of the runtime.
    pub fn colored<T: Send + 'static>(self, state: T) -> Result<Colored<T>, NoSuchWorker> {
        let workers = self.shared.remotes.len();
        if let Some(worker) = self.home.filter(|&worker| worker >= workers) {
            return Err(NoSuchWorker { worker, workers });
        }
        let color = worker::new_color(&self.shared, |here| {
            let home = self.home.or(here);
            let home = home.unwrap_or_else(|| self.shared.next_home());
            Traits {
                pinned: self.pinned,
                capacity: self.capacity,
                ..self.shared.default_traits(home)
            }
        });
        Ok(Colored::new(color, state))
    }
}

impl fmt::Debug for ColorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColorOptions")
            .field("home", &self.home)
            .field("pinned", &self.pinned)
            .field("capacity", &self.capacity)
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
