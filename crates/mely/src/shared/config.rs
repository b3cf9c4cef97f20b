//! What a runtime was built with.

use core::fmt;
use std::path::PathBuf;
use std::time::Duration;

use mely_sched::{Batch, Heuristics, Policy};

use crate::cell::{Capacity, OnPanic};

/// The settings of a runtime, after the builder has checked them.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) policy: Policy,
    /// Of the policy, with stealing off where there is nobody to steal from.
    pub(crate) heuristics: Heuristics,
    pub(crate) batch: Batch,
    pub(crate) color_capacity: Capacity,
    pub(crate) timers_max: usize,
    pub(crate) nodes_max: usize,
    pub(crate) on_panic: OnPanic,
    pub(crate) warn_after: Option<Duration>,
    pub(crate) on_stall: fn(&StallReport),
    pub(crate) worker_name: String,
    pub(crate) reactor: ReactorKind,
    /// The file that it records to, if it does.
    pub(crate) trace: Option<PathBuf>,
}

/// A handler that holds a core for longer than
/// [`warn_after`](crate::Builder::warn_after).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallReport {
    /// The worker whose core is held.
    pub worker: usize,
    /// The handler that holds it.
    pub handler: &'static str,
    /// For how long at the least.
    pub held: Duration,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "handler {} has held worker {} for {} ms: blocking work belongs on a thread of its own",
            self.handler,
            self.worker,
            self.held.as_millis()
        )
    }
}

/// How descriptors are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReactorKind {
    /// One epoll instance for each worker: readiness is found on the core where
    /// the connection lives.
    #[default]
    PerWorker,
    /// One for all, whose handler `Epoll` is an event of color 0 that posts for
    /// all, and where `RegisterFdInEpoll`, of color 0 too, adds descriptors: as in
    /// the paper (seed 000, figure 6). Color 0 is never poisoned then.
    Single,
}
