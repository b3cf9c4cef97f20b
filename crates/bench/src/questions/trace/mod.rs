//! `trace`: what recording a trace costs, in runs with and without one that take turns.

mod steady;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use mely::{Policy, Runtime, TraceReport};

use crate::contenders::choice::chosen;
use crate::contenders::runtimes::{Fresh as _, Mely};
use crate::measure::arguments::seconds;
use crate::measure::machine::Machine;
use crate::measure::repetition::{Contender, Repetition};
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Failure, Outcome, Run};
use crate::workloads::{alone, chains};

const RATE: &str = "events/s";
const LOST: &str = "lost %";
const BYTES: &str = "bytes/event";

/// How long a runtime may take to end: the last blocks are written then.
const DEADLINE: Duration = Duration::from_secs(30);

/// Options of the benchmark of tracing.
#[derive(Clone, Debug, Args)]
pub struct TraceOptions {
    /// Only these; by default all.
    #[arg(long, value_delimiter = ',')]
    pub workload: Vec<Traced>,
    /// How long each run measures, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Where traces are written, one at a time; by default the directory for temporary
    /// files.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
}

/// What is run with and without a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum Traced {
    /// Rounds of 50 000 independent events from one worker, few of them long.
    U,
    /// 1000 keys, each posting 1000 events to itself.
    P,
    /// 64 keys posting to themselves, each event of 1000 cycles.
    C1000,
    /// The same, of 5000 cycles.
    C5000,
    /// The same, of 20 000 cycles.
    C20000,
}

impl Traced {
    const ALL: [Self; 5] = [Self::U, Self::P, Self::C1000, Self::C5000, Self::C20000];

    fn run(self, runtime: &Mely, run: &Run) -> Result<Outcome, Failure> {
        match self {
            Self::U => runtime.unbalanced(run),
            Self::P => chains::keyed(runtime, run),
            Self::C1000 => steady::measure(&runtime.0, 1_000, run),
            Self::C5000 => steady::measure(&runtime.0, 5_000, run),
            Self::C20000 => steady::measure(&runtime.0, 20_000, run),
        }
    }
}

/// A workload, with a trace or without.
#[derive(Clone, Copy)]
struct Case {
    workload: Traced,
    traced: bool,
}

impl Case {
    fn implementation(self) -> &'static str {
        match self.traced {
            true => "mely/adaptive+trace",
            false => "mely/adaptive",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} by {}", self.workload, self.implementation())
    }
}

/// What a run found.
#[derive(Clone, Copy, Debug)]
struct Figure {
    rate: f64,
    /// Of the records, in percent.
    lost: Option<f64>,
    bytes_per_event: Option<f64>,
}

pub(crate) fn run(options: &TraceOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = repetition.run(options.seconds);
    spin::checked()?;
    let dir = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    let mut out = io::stdout();
    writeln!(
        out,
        "{}\n{} workers, {} runs of {} s each, interleaved; traces go to {}",
        Machine::detect(),
        run.workers,
        repetition.repeat,
        options.seconds,
        dir.display(),
    )
    .map_err(Error::Output)?;
    let mut contenders = Vec::new();
    for workload in chosen(&options.workload, &Traced::ALL) {
        let cases = [false, true].map(|traced| Case { workload, traced });
        contenders.extend(repetition.interleave(cases, |&case| {
            measure(case, &run, &dir).map_err(Error::run(
                format!("{:?}", case.workload),
                case.implementation(),
            ))
        })?);
    }
    let rows: Vec<_> = contenders.iter().flat_map(rows).collect();
    write_table(&rows, &mut out).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn measure(case: Case, run: &Run, dir: &Path) -> Result<Figure, Failure> {
    let _alone = alone();
    let file = tempfile::Builder::new().suffix(".trace").tempfile_in(dir)?;
    let mut builder = Runtime::builder()
        .workers(run.workers)
        .affinity(run.affinity)
        .policy(Policy::Adaptive);
    if case.traced {
        builder = builder.trace(file.path());
    }
    let runtime = Mely(builder.build()?);
    let outcome = case.workload.run(&runtime, run)?;
    let report = runtime.0.shutdown(DEADLINE)?;
    let written = report.trace.as_deref();
    if let Some(error) = written.and_then(|trace| trace.error.as_ref()) {
        return Err(format!("{}: {error}", file.path().display()).into());
    }
    let events = report.events_run as f64;
    Ok(Figure {
        rate: outcome.events_per_second(),
        lost: written.map(lost_percent),
        bytes_per_event: written.map(|trace| trace.bytes as f64 / events),
    })
}

fn lost_percent(trace: &TraceReport) -> f64 {
    let all = (trace.records + trace.lost).max(1);
    100.0 * trace.lost as f64 / all as f64
}

/// The rows of a case: the rate, and of a trace what was lost and its size.
fn rows(contender: &Contender<Case, Figure>) -> Vec<Row> {
    type Get = fn(&Figure) -> Option<f64>;
    let units: [(&str, Get); 3] = [
        (RATE, |figure| Some(figure.rate)),
        (LOST, |figure| figure.lost),
        (BYTES, |figure| figure.bytes_per_event),
    ];
    let case = contender.what;
    let row = |(unit, get): (&'static str, Get)| {
        let runs = contender.figures.iter().filter_map(get).collect();
        let (workload, who) = (format!("{:?}", case.workload), case.implementation());
        Row::of("trace", workload, who.to_owned(), unit, runs)
    };
    units.into_iter().filter_map(row).collect()
}

/// Writes a line for each workload: both rates, their ratio, and what the trace is like.
fn write_table(rows: &[Row], mut out: impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<9}{:>12}{:>12}{:>12}{:>8}{:>13}{:>14}{:>6}",
        "workload", "M events/s", "traced", "ns/event", "ratio", LOST, BYTES, "runs"
    )?;
    for without in rows
        .iter()
        .filter(|row| !row.implementation.ends_with("+trace"))
    {
        let with = |unit| {
            let is_it = |row: &&Row| row.workload == without.workload && row.unit == unit;
            let mut traced = rows
                .iter()
                .filter(|row| row.implementation.ends_with("+trace"));
            traced.find(is_it).map_or(f64::NAN, |row| row.median)
        };
        let (rate, traced) = (without.median, with(RATE));
        writeln!(
            out,
            "{:<9}{:>12.3}{:>12.3}{:>12.1}{:>8.3}{:>13.2}{:>14.1}{:>6}",
            without.workload,
            rate * 1e-6,
            traced * 1e-6,
            (1.0 / traced - 1.0 / rate) * 1e9,
            traced / rate,
            with(LOST),
            with(BYTES),
            without.runs,
        )?;
    }
    writeln!(
        out,
        "ratio: with a trace to without; ns/event: what it adds to the time between two events"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_runs_with_a_trace_and_without() {
        let run = Run {
            workers: 2,
            affinity: mely::Affinity::default(),
            time: Duration::from_millis(1),
        };
        let dir = tempfile::tempdir().unwrap();
        for workload in Traced::ALL {
            for traced in [false, true] {
                let case = Case { workload, traced };
                let figure = measure(case, &run, dir.path()).unwrap();
                assert!(figure.rate > 0.0, "{case}");
                assert_eq!(figure.lost.is_some(), traced, "{case}");
            }
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_workload_has_a_line_with_its_ratio() {
        let row = |who: &str, unit, figure| {
            let (workload, who) = ("C5000".to_owned(), who.to_owned());
            Row::of("trace", workload, who, unit, vec![figure]).unwrap()
        };
        let rows = [
            row("mely/adaptive", RATE, 1e6),
            row("mely/adaptive+trace", RATE, 0.8e6),
            row("mely/adaptive+trace", LOST, 0.0),
            row("mely/adaptive+trace", BYTES, 9.0),
        ];
        let mut table = Vec::new();
        write_table(&rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let line = table.lines().nth(1).unwrap();
        assert!(line.contains("   250.0   0.800 "), "{table}");
    }
}
