//! `mely sim check`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mely_bench::{PaperWorkload, Run};
use mely_plot::short;
use serde::Serialize;

use super::choice::{self, Choice};
use super::table::aligned;
use super::{parallel, progress, provenance};
use crate::machine::Machine;
use crate::mely::Policy;
use crate::scale::{Size, Workload, measure};
use crate::{Error, calibrate};

/// The workloads that are there twice: simulated, and as a benchmark.
const WORKLOADS: [(Workload, PaperWorkload); 3] = [
    (Workload::Unbalanced, PaperWorkload::Unbalanced),
    (Workload::Penalty, PaperWorkload::Penalty),
    (Workload::CacheEfficient, PaperWorkload::CacheEfficient),
];

/// A ratio within this part of 1 is near.
const TOLERANCE: f64 = 0.25;

/// What is compared, and how long it is measured.
#[derive(Args, Clone, Debug)]
pub struct CheckOptions {
    /// The policies, or all.
    #[arg(
        long,
        value_name = "POLICY[,POLICY]",
        value_delimiter = ',',
        default_value = "libasync-smp-nosteal,libasync-smp,mely-nosteal,mely,adaptive"
    )]
    policy: Vec<Choice>,
    /// The file of this machine, as `mely sim calibrate --output FILE` writes it, instead
    /// of measuring it anew.
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// How long each real run measures, after a warm-up of a fifth of it.
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    seconds: f64,
    /// Real runs of each cell, in turns; their median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Write the cells into this file, too: an array of {workload, policy, unit, simulated,
    /// measured, min, max, runs, ratio}.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// No real run is longer.
const SECONDS_MAX: f64 = 60.0;

fn seconds(text: &str) -> Result<f64, String> {
    match choice::positive(text) {
        Ok(seconds) if seconds <= SECONDS_MAX => Ok(seconds),
        _ => Err(format!(
            "give a number above 0, and {SECONDS_MAX} at the most"
        )),
    }
}

/// A workload under a policy.
#[derive(Clone, Copy)]
struct Task {
    simulated: Workload,
    real: PaperWorkload,
    policy: Policy,
}

/// What came out of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Cell {
    workload: &'static str,
    policy: &'static str,
    unit: &'static str,
    /// Of virtual time.
    simulated: f64,
    /// The median of the real runs, and the least and the most of them.
    measured: f64,
    min: f64,
    max: f64,
    runs: usize,
    /// Measured ÷ simulated.
    ratio: f64,
}

impl Cell {
    /// Real runs, at least one, beside a simulated rate.
    fn new(task: &Task, simulated: f64, mut measured: Vec<f64>) -> Self {
        measured.sort_by(f64::total_cmp);
        let middle = measured.len() / 2;
        let median = match measured.len() % 2 {
            0 => f64::midpoint(measured[middle - 1], measured[middle]),
            _ => measured[middle],
        };
        Self {
            workload: task.simulated.name(),
            policy: task.policy.name(),
            unit: task.simulated.unit(),
            simulated,
            measured: median,
            min: measured[0],
            max: measured[measured.len() - 1],
            runs: measured.len(),
            ratio: median / simulated,
        }
    }

    fn is_near(&self) -> bool {
        (self.ratio - 1.0).abs() <= TOLERANCE
    }
}

pub(super) fn run(options: &CheckOptions) -> Result<(), Error> {
    let machine = match &options.machine {
        Some(name) => here(Machine::find(name)?)?,
        None => calibrated()?,
    };
    let policies = choice::policies(&options.policy);
    let of = |&(simulated, real): &(Workload, PaperWorkload)| {
        policies.iter().map(move |&policy| Task {
            simulated,
            real,
            policy,
        })
    };
    let tasks: Vec<_> = WORKLOADS.iter().flat_map(of).collect();
    // The real runs alone, and not beside simulations.
    let measured = measured(&tasks, &machine, options)?;
    let name = |task: &Task| format!("simulating {} {}", task.simulated, task.policy);
    let simulated = parallel::run_all(&tasks, Duration::MAX, name, |task| {
        measure(task.simulated, task.policy, &machine, Size::Full)
    })?;
    let cells = tasks.iter().zip(simulated).zip(measured);
    let cells = cells.map(|((task, point), runs)| Cell::new(task, point.per_second, runs));
    let cells: Vec<_> = cells.collect();
    if let Some(path) = &options.json {
        provenance::write_beside(path, &cells, &machine.description)?;
    }
    let text = format!("machine: {}\n\n{}", machine.description, to_text(&cells));
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(Error::Output)
}

/// This machine, measured now.
fn calibrated() -> Result<Machine, Error> {
    let bar = progress::bar(None, "{spinner} measuring: {msg}");
    let measured = calibrate::measure("this-machine", |what| {
        bar.set_message(what.to_owned());
        bar.tick();
    });
    bar.finish_and_clear();
    Ok(measured?.machine)
}

/// Real runs need the cores.
fn here(machine: Machine) -> Result<Machine, Error> {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    match machine.cores <= here {
        true => Ok(machine),
        false => Err(Error::NotHere {
            machine: machine.name,
            cores: machine.cores,
            here,
        }),
    }
}

/// The rates of all real runs, by task: in turns, so that what disturbs a while disturbs
/// all alike.
fn measured(
    tasks: &[Task],
    machine: &Machine,
    options: &CheckOptions,
) -> Result<Vec<Vec<f64>>, Error> {
    let run = Run {
        workers: machine.cores,
        // As the simulated ones are.
        affinity: mely::Affinity::Pinned,
        time: Duration::from_secs_f64(options.seconds),
    };
    let runs = tasks.len() as u64 * u64::from(options.repeat);
    let bar = progress::bar(Some(runs), "{pos}/{len} runs, {eta} left: {msg}");
    let mut rates = vec![Vec::new(); tasks.len()];
    for _ in 0..options.repeat {
        for (task, rates) in tasks.iter().zip(&mut rates) {
            bar.set_message(format!("{} {}", task.real, task.policy));
            let rate = mely_bench::paper_rate(task.real, task.policy, &run);
            rates.push(rate.map_err(Error::Bench)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(rates)
}

fn to_text(cells: &[Cell]) -> String {
    let head = [
        "workload",
        "policy",
        "simulated",
        "measured",
        "min",
        "max",
        "measured/simulated",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for cell in cells {
        let rates = [cell.simulated, cell.measured, cell.min, cell.max];
        let mut line = vec![cell.workload.to_owned(), cell.policy.to_owned()];
        line.extend(rates.map(short));
        line.push(format!("{:.2}", cell.ratio));
        lines.push(line);
    }
    let near = cells.iter().filter(|cell| cell.is_near()).count();
    format!(
        "{}\nevents/s; {near} of {} ratios are within {:.0} % of 1\n",
        aligned(&lines),
        cells.len(),
        100.0 * TOLERANCE
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(simulated: f64, measured: &[f64]) -> Cell {
        let task = Task {
            simulated: Workload::Penalty,
            real: PaperWorkload::Penalty,
            policy: Policy::Mely,
        };
        Cell::new(&task, simulated, measured.to_vec())
    }

    #[test]
    fn the_median_counts() {
        let odd = cell(2e6, &[9e6, 1e6, 2e6]);
        assert_eq!((odd.measured, odd.min, odd.max), (2e6, 1e6, 9e6));
        assert_eq!((odd.ratio, odd.runs), (1.0, 3));
        assert_eq!(cell(1e6, &[4e6, 2e6]).measured, 3e6);
    }

    #[test]
    fn what_is_near_is_counted() {
        let cells = [1.25, 0.75, 1.26, 0.7].map(|ratio| cell(1e6, &[ratio * 1e6]));
        let text = to_text(&cells);
        assert!(
            text.contains("2 of 4 ratios are within 25 % of 1"),
            "{text}"
        );
        assert!(text.contains("1.26"), "{text}");
    }
}
