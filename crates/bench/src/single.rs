//! One run, in this process or in one with another allocator.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::implementation::{Allocator, Implementation};
use crate::workloads::{Failure, Run, Workload};
use crate::{Error, Outcome};

/// The program whose global allocator is mimalloc, beside this one.
const MIMALLOC_PROGRAM: &str = "mely-bench-mimalloc";

/// Options of one run.
#[derive(Clone, Debug, Args)]
pub struct SingleOptions {
    /// What to run.
    #[arg(long)]
    pub workload: Workload,
    /// Who runs it: mely/POLICY, tokio, floor.
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
    // Whatever the allocator of this process is, it is the one that was asked for.
    let outcome = workload.run(implementation, &run);
    let outcome = outcome.map_err(|source| Error::Run {
        workload,
        implementation,
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

/// Where the program with mimalloc is, if it was built.
pub(crate) fn mimalloc_program() -> Option<PathBuf> {
    let path = std::env::current_exe()
        .ok()?
        .with_file_name(MIMALLOC_PROGRAM);
    path.is_file().then_some(path)
}

/// Why an implementation cannot be run here, with the way out.
pub(crate) fn missing(implementation: Implementation) -> Option<String> {
    match implementation {
        Implementation::Tokio(Allocator::Mimalloc) if mimalloc_program().is_none() => {
            Some(format!(
                "{MIMALLOC_PROGRAM} is not beside this program: \
                 cargo build --release -p mely-bench --features mimalloc"
            ))
        }
        _ => None,
    }
}

/// Runs a workload once, where the implementation needs it.
pub(crate) fn measure(
    workload: Workload,
    implementation: Implementation,
    run: &Run,
) -> Result<Outcome, Failure> {
    match implementation {
        Implementation::Tokio(Allocator::Mimalloc) => {
            let program = mimalloc_program().ok_or("the program with mimalloc is gone")?;
            in_child(program, workload, implementation, run)
        }
        _ => workload.run(implementation, run),
    }
}

fn in_child(
    program: PathBuf,
    workload: Workload,
    implementation: Implementation,
    run: &Run,
) -> Result<Outcome, Failure> {
    let output = Command::new(program)
        .args(["single", "--json"])
        .args(["--workload", &workload.to_string()])
        .args(["--impl", &implementation.to_string()])
        .args(["--seconds", &run.time.as_secs_f64().to_string()])
        .args(["--workers", &run.workers.to_string()])
        .stderr(Stdio::inherit())
        .output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(format!("its process ended with {}", output.status).into()),
    }
}
