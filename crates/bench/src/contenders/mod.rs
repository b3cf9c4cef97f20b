//! Who runs the workloads: Mely, its peers, and the floor.

pub(crate) mod choice;
pub(crate) mod elsewhere;
pub(crate) mod implementation;
pub(crate) mod programs;
pub(crate) mod runtimes;
pub(crate) mod staged;
