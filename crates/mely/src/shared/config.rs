//! What a runtime was built with.

use core::fmt;
use std::path::PathBuf;
use std::time::Duration;

use mely_sched::{Batch, Heuristics, Policy};

use crate::cell::{Capacity, OnPanic};
use crate::machine::counter::Choice;

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
    /// What the workers count while noted events run.
    pub(crate) counting: Choice,
    /// The file that it records to, if it does.
    pub(crate) trace: Option<PathBuf>,
}

/// A handler that holds a core for longer than
/// [`warn_after`](crate::Builder::warn_after); or for more than a second, after it was told
/// that a reply of the same runtime is not there yet: it may wait for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StallReport {
    /// The worker whose core is held.
    pub worker: usize,
    /// The handler that holds it.
    pub handler: &'static str,
    /// For how long at the least.
    pub held: Duration,
    /// It was told that a reply is not there yet, and seems to block for it.
    pub awaits: bool,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            handler,
            worker,
            held,
            awaits,
        } = self;
        write!(
            f,
            "handler {handler} has held worker {worker} for {} ms",
            held.as_millis()
        )?;
        f.write_str(match awaits {
            true => {
                ", after a reply was not there yet: if it blocks for that (`block_on`), it may \
                 wait for itself; await it in a task (`Colored::spawn`)"
            }
            false => ": blocking work belongs on a thread of its own",
        })
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
    /// the paper (*Efficient Workstealing*, figure 6). Color 0 is never poisoned then.
    Single,
}
