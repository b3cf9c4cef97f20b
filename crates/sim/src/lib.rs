//! A simulator of many cores that runs the very scheduler that production runs.
//!
//! | module | what |
//! |---|---|
//! | [`engine`] | the machine under the workers: virtual cores, on one thread |
//! | [`explore`] | random programs under random schedules, every invariant checked |
//! | [`machine`] | what a machine is: its file, its shape, its caches |
//! | `calibrate` | measures this machine and writes its file |
//! | `commands` | `mely sim`: a file for each subcommand |

mod calibrate;
mod commands;
pub mod engine;
mod error;
pub mod explore;
pub mod machine;

pub use commands::{CalibrateOptions, ExploreOptions, MachinesOptions, Sim, run};
pub use error::Error;

/// Mely, as it is simulated, from the source of production: the types here are others
/// than those of the `mely` that a program runs on.
pub use mely_virtual as mely;
