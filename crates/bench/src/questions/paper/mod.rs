//! `paper`: the microbenchmarks of the papers, under every policy.
//!
//! Each is as its paper defines it as far as that goes (*Efficient Workstealing*, section
//! V-B, on 8 cores; *Vol de tâches*, section 4.2, on 4), and says at its constants what the
//! paper leaves open; it is run on the machine that is there. What the papers measured
//! stands beside it, for the rows that they have: figures of machines from 2008, so only
//! the ratios to the run without stealing compare. Every figure comes from the runtime's
//! own metrics.
//!
//! | file | what |
//! |---|---|
//! | `workload` | the workloads by name |
//! | `unbalanced`, `penalty`, `cache_efficient` | those of *Efficient Workstealing* |
//! | `pipeline`, `cache_aware`, `batch`, `pinning` | those of *Vol de tâches* |
//! | `join`, `cores` | the end of a round; which cores are loaded |
//! | `setting` | the runtime and the handlers under a policy |
//! | `published` | what the papers measured |
//! | `table` | both, to read |

mod batch;
mod cache_aware;
mod cache_efficient;
mod cores;
mod join;
mod penalty;
mod pinning;
mod pipeline;
mod published;
mod setting;
mod table;
mod unbalanced;
mod workload;

use std::fmt;
use std::io::{self, Write as _};

use clap::Args;
use mely::Policy;

pub use self::workload::PaperWorkload;
use crate::contenders::choice::chosen;
use crate::contenders::implementation::Implementation;
use crate::measure::arguments::seconds;
use crate::measure::machine::Machine;
use crate::measure::measured::{Measured, unit};
use crate::measure::repetition::Repetition;
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Run};

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
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
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
            workload: workload.to_string(),
            policy,
            source,
        })
    }

    /// A row for each quantity that at least one run has.
    fn rows(&self, runs: &[Measured]) -> Vec<Row> {
        let implementation = Implementation::Mely(self.policy).to_string();
        let (workload, unit) = (self.workload.to_string(), self.workload.unit());
        Measured::rows("paper", &workload, &implementation, unit, runs)
    }
}

/// The rate of one run of a workload under a policy, in this process: events a second,
/// connections for `pinning`.
///
/// # Errors
///
/// If it cannot be run.
///
/// ```
/// use std::time::Duration;
/// use mely_bench::{PaperWorkload, Run, paper_rate};
///
/// let run = Run {
///     workers: 1,
///     affinity: mely::Affinity::default(),
///     time: Duration::from_millis(1),
/// };
/// let rate = paper_rate(PaperWorkload::Penalty, mely::Policy::Mely, &run)?;
/// assert!(rate > 0.0);
/// # Ok::<(), mely_bench::Error>(())
/// ```
pub fn paper_rate(workload: PaperWorkload, policy: Policy, run: &Run) -> Result<f64, Error> {
    spin::checked()?;
    let measured = Contender { workload, policy }.run(run)?;
    Ok(measured.rate)
}

pub(crate) fn run(options: &PaperOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = repetition.run(options.seconds);
    spin::checked()?;
    write_header(options, &run).map_err(Error::Output)?;
    let mut rows = Vec::new();
    let mut contenders = Vec::new();
    for workload in chosen(&options.workload, &PaperWorkload::ALL) {
        let policies = chosen(&options.policy, &Policy::ALL).into_iter();
        let runs = policies.map(|policy| Contender { workload, policy });
        let runs = repetition.interleave(runs, |contender| contender.run(&run))?;
        let of_workload: Vec<Row> = runs
            .iter()
            .flat_map(|contender| contender.what.rows(&contender.figures))
            .collect();
        table::write(workload, &of_workload, io::stdout()).map_err(Error::Output)?;
        rows.extend(of_workload);
        contenders.extend(runs);
    }
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn write_header(options: &PaperOptions, run: &Run) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", Machine::detect())?;
    writeln!(
        out,
        "{} workers, {} runs of {} s each, interleaved; medians. \"paper\" rows are from \
         other machines: only /nosteal, the ratio to no stealing, compares",
        run.workers, options.repetition.repeat, options.seconds
    )
}
