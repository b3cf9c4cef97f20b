//! `peers`: events per second beside other runtimes, interleaved.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::Error;
use crate::disturbance::Usage;
use crate::implementation::Implementation;
use crate::machine::Machine;
use crate::report::{self, Row};
use crate::single::{self, seconds};
use crate::spin;
use crate::workloads::{Run, Workload};

/// A disturbed run is tried again; a benchmark gives up on a quiet machine after so
/// many disturbed runs for each that it wants.
const TRIES_PER_RUN: usize = 3;

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
    /// How many undisturbed runs each implementation gets.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub repeat: u16,
    /// Worker threads of each; by default one for each core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Keeps disturbed runs too, for a first look on a busy machine. The table says
    /// so; a file of figures cannot, so there is none.
    #[arg(long, conflicts_with = "json")]
    pub keep_disturbed: bool,
    /// Also writes the figures to this file, as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// An implementation on a workload, and what it has reached so far.
struct Contender {
    workload: Workload,
    implementation: Implementation,
    figures: Vec<f64>,
    disturbed: usize,
    keep_disturbed: bool,
}

impl Contender {
    fn wants_more(&self, repeat: usize) -> bool {
        let gave_up = !self.keep_disturbed && self.disturbed >= repeat * TRIES_PER_RUN;
        self.figures.len() < repeat && !gave_up
    }

    /// Runs once, and keeps the figure if nothing else used the machine.
    fn run_once(&mut self, run: &Run) -> Result<(), Error> {
        let before = Usage::now();
        let outcome = single::measure(self.workload, self.implementation, run);
        let outcome = outcome.map_err(|source| Error::Run {
            workload: self.workload,
            implementation: self.implementation,
            source,
        })?;
        let disturbed = match (before, Usage::now()) {
            (Some(before), Some(after)) => after.disturbed_since(before),
            _ => false,
        };
        self.disturbed += usize::from(disturbed);
        if !disturbed || self.keep_disturbed {
            self.figures.push(outcome.events_per_second());
        }
        Ok(())
    }
}

pub(crate) fn run(options: &PeersOptions) -> Result<(), Error> {
    let run = Run {
        workers: single::workers(options.workers),
        time: Duration::from_secs_f64(options.seconds),
    };
    let spin_rate = spin::cycles_per_second();
    if !spin::is_credible(spin_rate) {
        return Err(Error::ShortenedWork { spin_rate });
    }
    write_header(options, &run, spin_rate).map_err(Error::Output)?;
    let implementations = runnable(options)?;
    let mut rows = Vec::new();
    let mut disturbed = Vec::new();
    for workload in chosen(&options.workload, &Workload::ALL) {
        let contenders = interleave(workload, &implementations, options, &run)?;
        for contender in contenders {
            let names = (workload.to_string(), contender.implementation.to_string());
            if contender.disturbed > 0 {
                disturbed.push((names.clone(), contender.disturbed, contender.figures.len()));
            }
            rows.extend(Row::of(
                "peers",
                names.0,
                names.1,
                "events/s",
                contender.figures,
            ));
        }
    }
    report::write_table(&rows, io::stdout()).map_err(Error::Output)?;
    write_disturbed(&disturbed, options).map_err(Error::Output)?;
    if rows.is_empty() {
        return Err(Error::AlwaysDisturbed);
    }
    match &options.json {
        Some(path) => report::write_json(&rows, path),
        None => Ok(()),
    }
}

/// Runs all on one workload, each once in turn, until all have what they want.
fn interleave(
    workload: Workload,
    implementations: &[Implementation],
    options: &PeersOptions,
    run: &Run,
) -> Result<Vec<Contender>, Error> {
    let repeat = usize::from(options.repeat);
    let contender = |&implementation: &Implementation| Contender {
        workload,
        implementation,
        figures: Vec::new(),
        disturbed: 0,
        keep_disturbed: options.keep_disturbed,
    };
    let mut contenders: Vec<_> = implementations.iter().map(contender).collect();
    while contenders.iter().any(|c| c.wants_more(repeat)) {
        for contender in contenders.iter_mut().filter(|c| c.wants_more(repeat)) {
            show_progress(contender, repeat);
            contender.run_once(run)?;
        }
    }
    clear_progress();
    Ok(contenders)
}

fn chosen<T: Copy>(asked: &[T], default: &[T]) -> Vec<T> {
    match asked {
        [] => default.to_vec(),
        asked => asked.to_vec(),
    }
}

/// What was chosen and can be run here; names what cannot.
fn runnable(options: &PeersOptions) -> Result<Vec<Implementation>, Error> {
    let mut implementations = chosen(&options.implementation, &Implementation::DEFAULT);
    let mut skipped = Vec::new();
    implementations.retain(|&implementation| match single::missing(implementation) {
        Some(reason) => {
            skipped.push(format!("skipped {implementation}: {reason}\n"));
            false
        }
        None => true,
    });
    let mut out = io::stdout();
    for line in skipped {
        out.write_all(line.as_bytes()).map_err(Error::Output)?;
    }
    match implementations.is_empty() {
        true => Err(Error::NothingToRun),
        false => Ok(implementations),
    }
}

fn write_header(options: &PeersOptions, run: &Run, spin_rate: f64) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", Machine::detect())?;
    writeln!(
        out,
        "{} workers, {} runs of {} s each, interleaved; millions of events per second",
        run.workers, options.repeat, options.seconds
    )?;
    let nanoseconds = 1e12 / spin_rate;
    writeln!(out, "work of 1000 cycles takes {nanoseconds:.0} ns alone")
}

fn write_disturbed(
    disturbed: &[((String, String), usize, usize)],
    options: &PeersOptions,
) -> io::Result<()> {
    let repeat = usize::from(options.repeat);
    let mut out = io::stdout();
    for ((workload, implementation), dropped, kept) in disturbed {
        let (verb, outcome) = match (options.keep_disturbed, *kept == repeat) {
            (true, _) => ("kept", "so its figures are not to be quoted"),
            (false, true) => ("dropped", "and replaced them"),
            (false, false) => ("dropped", "and could not replace them all"),
        };
        writeln!(
            out,
            "{verb} {dropped} runs of {implementation} on {workload} \
             that other processes disturbed, {outcome}"
        )?;
    }
    if disturbed.is_empty() {
        writeln!(out, "no run was disturbed by other processes")?;
    }
    Ok(())
}

fn show_progress(contender: &Contender, repeat: usize) {
    if io::stderr().is_terminal() {
        let run = contender.figures.len() + 1;
        let (workload, implementation) = (contender.workload, contender.implementation);
        eprint!("\r\x1b[K{workload} {implementation} {run}/{repeat}");
    }
}

fn clear_progress() {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
