//! `mely sim replay`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use indicatif::ProgressBar;
use mely_plot::short;
use mely_trace::Reader;
use serde_json::{Value, json};

use super::choice::{self, Choice};
use super::progress;
use super::table::{aligned, percent, time};
use crate::Error;
use crate::engine::Settings;
use crate::machine::Machine;
use crate::mely::{Policy, Snapshot};
use crate::replay::{Arrivals, Conditions, Figures, Homes, Program, Replayed, replay};

/// What to replay, and where.
#[derive(Args, Clone, Debug)]
pub struct ReplayOptions {
    /// The trace, as `mely web --trace FILE` or a program with `Builder::trace` writes it.
    file: PathBuf,
    /// The machine: a name that `mely sim machines` lists, or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "epyc-9554")]
    machine: String,
    /// Machines like that one with so many cores each, such as 1,2,4.
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', value_parser = choice::cores)]
    cores: Vec<usize>,
    /// The policies, or all.
    #[arg(
        long,
        value_name = "POLICY[,POLICY]",
        value_delimiter = ',',
        default_value = "adaptive"
    )]
    policy: Vec<Choice>,
    /// Let roots arrive so many times as fast as they did.
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = choice::positive)]
    speed: f64,
    /// Let all roots arrive at once: what the machine can do at the most.
    #[arg(long, conflicts_with = "speed")]
    closed: bool,
    /// Let events take so many times as long as they did: below 1 for faster cores.
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = choice::positive)]
    cost_scale: f64,
    /// Where colors without a number begin, which traces do not tell.
    #[arg(long, value_enum, default_value = "poster")]
    homes: Homes,
    /// Of a trace that is cut off, replay what is whole.
    #[arg(long)]
    whole_blocks: bool,
    /// Write the figures into this file, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A line of the table.
struct Row<'a> {
    machine: &'a Machine,
    policy: Policy,
    replayed: Replayed,
}

pub(super) fn run(options: &ReplayOptions) -> Result<(), Error> {
    // What costs nothing is refused first.
    let machines = choice::machines(&options.machine, &options.cores)?;
    let policies = choice::policies(&options.policy);
    let program = Arc::new(read(options)?);
    let mut rows = Vec::new();
    for machine in &machines {
        for &policy in &policies {
            rows.push(row(options, &program, machine, policy)?);
        }
    }
    if let Some(path) = &options.json {
        let json = to_json(&options.file, &program, &rows);
        fs::write(path, format!("{json:#}\n")).map_err(|source| file(path, source))?;
    }
    let text = to_text(&program, &rows);
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(Error::Output)
}

fn file(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    Error::File { path, source }
}

fn read(options: &ReplayOptions) -> Result<Program, Error> {
    let path = &options.file;
    let failed = |source| Error::Trace {
        path: path.clone(),
        source,
    };
    let input = File::open(path).map_err(|source| file(path, source))?;
    let mut reader = Reader::new(input).map_err(failed)?;
    let bar = progress::bar(None, "{spinner} reading {msg}");
    bar.set_message(path.display().to_string());
    bar.tick();
    let (program, end) = Program::read(&mut reader);
    bar.finish_and_clear();
    match end {
        Err(error) if options.whole_blocks && error.is_truncation() => {
            eprintln!("mely: note: {}: {error}; that is replayed", path.display());
        }
        end => end.map_err(failed)?,
    }
    match program.events() {
        0 => Err(Error::Empty { path: path.clone() }),
        _ => Ok(program),
    }
}

fn row<'a>(
    options: &ReplayOptions,
    program: &Arc<Program>,
    machine: &'a Machine,
    policy: Policy,
) -> Result<Row<'a>, Error> {
    let conditions = Conditions {
        arrivals: match options.closed {
            true => Arrivals::AtOnce,
            false => Arrivals::Recorded {
                speed: options.speed,
            },
        },
        homes: options.homes,
        cost_scale: options.cost_scale,
        ..Conditions::new(policy)
    };
    let bar: ProgressBar = progress::bar(
        Some(program.events() as u64),
        "{msg} {bar:30} {pos}/{len} events",
    );
    bar.set_message(format!("{} {policy}", machine.name));
    let (settings, _caches) = Settings::on(machine, policy)?;
    let replayed = replay(program, settings, conditions, |ran| {
        bar.set_position(ran as u64);
    });
    bar.finish_and_clear();
    Ok(Row {
        machine,
        policy,
        replayed: replayed?,
    })
}

/// The share of all cores' time that went into locked queues, waiting included.
fn locking(metrics: &Snapshot, figures: &Figures) -> f64 {
    let cycles = metrics.total(|w| w.lock_cycles + w.lock_wait_cycles) as f64;
    let all = figures.seconds * metrics.cycles_per_second * metrics.workers.len() as f64;
    if all > 0.0 { cycles / all } else { 0.0 }
}

fn to_text(program: &Program, rows: &[Row<'_>]) -> String {
    let head = "run,cores,time,events/s,in handlers,least,most,wait,p50,p99,steals,locking";
    let mut lines = vec![head.split(',').map(str::to_owned).collect()];
    let recorded = program.recorded();
    lines.push(line(
        format!("recorded: {}", program.policy()),
        recorded,
        ["-".to_owned(), "-".to_owned()],
    ));
    for row in rows {
        let Replayed {
            figures, metrics, ..
        } = &row.replayed;
        let counts = [
            short(metrics.total(|w| w.steals) as f64),
            percent(locking(metrics, figures)),
        ];
        let name = format!("{}: {}", row.machine.name, row.policy);
        lines.push(line(name, figures, counts));
    }
    let lost = match program.lost() {
        0 => String::new(),
        lost => format!("; {lost} records are lost, so that causes are guesses"),
    };
    format!(
        "{} events of {} colors, {} of them posted by no event{lost}\n\n{}\n\
         wait: from post to run; of the recorded run it is an estimate.\n",
        program.events(),
        program.colors(),
        program.roots(),
        aligned(&lines)
    )
}

fn line(name: String, figures: &Figures, counts: [String; 2]) -> Vec<String> {
    let Figures {
        delays,
        utilisation,
        ..
    } = figures;
    let mut cells = vec![
        name,
        utilisation.len().to_string(),
        time(figures.seconds),
        short(figures.events_per_second()),
        percent(figures.mean_utilisation()),
        percent(utilisation.iter().copied().reduce(f64::min).unwrap_or(0.0)),
        percent(utilisation.iter().copied().reduce(f64::max).unwrap_or(0.0)),
        time(delays.mean),
        time(delays.p50),
        time(delays.p99),
    ];
    cells.extend(counts);
    cells
}

fn to_json(path: &Path, program: &Program, rows: &[Row<'_>]) -> Value {
    let figures = |figures: &Figures| {
        json!({
            "events": figures.events,
            "seconds": figures.seconds,
            "events_per_second": figures.events_per_second(),
            "utilisation": figures.utilisation,
            "delays": figures.delays,
        })
    };
    let row = |row: &Row<'_>| {
        let metrics = &row.replayed.metrics;
        let mut value = figures(&row.replayed.figures);
        value["machine"] = row.machine.name.clone().into();
        value["policy"] = row.policy.name().into();
        value["steals"] = metrics.total(|w| w.steals).into();
        value["stolen_events"] = metrics.total(|w| w.stolen_events).into();
        value["cycles_per_steal"] = metrics.cycles_per_steal().into();
        value["locking"] = locking(metrics, &row.replayed.figures).into();
        value["hash"] = format!("{:016x}", row.replayed.hash).into();
        value
    };
    let mut recorded = figures(program.recorded());
    recorded["policy"] = program.policy().into();
    json!({
        "trace": path.display().to_string(),
        "roots": program.roots(),
        "colors": program.colors(),
        "lost": program.lost(),
        "recorded": recorded,
        "replayed": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
