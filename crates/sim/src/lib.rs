//! A simulator of many cores that runs the very scheduler that production runs.
//!
//! | module | what |
//! |---|---|
//! | [`engine`] | the machine under the workers: virtual cores, on one thread |
//! | [`explore`] | random programs under random schedules, every invariant checked |
//! | [`machine`] | what a machine is: its file, its shape, its caches |
//! | [`replay`] | runs the events of a trace on another machine |
//! | `calibrate` | measures this machine and writes its file |
//! | [`scale`] | workloads from one core to hundreds |
//! | [`paper`] | the papers' workloads on their machine, and what they measured |
//! | `commands` | `mely sim`: a file for each subcommand |

mod calibrate;
mod commands;
pub mod engine;
mod error;
pub mod explore;
pub mod machine;
pub mod paper;
pub mod replay;
pub mod scale;

pub use commands::{
    CalibrateOptions, CheckOptions, ExploreOptions, MachinesOptions, PaperOptions, ReplayOptions,
    ScaleOptions, Sim, run,
};
pub use error::Error;

/// Mely, as it is simulated, from the source of production: the types here are others
/// than those of the `mely` that a program runs on.
pub use mely_virtual as mely;
