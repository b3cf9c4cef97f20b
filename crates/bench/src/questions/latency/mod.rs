//! `latency`: how long it takes from the post of an event to its run.
//!
//! Events are posted by a thread outside of the runtime, as by a thread that listens
//! or a driver, to long-lived keys. Two conditions: *idle*, where the workers have
//! gone to sleep before each post; and *loaded*, where they have work for half of
//! their time.

mod idle;
mod loaded;

use std::fmt;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use hdrhistogram::Histogram;

use super::table;
use crate::contenders::choice::{chosen, skip};
use crate::contenders::implementation::{Allocator, Implementation};
use crate::contenders::runtimes::{self, Conditions, Fresh, Job, Keyed};
use crate::measure::arguments::{self, seconds};
use crate::measure::machine::Machine;
use crate::measure::repetition::{Contender, Repetition};
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Failure, Run};
use crate::workloads::alone;

/// What is run when nothing is chosen: runtimes that threads outside can post to.
const DEFAULT: [Implementation; 4] = [
    Implementation::Mely(mely::Policy::Adaptive),
    Implementation::Tokio(Allocator::System),
    Implementation::AsyncExecutor,
    Implementation::Rayon,
];

/// What is read off the histogram of a run.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// Figures of two digits are more than latencies repeat to.
const DIGITS: u8 = 2;

/// Options of the latency benchmark.
#[derive(Clone, Debug, Args)]
pub struct LatencyOptions {
    /// Only these conditions; by default both.
    #[arg(long = "load", value_name = "LOAD", value_delimiter = ',')]
    pub load: Vec<Load>,
    /// Only these implementations; by default Mely's default policy, tokio,
    /// async-executor and rayon.
    #[arg(long = "impl", value_name = "NAME", value_delimiter = ',')]
    pub implementation: Vec<Implementation>,
    /// How long each run measures.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
}

/// What the workers do meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Load {
    /// They sleep before each post.
    Idle,
    /// Events like those of U, ten times as long, for half of their time.
    Loaded,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::Idle => "idle",
            Load::Loaded => "loaded",
        })
    }
}

/// An implementation under a load.
#[derive(Clone, Copy)]
struct Pair(Load, Implementation);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.0, self.1)
    }
}

/// Nanoseconds from post to run.
type Latencies = Histogram<u64>;

fn no_latencies() -> Result<Latencies, Failure> {
    Ok(Histogram::new(DIGITS)?)
}

/// One run on a runtime.
struct OnRuntime {
    load: Load,
    run: Run,
    spin_rate: f64,
}

impl Job for OnRuntime {
    type Output = Latencies;

    fn on<R: Keyed + Fresh + 'static>(self, runtime: &R) -> Result<Latencies, Failure> {
        match self.load {
            Load::Idle => idle::measure(runtime, self.run.time),
            Load::Loaded => loaded::measure(runtime, &self.run, self.spin_rate),
        }
    }
}

pub(crate) fn run(options: &LatencyOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = Run {
        workers: arguments::workers(repetition.workers),
        time: Duration::from_secs_f64(options.seconds),
    };
    let spin_rate = spin::checked()?;
    let implementations = runnable(&options.implementation)?;
    writeln!(
        io::stdout(),
        "{}\n{} workers, {} runs of {} s each, interleaved; from post to run",
        Machine::detect(),
        run.workers,
        repetition.repeat,
        options.seconds
    )
    .map_err(Error::Output)?;
    let mut contenders = Vec::new();
    for load in chosen(&options.load, &[Load::Idle, Load::Loaded]) {
        let pairs = implementations.iter().map(|&who| Pair(load, who));
        contenders.extend(repetition.interleave(pairs, |&Pair(load, who)| {
            measure(load, who, run, spin_rate).map_err(|source| Error::Run {
                workload: load.to_string(),
                implementation: who.to_string(),
                source,
            })
        })?);
    }
    let rows = rows(&contenders);
    table::write(&rows, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

/// What was chosen and has an outside; names what has none.
fn runnable(asked: &[Implementation]) -> Result<Vec<Implementation>, Error> {
    let mut runnable = Vec::new();
    for implementation in chosen(asked, &DEFAULT) {
        match DEFAULT.contains(&implementation) || implementation.is_ours() {
            true => runnable.push(implementation),
            false => skip(
                implementation,
                "latency is measured from a thread of this process to a runtime of this \
                 process: choose mely/POLICY, tokio, async-executor or rayon",
            )?,
        }
    }
    match runnable.is_empty() {
        true => Err(Error::NothingToRun),
        false => Ok(runnable),
    }
}

fn measure(
    load: Load,
    implementation: Implementation,
    run: Run,
    spin_rate: f64,
) -> Result<Latencies, Failure> {
    let _alone = alone();
    let conditions = Conditions {
        workers: run.workers,
        yields: false,
    };
    let job = OnRuntime {
        load,
        run,
        spin_rate,
    };
    runtimes::start(implementation, conditions, job)
        .unwrap_or_else(|| Err("it is no runtime of this process".into()))
}

/// A row for each quantile, those of one quantile side by side.
fn rows(contenders: &[Contender<Pair, Latencies>]) -> Vec<Row> {
    let row = |load, (name, quantile): (&str, f64)| {
        let under = contenders.iter().filter(move |c| c.what.0 == load);
        let workload = format!("{load} {name}");
        under.filter_map(move |contender| {
            let runs = contender.figures.iter();
            let runs = runs.map(|run| run.value_at_quantile(quantile) as f64);
            let who = contender.what.1.to_string();
            Row::of("latency", workload.clone(), who, "ns", runs.collect())
        })
    };
    let loads = [Load::Idle, Load::Loaded].into_iter();
    let measures = loads.flat_map(|load| QUANTILES.map(|quantile| (load, quantile)));
    measures
        .flat_map(|(load, quantile)| row(load, quantile))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runtime_answers_under_every_load() {
        let run = Run {
            workers: 2,
            time: Duration::from_millis(1),
        };
        for load in [Load::Idle, Load::Loaded] {
            for implementation in DEFAULT {
                let latencies = measure(load, implementation, run, 2e9).unwrap();
                assert!(!latencies.is_empty(), "{load} {implementation}");
            }
        }
    }

    #[test]
    fn what_has_no_outside_is_refused() {
        let refused = runnable(&[Implementation::Go, Implementation::Floor]);
        assert!(matches!(refused, Err(Error::NothingToRun)));
    }

    #[test]
    fn rows_are_grouped_by_quantile() {
        let repetition = Repetition {
            repeat: 1,
            workers: None,
            keep_disturbed: true,
            json: None,
        };
        let pairs = DEFAULT.map(|who| Pair(Load::Idle, who));
        let contenders = repetition.interleave(pairs, |_| {
            let mut latencies = no_latencies().unwrap();
            (1..=1000).for_each(|ns| latencies.record(ns).unwrap());
            Ok(latencies)
        });
        let rows = rows(&contenders.unwrap());
        assert_eq!(rows.len(), 3 * DEFAULT.len());
        assert_eq!(rows[1].workload, "idle p50");
        assert!(
            (490.0..510.0).contains(&rows[1].median),
            "{}",
            rows[1].median
        );
    }
}
