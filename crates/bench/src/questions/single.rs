//! One run, for `peers` and for profilers.

use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use mely::Affinity;

use crate::contenders::implementation::{Allocator, Implementation};
use crate::measure::arguments::{self, seconds};
use crate::measure::{Error, Run};
use crate::workloads::Workload;

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
    /// Where workers of Mely run: auto, pinned, free.
    #[arg(long, value_name = "A", default_value_t)]
    pub affinity: Affinity,
    /// Prints JSON instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(options: &SingleOptions) -> Result<(), Error> {
    let run = Run {
        workers: arguments::workers(options.workers),
        affinity: options.affinity,
        time: Duration::from_secs_f64(options.seconds),
    };
    let (workload, implementation) = (options.workload, options.implementation);
    let outcome = match implementation {
        // Whatever the allocator of this process is, it is the one that was asked for.
        Implementation::Tokio(Allocator::Mimalloc) => workload.run(implementation, &run),
        _ => workload.measure(implementation, &run),
    };
    let outcome = outcome.map_err(Error::run(workload, implementation))?;
    let text = match options.json {
        true => serde_json::json!(outcome).to_string(),
        false => format!(
            "{workload} by {implementation}: {:.3} M events/s",
            outcome.events_per_second() / 1e6
        ),
    };
    writeln!(std::io::stdout(), "{text}").map_err(Error::Output)
}
