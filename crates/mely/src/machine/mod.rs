//! The machine: what all other layers stand on, and what a simulation or a model
//! exchanges.

pub(crate) mod affinity;
pub(crate) mod barrier;
pub(crate) mod clock;
pub(crate) mod counter;
pub(crate) mod cycles;
pub(crate) mod driver;
pub(crate) mod lock_time;
pub(crate) mod panics;
pub(crate) mod prefetch;
pub(crate) mod probe;
pub(crate) mod region;
#[cfg(feature = "virtual")]
pub(crate) mod simulated;
pub(crate) mod sync;
pub(crate) mod way_out;
