//! How things are measured: in interleaved runs that nothing disturbed, written down
//! with the machine and the command.

pub(crate) mod arguments;
pub(crate) mod descriptors;
pub(crate) mod disturbance;
pub(crate) mod error;
pub(crate) mod foreign;
pub(crate) mod gauge;
pub(crate) mod machine;
pub(crate) mod measured;
pub(crate) mod outcome;
pub(crate) mod provenance;
pub(crate) mod random;
pub(crate) mod repetition;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod server;
pub(crate) mod spin;
pub(crate) mod staged;
pub(crate) mod tally;
pub(crate) mod turns;

pub use self::error::Error;
pub use self::outcome::{Failure, Outcome, Run, Served};
