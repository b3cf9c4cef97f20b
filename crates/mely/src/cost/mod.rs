//! What events cost: counted, learned by each worker, and told by thieves to all.

pub(crate) mod counters;
pub(crate) mod durations;
pub(crate) mod handlers;
pub(crate) mod penalties;
pub(crate) mod sampler;
pub(crate) mod seats;
