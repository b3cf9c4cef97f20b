//! The outside world: readiness of descriptors, sockets and signals, as events of colors.

pub mod net;
pub(crate) mod reactor;
pub mod signals;
