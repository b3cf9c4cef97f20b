//! One run, for `peers` and for profilers.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::Error;
use crate::elsewhere;
use crate::implementation::{Allocator, Implementation};
use crate::workloads::{Run, Workload};

/// Options of one run.
#[derive(Clone, Debug, Args)]
pub struct SingleOptions {
    /// What to run.
    #[arg(long)]
    pub workload: Workload,
    /// Who runs it: mely/POLICY, tokio, async-executor, rayon, asio, go, floor.
    #[arg(long = "impl", value_name = "NAME")]
    pub implementation: Implementation,
    /// How long to measure, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Worker threads; by default one for each core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Prints JSON instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// Reads a time that can be measured: from a millisecond to an hour.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds from 0.001 to 3600".to_owned()),
    }
}

/// What was asked for, or one for each core that the process may use.
pub(crate) fn workers(asked: Option<u16>) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, usize::from)
}

pub(crate) fn run(options: &SingleOptions) -> Result<(), Error> {
    let run = Run {
        workers: workers(options.workers),
        time: Duration::from_secs_f64(options.seconds),
    };
    let (workload, implementation) = (options.workload, options.implementation);
    let outcome = match implementation {
        // Whatever the allocator of this process is, it is the one that was asked for.
        Implementation::Tokio(Allocator::Mimalloc) => workload.run(implementation, &run),
        _ => elsewhere::measure(workload, implementation, &run),
    };
    let outcome = outcome.map_err(|source| Error::Run {
        workload: workload.to_string(),
        implementation: implementation.to_string(),
        source,
    })?;
    let text = match options.json {
        true => serde_json::json!(outcome).to_string(),
        false => format!(
            "{workload} by {implementation}: {:.3} M events/s",
            outcome.events_per_second() / 1e6
        ),
    };
    writeln!(std::io::stdout(), "{text}").map_err(Error::Output)
}
