//! Queues between threads: the one-word inbox, and what is held back behind a long event.

pub(crate) mod held;
pub(crate) mod inbox;
