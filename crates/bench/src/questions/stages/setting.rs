//! What the experiments share: servers in processes of their own, and rows.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use mely::topology::{allowed_cpus, pin_current_thread};

use super::StagesOptions;
use crate::contenders::staged::{Fates, StagesServeOptions};
use crate::measure::arguments;
use crate::measure::machine::Machine;
use crate::measure::repetition::Contender;
use crate::measure::report;
use crate::measure::server::{self, Server};
use crate::measure::staged::{self, StageRow};
use crate::measure::{Error, Failure};

/// A server of this program, and where it counts.
pub(super) struct Staged {
    pub(super) server: Server,
    folder: tempfile::TempDir,
}

const COUNTS: &str = "counts.json";

/// Cores of a server: all but one, which is for the clients, where there are two.
pub(super) fn workers(options: &StagesOptions) -> usize {
    let cores = allowed_cpus().len();
    let asked = options.turns.workers;
    asked.map_or_else(|| cores.saturating_sub(1).max(1), usize::from)
}

impl Staged {
    /// Starts a server on its own cores; `with` sets what is special.
    pub(super) fn start(
        options: &StagesOptions,
        with: impl FnOnce(&mut StagesServeOptions),
        what: crate::contenders::staged::StageServer,
    ) -> Result<Self, Error> {
        let failed = |source| server::failed("a staged server", source);
        let folder = tempfile::tempdir().map_err(failed)?;
        let port = server::free_port()?;
        let mut served = StagesServeOptions::new(what, port);
        served.workers = u16::try_from(workers(options)).unwrap_or(u16::MAX);
        served.counts = Some(folder.path().join(COUNTS));
        with(&mut served);
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = on_cores(&program, workers(options));
        served.tell(&mut command);
        Ok(Self {
            server: Server::start("a staged server", port, &command)?,
            folder,
        })
    }

    /// Ends it: what became of requests, and the most memory that it had, in MiB.
    pub(super) fn end(self) -> Result<(Fates, f64), Failure> {
        let memory = self.server.peak_mib()?;
        self.server.end()?;
        Ok((Fates::read(&self.folder.path().join(COUNTS))?, memory))
    }
}

/// The start of a command that runs a program on the first cores.
pub(super) fn on_cores(program: &Path, cores: usize) -> Command {
    let cpus = allowed_cpus();
    let cpus: Vec<String> = cpus.iter().take(cores).map(|cpu| cpu.to_string()).collect();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &cpus.join(",")]).arg(program);
    command
}

/// Runs clients on the last core, where a server has only those before.
pub(super) fn beside<T: Send>(
    clients: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            if let Some(last) = allowed_cpus().iter().last() {
                // Unpinned is good enough where pinning is not allowed.
                drop(pin_current_thread(last));
            }
            clients()
        });
        let panicked = |_| Err("the clients panicked".into());
        clients.join().unwrap_or_else(panicked)
    })
}

/// Says what is measured where: `each` is one run.
pub(super) fn write_header(options: &StagesOptions, each: &str) -> Result<(), Error> {
    writeln!(
        io::stdout(),
        "{}\n{} cores for each server, the last one for clients; {} runs of each in turns, of {each}",
        Machine::detect(),
        workers(options),
        options.turns.repeat,
    )
    .map_err(Error::Output)
}

/// Runs contenders in turns, and tells of them: the medians of their rows.
pub(super) fn in_turns<T: Display>(
    options: &StagesOptions,
    contenders: impl IntoIterator<Item = T>,
    run_once: impl FnMut(&T) -> Result<Vec<StageRow>, Error>,
) -> Result<Vec<StageRow>, Error> {
    let mut repetition = options.turns.repetition();
    repetition.workers = Some(u16::try_from(arguments::workers(None)).unwrap_or(u16::MAX));
    let contenders: Vec<Contender<T, Vec<StageRow>>> =
        repetition.interleave(contenders, run_once)?;
    let rows: Vec<_> = contenders
        .iter()
        .flat_map(|contender| staged::medians(&contender.figures))
        .collect();
    write_table(&rows, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    Ok(rows)
}

/// Writes rows to read.
pub(super) fn write_table(rows: &[StageRow], mut out: impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<12}{:<21}{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}  and",
        "experiment",
        "policy",
        "setting",
        "offered",
        "goodput",
        "p50 ms",
        "p99 ms",
        "back, ms",
        "MiB"
    )?;
    for row in rows {
        write!(
            out,
            "{:<12}{:<21}{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8} ",
            row.experiment,
            row.policy,
            row.setting,
            shown(row.offered, 0),
            shown(row.goodput, 0),
            shown(row.p50_ms, 2),
            shown(row.p99_ms, 2),
            shown(row.recovery_ms, 0),
            shown(row.memory_mb, 0),
        )?;
        for (name, figure) in &row.more {
            write!(out, " {name}={figure:.4}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn shown(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"))
}

/// Writes the file of figures that was asked for. No figures are an error.
pub(super) fn keep(rows: &[StageRow], options: &StagesOptions) -> Result<(), Error> {
    match (&options.turns.json, rows.is_empty()) {
        (_, true) => Err(Error::AlwaysDisturbed),
        (Some(path), false) => report::write_json(rows, path),
        (None, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_apply_is_a_dash() {
        let row = StageRow {
            goodput: Some(12.4),
            ..StageRow::new("step", "within", "1.4 times").with("refused_p99_ms", 0.25)
        };
        let mut table = Vec::new();
        write_table(&[row], &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let words: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words[..6], ["step", "within", "1.4", "times", "-", "12"]);
        assert_eq!(words.last(), Some(&"refused_p99_ms=0.2500"));
    }
}
