//! The machine of a simulation: what a worker does is charged to it, and its hooks say
//! what happens then.

pub(crate) mod hooks;
pub(crate) mod install;
pub mod meter;
pub(crate) mod tariff;
