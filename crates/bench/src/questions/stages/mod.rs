//! `stages`: what staged servers do under more than they can do, by experiment.
//!
//! | file | what |
//! |---|---|
//! | `connections` | many of them, beside servers with threads |
//! | `overload` | the steps to 1.4 and to 10 times of what a staged server can do |
//! | `setting` | what the experiments share: their server, and their rows |

mod connections;
mod overload;
mod setting;

use clap::Args;

use crate::contenders::staged::Conditioning;
use crate::measure::Error;
use crate::measure::arguments::seconds;
use crate::measure::turns::Turns;

/// Staged servers under load.
#[derive(Args, Clone, Debug)]
pub struct StagesOptions {
    /// Which experiments, separated by commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',', required = true)]
    pub experiment: Vec<Experiment>,

    /// The policies of admission; by default those that the experiment is about.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub policy: Vec<Conditioning>,

    /// How long a phase of load takes.
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,

    /// `overload`: what a request costs, in microseconds.
    #[arg(long, default_value_t = 100, value_name = "US",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cost: u32,

    /// `overload`: bytes of an answer.
    #[arg(long, default_value_t = 8192, value_name = "BYTES",
          value_parser = clap::value_parser!(u32).range(0..=1_048_576))]
    pub answer: u32,

    /// `overload`: what responses are to be within, in milliseconds.
    #[arg(long, default_value_t = 20, value_name = "MS",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub target: u32,

    /// `servers`, `sockets`, `idle`: only so many connections, instead of several numbers of them.
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: Vec<u32>,

    /// `sockets`: packets of 8 KB that each connection sends. The slides have 1000.
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub packets: u32,

    /// How often, and where to.
    #[command(flatten)]
    pub turns: Turns,
}

impl StagesOptions {
    fn connections_or(&self, usual: &[u32]) -> Vec<u32> {
        match &self.connections[..] {
            [] => usual.to_vec(),
            chosen => chosen.to_vec(),
        }
    }
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Experiment {
    /// A staged server under 1.4 and 10 times of what it can serve.
    Overload,
    /// Pages of 8 KB to clients that pause: the web server beside a pool of 150 threads and a
    /// thread for each connection.
    Servers,
    /// Packets of 8 KB on 1 to 10 000 connections, beside a thread for each.
    Sockets,
    /// One active connection among up to 10 000 idle ones, beside a thread for each.
    Idle,
}

/// Runs the experiments and prints what they found.
pub(crate) fn run(options: &StagesOptions) -> Result<(), Error> {
    let mut rows = Vec::new();
    for experiment in &options.experiment {
        rows.extend(match experiment {
            Experiment::Overload => overload::run(options)?,
            Experiment::Servers => connections::run_servers(options)?,
            Experiment::Sockets => connections::run_sockets(options)?,
            Experiment::Idle => connections::run_idle(options)?,
        });
    }
    setting::keep(&rows, options)
}
