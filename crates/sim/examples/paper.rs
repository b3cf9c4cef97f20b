//! The papers' tables without the command: `mely sim paper` has the options.
use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    sim: mely_sim::Sim,
}

fn main() -> Result<(), mely_sim::Error> {
    mely_sim::run(&Command::parse().sim)
}
