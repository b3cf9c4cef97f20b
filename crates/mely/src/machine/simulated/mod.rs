//! The machine of a simulation: the probes, atomics and locks of a worker are charged to
//! it, and its hooks say what happens then.

pub(crate) mod atomics;
pub(crate) mod hooks;
pub(crate) mod install;
pub mod meter;
pub(crate) mod mutex;
pub(crate) mod tariff;
