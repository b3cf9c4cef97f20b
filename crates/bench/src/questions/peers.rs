//! `peers`: events per second beside other runtimes, interleaved; of services requests per
//! second, the CPU time of one, and how long the slowest of a hundred waits.

use std::fmt;
use std::io::{self, Write as _};

use clap::Args;

use super::table;
use crate::contenders::choice::{chosen, runnable};
use crate::contenders::elsewhere;
use crate::contenders::implementation::Implementation;
use crate::measure::arguments::seconds;
use crate::measure::machine::Machine;
use crate::measure::repetition::{Contender, Repetition};
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Outcome, Run};
use crate::workloads::Workload;

/// Options of the interleaved run.
#[derive(Clone, Debug, Args)]
pub struct PeersOptions {
    /// Only these workloads; by default all.
    #[arg(long, value_delimiter = ',')]
    pub workload: Vec<Workload>,
    /// Only these implementations, as mely/mely-base or tokio; by default Mely's
    /// default policy, all peers and the floor.
    #[arg(long = "impl", value_name = "NAME", value_delimiter = ',')]
    pub implementation: Vec<Implementation>,
    /// How long each run measures, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
}

/// An implementation on a workload.
#[derive(Clone, Copy)]
struct Pair(Workload, Implementation);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.0, self.1)
    }
}

pub(crate) fn run(options: &PeersOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = repetition.run(options.seconds);
    let spin_rate = spin::checked()?;
    let implementations = runnable(&options.implementation, &Implementation::DEFAULT)?;
    write_header(options, &run, spin_rate, &implementations).map_err(Error::Output)?;
    let mut contenders = Vec::new();
    for workload in chosen(&options.workload, &Workload::ALL) {
        let able = implementations.iter().filter(|&&who| workload.is_for(who));
        let pairs = able.map(|&who| Pair(workload, who));
        contenders.extend(repetition.interleave(pairs, |pair| run_once(pair, &run))?);
    }
    if contenders.is_empty() {
        return Err(Error::NothingToRun);
    }
    let rows = rows(&contenders);
    table::write(&rows, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn run_once(&Pair(workload, implementation): &Pair, run: &Run) -> Result<Outcome, Error> {
    let outcome = workload.measure(implementation, run);
    outcome.map_err(Error::run(workload, implementation))
}

/// A unit, and what a run has of it.
type Quantity = (&'static str, fn(&Outcome) -> Option<f64>);

const QUANTITIES: [Quantity; 4] = [
    ("events/s", |run| match run.served {
        None => Some(run.events_per_second()),
        Some(_) => None,
    }),
    ("requests/s", |run| {
        run.served.map(|_| run.events_per_second())
    }),
    ("us CPU/request", |run| {
        let cpu_us = run.served?.cpu.as_secs_f64() * 1e6;
        Some(cpu_us / run.events.max(1) as f64)
    }),
    ("us p99", |run| Some(run.served?.p99.as_secs_f64() * 1e6)),
];

/// A row for each quantity of a workload and an implementation, those of one quantity side
/// by side.
fn rows(contenders: &[Contender<Pair, Outcome>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for of_workload in contenders.chunk_by(|a, b| a.what.0 == b.what.0) {
        for (unit, quantity) in QUANTITIES {
            rows.extend(of_workload.iter().filter_map(|contender| {
                let figures = contender.figures.iter().filter_map(quantity).collect();
                let Pair(workload, who) = contender.what;
                Row::of(
                    "peers",
                    workload.to_string(),
                    who.to_string(),
                    unit,
                    figures,
                )
            }));
        }
    }
    rows
}

fn write_header(
    options: &PeersOptions,
    run: &Run,
    spin_rate: f64,
    implementations: &[Implementation],
) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", Machine::detect())?;
    writeln!(
        out,
        "{} workers, {} runs of {} s each, interleaved",
        run.workers, options.repetition.repeat, options.seconds
    )?;
    write!(
        out,
        "work of 1000 cycles takes {:.0} ns alone",
        1e12 / spin_rate
    )?;
    for &implementation in implementations {
        if let Some(Ok(built)) = elsewhere::program(implementation).map(|p| p.built()) {
            write!(
                out,
                ", {:.0} ns in {implementation}",
                1e12 / built.spin_rate
            )?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::Served;

    #[test]
    fn a_service_has_rows_of_its_own_units() {
        let repetition = Repetition {
            repeat: 3,
            workers: None,
            affinity: mely::Affinity::default(),
            keep_disturbed: true,
            json: None,
        };
        let both = &Implementation::DEFAULT[..2];
        let pairs = [Workload::P, Workload::H1].into_iter();
        let pairs = pairs.flat_map(|workload| both.iter().map(move |&who| Pair(workload, who)));
        let contenders = repetition.interleave(pairs, |pair| {
            let mut outcome = Outcome::of(5000, Duration::from_millis(500));
            outcome.served = (pair.0 == Workload::H1).then_some(Served {
                cpu: Duration::from_millis(10),
                p99: Duration::from_micros(250),
            });
            Ok(outcome)
        });
        let rows = rows(&contenders.unwrap());
        let told = rows.iter().step_by(2).map(|row| {
            let same = rows.iter().filter(|other| other.unit == row.unit);
            assert_eq!(same.count(), 2, "{row:?}");
            (&*row.workload, &*row.unit, row.median.round())
        });
        let told: Vec<_> = told.collect();
        let expected = [
            ("P", "events/s", 10_000.0),
            ("h1", "requests/s", 10_000.0),
            ("h1", "us CPU/request", 2.0),
            ("h1", "us p99", 250.0),
        ];
        assert_eq!(told, expected);
    }
}
