//! Interleaved repetition: each contender runs once in turn, until all have as many
//! runs as are wanted that nothing disturbed.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mely::Affinity;

use super::arguments;
use super::disturbance::Usage;
use super::error::Error;
use super::gauge::Gauge;
use super::outcome::Run;
use super::report::{self, Row};

/// A disturbed run is tried again; a benchmark gives up on a quiet machine after so
/// many disturbed runs for each that it wants.
const TRIES_PER_RUN: usize = 3;

/// How often, and where to.
#[derive(Clone, Debug, Args)]
pub struct Repetition {
    /// How many undisturbed runs each implementation gets.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub repeat: u16,
    /// Worker threads of each; by default one for each core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Where workers of Mely run: auto, pinned, free.
    #[arg(long, value_name = "A", default_value_t)]
    pub affinity: Affinity,
    /// Keeps disturbed runs too, for a first look on a busy machine. The table says
    /// so; a file of figures cannot, so there is none.
    #[arg(long, conflicts_with = "json")]
    pub keep_disturbed: bool,
    /// Also writes the figures to this file, as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Something that is run again and again beside others.
#[derive(Debug)]
pub(crate) struct Contender<T, F> {
    /// What is run.
    pub(crate) what: T,
    /// What the runs that count have found.
    pub(crate) figures: Vec<F>,
    disturbed: usize,
}

impl Repetition {
    /// One run of so many seconds.
    pub(crate) fn run(&self, seconds: f64) -> Run {
        Run {
            workers: arguments::workers(self.workers),
            affinity: self.affinity,
            time: Duration::from_secs_f64(seconds),
        }
    }

    fn wants_more<T, F>(&self, contender: &Contender<T, F>) -> bool {
        let repeat = usize::from(self.repeat);
        let gave_up = !self.keep_disturbed && contender.disturbed >= repeat * TRIES_PER_RUN;
        contender.figures.len() < repeat && !gave_up
    }

    /// Runs each once in turn until all have what they want.
    pub(crate) fn interleave<T: Display, F>(
        &self,
        contenders: impl IntoIterator<Item = T>,
        mut run_once: impl FnMut(&T) -> Result<F, Error>,
    ) -> Result<Vec<Contender<T, F>>, Error> {
        let contender = |what| Contender {
            what,
            figures: Vec::new(),
            disturbed: 0,
        };
        let mut contenders: Vec<_> = contenders.into_iter().map(contender).collect();
        let mut gauge = Gauge::new(arguments::workers(self.workers));
        if !self.keep_disturbed {
            gauge.learn();
        }
        while contenders.iter().any(|c| self.wants_more(c)) {
            for contender in contenders.iter_mut().filter(|c| self.wants_more(c)) {
                let run = contender.figures.len() + 1;
                show_progress(&format!("{} {run}/{}", contender.what, self.repeat));
                if !self.keep_disturbed {
                    gauge.wait_until_free();
                }
                let before = Usage::now();
                let figure = run_once(&contender.what)?;
                let others = match (before, Usage::now()) {
                    (Some(before), Some(after)) => after.disturbed_since(before),
                    _ => false,
                };
                let disturbed = others || !gauge.is_free();
                contender.disturbed += usize::from(disturbed);
                if !disturbed || self.keep_disturbed {
                    contender.figures.push(figure);
                }
            }
        }
        show_progress("");
        Ok(contenders)
    }

    /// Says on standard output which runs were disturbed.
    pub(crate) fn write_disturbed<T: Display, F>(
        &self,
        contenders: &[Contender<T, F>],
    ) -> io::Result<()> {
        let mut out = io::stdout();
        let disturbed = contenders.iter().filter(|c| c.disturbed > 0);
        for contender in disturbed.clone() {
            let complete = contender.figures.len() == usize::from(self.repeat);
            let (verb, outcome) = match (self.keep_disturbed, complete) {
                (true, _) => ("kept", "so its figures are not to be quoted"),
                (false, true) => ("dropped", "and replaced them"),
                (false, false) => ("dropped", "and could not replace them all"),
            };
            writeln!(
                out,
                "{verb} {} runs of {} that others disturbed, {outcome}",
                contender.disturbed, contender.what
            )?;
        }
        if disturbed.count() == 0 {
            writeln!(out, "no run was disturbed by others")?;
        }
        Ok(())
    }

    /// Writes the file of figures that was asked for. No figures are an error.
    pub(crate) fn keep(&self, rows: &[Row]) -> Result<(), Error> {
        match (&self.json, rows.is_empty()) {
            (_, true) => Err(Error::AlwaysDisturbed),
            (Some(path), false) => report::write_json(rows, path),
            (None, false) => Ok(()),
        }
    }
}

/// A line on the terminal that the next one overwrites.
fn show_progress(line: &str) {
    let mut terminal = io::stderr();
    if terminal.is_terminal() {
        // A terminal that has gone must not end the run.
        write!(terminal, "\r\x1b[K{line}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_run_in_turn() {
        let repetition = Repetition {
            repeat: 2,
            workers: None,
            affinity: mely::Affinity::default(),
            keep_disturbed: true,
            json: None,
        };
        let mut order = Vec::new();
        let contenders = repetition.interleave(["a", "b"], |&what| {
            order.push(what);
            Ok(order.len())
        });
        let figures: Vec<_> = contenders.unwrap().into_iter().map(|c| c.figures).collect();
        assert_eq!(order, ["a", "b", "a", "b"]);
        assert_eq!(figures, [[1, 3], [2, 4]]);
    }

    #[test]
    fn no_figures_are_an_error() {
        let repetition = Repetition {
            repeat: 1,
            workers: None,
            affinity: mely::Affinity::default(),
            keep_disturbed: false,
            json: None,
        };
        assert!(matches!(repetition.keep(&[]), Err(Error::AlwaysDisturbed)));
    }
}
