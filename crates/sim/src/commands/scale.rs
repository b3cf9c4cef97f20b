//! `mely sim scale`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mely_plot::short;
use serde_json::{Value, json};

use super::choice::{self, Choice};
use super::table::{aligned, percent};
use super::{parallel, provenance};
use crate::Error;
use crate::machine::Machine;
use crate::mely::Policy;
use crate::scale::{Point, Size, Workload, draw, efficiency, measure};

/// What runs on how many cores.
#[derive(Args, Clone, Debug)]
pub struct ScaleOptions {
    /// Only these workloads; by default all.
    #[arg(long, value_name = "WORKLOAD[,WORKLOAD]", value_delimiter = ',')]
    workload: Vec<Workload>,
    /// The policies, or all.
    #[arg(
        long,
        value_name = "POLICY[,POLICY]",
        value_delimiter = ',',
        default_value = "all"
    )]
    policy: Vec<Choice>,
    /// The machine that others are made of, by numbers of cores: a name that `mely sim
    /// machines` lists, or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-8592-2s")]
    machine: String,
    /// The numbers of cores; efficiency is in relation to the first.
    #[arg(
        long,
        value_name = "N[,N]",
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128,256",
        value_parser = choice::cores
    )]
    cores: Vec<usize>,
    /// Begin no simulation after so many seconds; what is cut is told.
    #[arg(long, value_name = "SECONDS", default_value = "1200")]
    limit: u64,
    /// Run a small part of each workload: to see that it runs.
    #[arg(long)]
    small: bool,
    /// Write the figures into this file, too: an array of rows.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw curves into this directory, a picture for each workload; made if it is not
    /// there.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// A simulation that is to be run.
struct Task<'a> {
    workload: Workload,
    policy: Policy,
    machine: &'a Machine,
}

pub(super) fn run(options: &ScaleOptions) -> Result<(), Error> {
    let mut cores = options.cores.clone();
    cores.sort_unstable();
    cores.dedup();
    let machines = choice::machines(&options.machine, &cores)?;
    let model = Machine::find(&options.machine)?;
    let workloads = match options.workload.as_slice() {
        [] => &Workload::ALL,
        workloads => workloads,
    };
    let policies = choice::policies(&options.policy);
    // Small machines first, of all workloads: what is cut are the largest.
    let mut tasks = Vec::new();
    for machine in &machines {
        for &workload in workloads {
            tasks.extend(policies.iter().map(|&policy| Task {
                workload,
                policy,
                machine,
            }));
        }
    }
    let size = if options.small {
        Size::Small
    } else {
        Size::Full
    };
    let name = |task: &Task<'_>| {
        let cores = task.machine.cores;
        format!("{cores} cores: {} {}", task.workload, task.policy)
    };
    let limit = Duration::from_secs(options.limit);
    let points = parallel::run_all(&tasks, limit, name, |task| {
        measure(task.workload, task.policy, task.machine, size)
    })?;
    if let Some(path) = &options.json {
        provenance::write(path, &to_json(&model, &points), &model.description)?;
    }
    if let Some(directory) = &options.svg {
        write_curves(directory, &model, workloads, &points)?;
    }
    let mut text = format!("simulated: {}\n", model.description);
    for &workload in workloads {
        text += &to_text(workload, &points);
    }
    text += &cut(&tasks, &points);
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(Error::Output)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path, source }
}

fn to_text(workload: Workload, points: &[Point]) -> String {
    let head = [
        "policy",
        "cores",
        workload.unit(),
        "efficiency",
        "steals/s",
        "locking",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let mut of_workload: Vec<&Point> = points.iter().filter(|p| p.workload == workload).collect();
    of_workload.sort_by_key(|point| {
        let place = Policy::ALL
            .iter()
            .position(|&policy| policy == point.policy);
        (place, point.cores)
    });
    for point in of_workload {
        let efficiency = efficiency(point, points.iter());
        lines.push(vec![
            point.policy.to_string(),
            point.cores.to_string(),
            short(point.per_second),
            efficiency.map_or("-".to_owned(), percent),
            short(point.steals_per_second),
            percent(point.locking),
        ]);
    }
    format!("\n{workload}\n{}", aligned(&lines))
}

/// What was not begun.
fn cut(tasks: &[Task<'_>], points: &[Point]) -> String {
    let mut text = String::new();
    let is_missing = |task: &&Task<'_>| {
        !points.iter().any(|point| {
            let key = (point.workload, point.policy, point.cores);
            key == (task.workload, task.policy, task.machine.cores)
        })
    };
    let missing: Vec<_> = tasks.iter().filter(is_missing).collect();
    if let Some(first) = missing.first() {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "\ncut: {} of {} simulations, from {} {} on {} cores; --limit SECONDS gives more time",
            missing.len(),
            tasks.len(),
            first.workload,
            first.policy,
            first.machine.cores
        );
    }
    text
}

fn to_json(model: &Machine, points: &[Point]) -> Value {
    let row = |point: &Point| {
        json!({
            "machine": model.name,
            "workload": point.workload.name(),
            "policy": point.policy.name(),
            "cores": point.cores,
            "unit": point.workload.unit(),
            "per_second": point.per_second,
            "efficiency": efficiency(point, points.iter()),
            "steals_per_second": point.steals_per_second,
            "locking": point.locking,
            "steal_cost_cycles": point.steal_cost_cycles,
        })
    };
    points.iter().map(row).collect()
}

fn write_curves(
    directory: &Path,
    model: &Machine,
    workloads: &[Workload],
    points: &[Point],
) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(failed(directory))?;
    for &workload in workloads {
        let path = directory.join(format!("scale-{workload}.svg"));
        let svg = draw(workload, &model.description, points).map_err(|what| Error::Picture {
            path: path.clone(),
            what,
        })?;
        fs::write(&path, svg).map_err(failed(&path))?;
    }
    Ok(())
}
