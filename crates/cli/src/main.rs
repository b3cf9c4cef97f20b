//! The `mely` command: one binary, a subcommand for each job.

mod completions;
mod error;
mod gnutella;
mod man;
mod progress;
mod signals;
mod top;
mod topology;
mod trace;
mod units;
mod web;

use clap::{Parser, Subcommand};
use error::CliError;
use std::process::ExitCode;

/// Multicore event-driven runtime: colored events on all cores, no locks in the program.
#[derive(Parser)]
#[command(name = "mely", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    Web(Box<web::WebArgs>),
    Gnutella(Box<gnutella::GnutellaArgs>),
    Top(top::TopArgs),
    Topology(topology::TopologyArgs),
    #[command(subcommand)]
    Trace(trace::TraceJob),
    /// Measure Mely beside its peers, in one interleaved run.
    #[command(subcommand)]
    Bench(mely_bench::Bench),
    /// Simulate machines of many cores.
    #[command(subcommand)]
    Sim(mely_sim::Sim),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Job {
    fn run(self) -> Result<(), CliError> {
        match self {
            Job::Web(args) => args.run(),
            Job::Gnutella(args) => args.run(),
            Job::Top(args) => args.run(),
            Job::Topology(args) => args.run(),
            Job::Trace(job) => job.run(),
            Job::Bench(bench) => mely_bench::run(&bench).map_err(CliError::from),
            Job::Sim(sim) => mely_sim::run(&sim).map_err(CliError::from),
            Job::Completions(args) => args.run(),
            Job::Man(args) => args.run(),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().job.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mely: {error}");
            error.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
