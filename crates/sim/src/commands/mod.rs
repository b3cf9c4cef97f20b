//! `mely sim`: a file for each subcommand.

mod calibrate;
mod check;
mod choice;
mod explore;
mod interrupt;
mod machines;
mod paper;
mod parallel;
mod progress;
mod provenance;
mod replay;
mod scale;
mod table;

pub use calibrate::CalibrateOptions;
pub use check::CheckOptions;
pub use explore::ExploreOptions;
pub use machines::MachinesOptions;
pub use paper::PaperOptions;
pub use replay::ReplayOptions;
pub use scale::ScaleOptions;

use clap::Subcommand;

use crate::Error;

/// The simulator: a subcommand for each of its jobs.
#[derive(Clone, Debug, Subcommand)]
pub enum Sim {
    /// Measure this machine, and write the file that simulations of it take.
    Calibrate(CalibrateOptions),
    /// Compare the simulator with this machine: measure it, simulate workloads on it, and
    /// run them for real; a minute or two, with nothing else on the machine.
    Check(CheckOptions),
    /// Run random programs under random schedules, and check every invariant of the
    /// scheduler after each step.
    Explore(ExploreOptions),
    /// List the machines that come with Mely, or show the file of one.
    Machines(MachinesOptions),
    /// Simulate the papers' tables on their machine, beside what they measured.
    Paper(PaperOptions),
    /// Run a recorded trace on a simulated machine: how would this program run there?
    Replay(ReplayOptions),
    /// Run workloads on machines of 1 to 256 cores: what do more cores bring?
    Scale(ScaleOptions),
}

/// Does a job of the simulator, and prints what it found.
///
/// ```no_run
/// use clap::Parser;
/// #[derive(Parser)]
/// struct Command {
///     #[command(subcommand)]
///     sim: mely_sim::Sim,
/// }
/// mely_sim::run(&Command::parse_from(["sim", "machines"]).sim)?;
/// # Ok::<(), mely_sim::Error>(())
/// ```
///
/// # Errors
/// An [`Error`] that names what could not be read, measured or written.
pub fn run(sim: &Sim) -> Result<(), Error> {
    match sim {
        Sim::Calibrate(options) => calibrate::run(options),
        Sim::Check(options) => check::run(options),
        Sim::Explore(options) => explore::run(options),
        Sim::Machines(options) => machines::run(options),
        Sim::Paper(options) => paper::run(options),
        Sim::Replay(options) => replay::run(options),
        Sim::Scale(options) => scale::run(options),
    }
}
