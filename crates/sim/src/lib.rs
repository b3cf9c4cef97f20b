//! A simulator of many cores that runs the very scheduler that production runs.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | what a machine is: its file, its shape, its caches |
//! | `calibrate` | measures this machine and writes its file |
//! | `commands` | `mely sim`: a file for each subcommand |

mod calibrate;
mod commands;
mod error;
pub mod machine;

pub use commands::{CalibrateOptions, MachinesOptions, Sim, run};
pub use error::Error;
