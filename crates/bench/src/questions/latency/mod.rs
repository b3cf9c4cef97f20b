//! `latency`: how long it takes from the post of an event to its run.
//!
//! Events are posted by a thread outside of the runtime, as by a thread that listens
//! or a driver, to long-lived keys. Two conditions: *idle*, where the workers have
//! gone to sleep before each post; and *loaded*, where they have work for half of
//! their time.
//!
//! Two more hold up one of the workers, and look at timers and sockets too: *blocked*,
//! where a handler blocks for the whole run; and *foreign*, where another process keeps
//! the first core busy. What is measured then is what need not wait for either.

mod clients;
mod disturbed;
mod idle;
mod kind;
mod loaded;

use std::fmt;
use std::io::{self, Write as _};

use clap::Args;
use hdrhistogram::Histogram;

use self::disturbed::{By, Disturbed, KINDS};
use super::table;
use crate::contenders::choice::{chosen, skip};
use crate::contenders::implementation::{Allocator, Implementation};
use crate::contenders::runtimes::outside::{has_outside, start_outside};
use crate::contenders::runtimes::{self, Conditions, Fresh, Job, Keyed};
use crate::measure::arguments::seconds;
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
    /// Only these conditions; by default all.
    #[arg(long = "load", value_name = "LOAD", value_delimiter = ',')]
    pub load: Vec<Load>,
    /// Only these implementations; by default Mely's default policy, tokio,
    /// async-executor and rayon, and of these those with timers and sockets where a
    /// worker is held up.
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
    /// One of them is blocked by a handler for the whole run; the others sleep.
    Blocked,
    /// They sleep, and another process keeps the first core busy.
    Foreign,
}

impl Load {
    const ALL: [Load; 4] = [Self::Idle, Self::Loaded, Self::Blocked, Self::Foreign];

    /// What holds a worker up.
    fn disturbed_by(self) -> Option<By> {
        match self {
            Self::Idle | Self::Loaded => None,
            Self::Blocked => Some(By::Handler),
            Self::Foreign => Some(By::Process),
        }
    }

    /// What is measured, as the rows name it.
    fn kinds(self) -> Vec<String> {
        match self.disturbed_by() {
            None => vec![self.to_string()],
            Some(_) => KINDS.map(|kind| format!("{self} {kind}")).to_vec(),
        }
    }

    /// The unit of the rows, and its nanoseconds.
    fn unit(self) -> (&'static str, f64) {
        match self.disturbed_by() {
            None => ("ns", 1.0),
            Some(_) => ("ms", 1e6),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::Idle => "idle",
            Load::Loaded => "loaded",
            Load::Blocked => "blocked",
            Load::Foreign => "foreign",
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

/// Nanoseconds.
type Latencies = Histogram<u64>;

/// What a run found: latencies of each kind that its load has.
type Found = Vec<Latencies>;

fn no_latencies() -> Result<Latencies, Failure> {
    Ok(Histogram::new(DIGITS)?)
}

/// One run on a runtime: a half of the workers' time is work if the rate of work is
/// given, otherwise none.
struct OnRuntime {
    run: Run,
    spin_rate: Option<f64>,
}

impl Job for OnRuntime {
    type Output = Found;

    fn on<R: Keyed + Fresh + 'static>(self, runtime: &R) -> Result<Found, Failure> {
        let found = match self.spin_rate {
            None => idle::measure(runtime, self.run.time),
            Some(rate) => loaded::measure(runtime, &self.run, rate),
        };
        found.map(|latencies| vec![latencies])
    }
}

pub(crate) fn run(options: &LatencyOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = repetition.run(options.seconds);
    let spin_rate = spin::checked()?;
    let implementations = runnable(&options.implementation)?;
    writeln!(
        io::stdout(),
        "{}\n{} workers, {} runs of {} s each, interleaved",
        Machine::detect(),
        run.workers,
        repetition.repeat,
        options.seconds
    )
    .map_err(Error::Output)?;
    let mut contenders = Vec::new();
    for load in chosen(&options.load, &Load::ALL) {
        let can = |who: &&Implementation| load.disturbed_by().is_none() || has_outside(**who);
        let pairs = implementations.iter().filter(can);
        let pairs = pairs.map(|&who| Pair(load, who));
        contenders.extend(repetition.interleave(pairs, |&Pair(load, who)| {
            measure(load, who, run, spin_rate).map_err(Error::run(load, who))
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
) -> Result<Found, Failure> {
    let _alone = alone();
    let conditions = Conditions {
        workers: run.workers,
        affinity: run.affinity,
        yields: false,
    };
    let done = match load.disturbed_by() {
        Some(by) => {
            let time = run.time;
            start_outside(implementation, conditions, Disturbed { by, time })
        }
        None => {
            let spin_rate = (load == Load::Loaded).then_some(spin_rate);
            runtimes::start(implementation, conditions, OnRuntime { run, spin_rate })
        }
    };
    done.unwrap_or_else(|| Err("it is no runtime of this process".into()))
}

/// A row for each kind and quantile, those of one side by side.
fn rows(contenders: &[Contender<Pair, Found>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for load in Load::ALL {
        let (unit, unit_ns) = load.unit();
        for (number, kind) in load.kinds().iter().enumerate() {
            for (name, quantile) in QUANTILES {
                let under = contenders.iter().filter(|c| c.what.0 == load);
                rows.extend(under.filter_map(|contender| {
                    let runs = contender.figures.iter().filter_map(|run| run.get(number));
                    let runs = runs.map(|run| run.value_at_quantile(quantile) as f64 / unit_ns);
                    let (workload, who) = (format!("{kind} {name}"), contender.what.1.to_string());
                    Row::of("latency", workload, who, unit, runs.collect())
                }));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_runtime_answers_under_every_load() {
        let run = Run {
            workers: 2,
            affinity: mely::Affinity::default(),
            time: Duration::from_millis(1),
        };
        for load in Load::ALL {
            let mut measured = 0;
            for implementation in DEFAULT {
                if load.disturbed_by().is_some() && !has_outside(implementation) {
                    continue;
                }
                let found = measure(load, implementation, run, 2e9).unwrap();
                assert_eq!(found.len(), load.kinds().len());
                for (latencies, kind) in found.iter().zip(load.kinds()) {
                    assert!(!latencies.is_empty(), "{kind} {implementation}");
                }
                measured += 1;
            }
            assert!(measured >= 2, "{load}");
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
            affinity: mely::Affinity::default(),
            keep_disturbed: true,
            json: None,
        };
        let pairs = DEFAULT.map(|who| Pair(Load::Idle, who));
        let contenders = repetition.interleave(pairs, |_| {
            let mut latencies = no_latencies().unwrap();
            (1..=1000).for_each(|ns| latencies.record(ns).unwrap());
            Ok(vec![latencies])
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

    #[test]
    fn what_is_held_up_has_rows_of_each_kind_in_milliseconds() {
        let mut latencies = no_latencies().unwrap();
        latencies.record(5_000_000).unwrap();
        let repetition = Repetition {
            repeat: 1,
            workers: None,
            affinity: mely::Affinity::default(),
            keep_disturbed: true,
            json: None,
        };
        let pair = Pair(Load::Blocked, DEFAULT[0]);
        let contenders = repetition.interleave([pair], |_| Ok(vec![latencies.clone(); 3]));
        let rows = rows(&contenders.unwrap());
        assert_eq!(rows.len(), KINDS.len() * QUANTILES.len());
        assert_eq!(rows[4].workload, "blocked sockets p99");
        assert_eq!(rows[4].unit, "ms");
        assert!((4.9..5.1).contains(&rows[4].median), "{}", rows[4].median);
    }
}
