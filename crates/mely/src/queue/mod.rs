//! Queues between threads: the one-word inbox, what is held back behind a long event, and
//! what can be claimed from its owner.

pub(crate) mod claimable;
pub(crate) mod held;
pub(crate) mod inbox;
