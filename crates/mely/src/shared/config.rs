//! What a runtime was built with.

use std::time::Duration;

use mely_sched::{Batch, Heuristics, Policy};

use crate::cell::Capacity;
use crate::outside::reactor::ReactorKind;
use crate::runtime::builder::{OnPanic, StallReport};
use crate::trace::TraceTo;

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
    pub(crate) trace: TraceTo,
}
