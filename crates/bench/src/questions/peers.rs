//! `peers`: events per second beside other runtimes, interleaved.

use std::fmt;
use std::io::{self, Write as _};

use clap::Args;

use super::table;
use crate::contenders::choice::{chosen, runnable};
use crate::contenders::elsewhere;
use crate::contenders::implementation::Implementation;
use crate::measure::arguments::seconds;
use crate::measure::machine::Machine;
use crate::measure::repetition::Repetition;
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Run};
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
        let pairs = implementations.iter().map(|&who| Pair(workload, who));
        contenders.extend(repetition.interleave(pairs, |pair| run_once(pair, &run))?);
    }
    let row = |pair: &Pair, figures: &Vec<f64>| {
        let (workload, who) = (pair.0.to_string(), pair.1.to_string());
        Row::of("peers", workload, who, "events/s", figures.clone())
    };
    let rows = contenders.iter().filter_map(|c| row(&c.what, &c.figures));
    let rows: Vec<_> = rows.collect();
    table::write(&rows, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn run_once(&Pair(workload, implementation): &Pair, run: &Run) -> Result<f64, Error> {
    let outcome = workload.measure(implementation, run);
    let outcome = outcome.map_err(Error::run(workload, implementation))?;
    Ok(outcome.events_per_second())
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
