//! `paper`: the microbenchmarks of the papers, under every policy.
//!
//! Each is as its paper defines it, run on the machine that is there (seed 000, section
//! V-B, on 8 cores; seed 002, section 4.2, on 4). What the papers measured stands beside
//! it, for the rows that they have: figures of machines from 2008, so only the ratios to
//! the run without stealing compare. Every figure comes from the runtime's own metrics.
//!
//! | file | what |
//! |---|---|
//! | `workload` | the workloads by name |
//! | `unbalanced`, `penalty`, `cache_efficient` | those of seed 000 |
//! | `pipeline`, `cache_aware`, `batch`, `pinning` | those of seed 002 |
//! | `join`, `cores` | the end of a round; which cores are loaded |
//! | `measured` | when to measure, and the columns of the tables |
//! | `published` | what the papers measured |
//! | `table` | both, to read |

mod batch;
mod cache_aware;
mod cache_efficient;
mod cores;
mod join;
mod measured;
mod penalty;
mod pinning;
mod pipeline;
mod published;
mod table;
mod unbalanced;
mod workload;

use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mely::Policy;

use self::measured::Measured;
pub use self::workload::PaperWorkload;
use crate::machine::Machine;
use crate::report::{self, Row};
use crate::single::{self, seconds};
use crate::spin;
use crate::turns::{Taken, Turns};
use crate::{Error, Run};

/// Options of the papers' microbenchmarks.
#[derive(Clone, Debug, Args)]
pub struct PaperOptions {
    /// Only these workloads; by default all.
    #[arg(long, value_delimiter = ',')]
    pub workload: Vec<PaperWorkload>,
    /// Only these policies, as mely-base or adaptive; by default all.
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    pub policy: Vec<Policy>,
    /// How long each run measures, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// How many undisturbed runs each policy gets.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub repeat: u16,
    /// Worker threads; by default one for each core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Keeps disturbed runs too, for a first look on a busy machine. The table says
    /// so; a file of figures cannot, so there is none.
    #[arg(long, conflicts_with = "json")]
    pub keep_disturbed: bool,
    /// Also writes the figures to this file, as a JSON array, and the machine and the
    /// command to FILE.machine.json beside it.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// A policy on a workload.
#[derive(Clone, Copy, Debug)]
struct Contender {
    workload: PaperWorkload,
    policy: Policy,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.workload, self.policy)
    }
}

impl Contender {
    fn run(&self, run: &Run) -> Result<Measured, Error> {
        let &Self { workload, policy } = self;
        workload.run(policy, run).map_err(|source| Error::Paper {
            workload,
            policy,
            source,
        })
    }

    /// A row for each quantity that at least one run has.
    fn rows(&self, runs: &[Measured]) -> Vec<Row> {
        let quantity = |unit, of: fn(&Measured) -> Option<f64>| {
            let figures = runs.iter().filter_map(of).collect();
            let implementation = format!("mely/{}", self.policy);
            Row::of(
                "paper",
                self.workload.to_string(),
                implementation,
                unit,
                figures,
            )
        };
        let rows = [
            quantity(self.workload.unit(), |m| Some(m.rate)),
            quantity(unit::LOCKING, |m| Some(m.locking_percent)),
            quantity(unit::STEALS, |m| Some(m.steals_per_second)),
            quantity(unit::CYCLES_PER_STEAL, |m| m.cycles_per_steal),
            quantity(unit::STOLEN_PER_STEAL, |m| m.stolen_cycles_per_steal),
        ];
        rows.into_iter().flatten().collect()
    }
}

/// The quantities beside the rate.
mod unit {
    pub(super) const LOCKING: &str = "locking %";
    pub(super) const STEALS: &str = "steals/s";
    pub(super) const CYCLES_PER_STEAL: &str = "cycles/steal";
    pub(super) const STOLEN_PER_STEAL: &str = "stolen cycles/steal";
}

pub(crate) fn run(options: &PaperOptions) -> Result<(), Error> {
    let run = Run {
        workers: single::workers(options.workers),
        time: Duration::from_secs_f64(options.seconds),
    };
    let turns = Turns {
        repeat: usize::from(options.repeat),
        keep_disturbed: options.keep_disturbed,
    };
    let spin_rate = spin::cycles_per_second();
    if !spin::is_credible(spin_rate) {
        return Err(Error::ShortenedWork { spin_rate });
    }
    write_header(options, &run).map_err(Error::Output)?;
    let mut rows = Vec::new();
    for workload in chosen(&options.workload, &PaperWorkload::ALL) {
        let contender = |policy| Contender { workload, policy };
        let policies = chosen(&options.policy, &Policy::ALL);
        let contenders: Vec<_> = policies.into_iter().map(contender).collect();
        let taken = turns.take(&contenders, |contender| contender.run(&run))?;
        let of_workload: Vec<Row> = contenders
            .iter()
            .zip(&taken)
            .flat_map(|(contender, taken)| contender.rows(&taken.kept))
            .collect();
        table::write(workload, &of_workload, io::stdout()).map_err(Error::Output)?;
        write_disturbed(&turns, &contenders, &taken).map_err(Error::Output)?;
        rows.extend(of_workload);
    }
    if rows.is_empty() {
        return Err(Error::AlwaysDisturbed);
    }
    match &options.json {
        Some(path) => report::write_json(&rows, path),
        None => Ok(()),
    }
}

fn chosen<T: Copy>(asked: &[T], all: &[T]) -> Vec<T> {
    match asked {
        [] => all.to_vec(),
        asked => asked.to_vec(),
    }
}

fn write_header(options: &PaperOptions, run: &Run) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", Machine::detect())?;
    writeln!(
        out,
        "{} workers, {} runs of {} s each, interleaved; medians. \"paper\" rows are from \
         other machines: only /nosteal, the ratio to no stealing, compares",
        run.workers, options.repeat, options.seconds
    )
}

fn write_disturbed(
    turns: &Turns,
    contenders: &[Contender],
    taken: &[Taken<Measured>],
) -> io::Result<()> {
    contenders
        .iter()
        .zip(taken)
        .try_for_each(|(contender, taken)| turns.write_disturbed(contender, taken, io::stdout()))
}
