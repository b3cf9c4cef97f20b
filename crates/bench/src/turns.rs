//! Contenders take turns, so that what changes on the machine meanwhile meets all of
//! them; runs that something else disturbed are dropped and done again.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use crate::Error;
use crate::disturbance::Usage;

/// A disturbed run is done again; a contender gives up on a busy machine after so
/// many disturbed runs for each that it wants.
const TRIES_PER_RUN: usize = 3;

/// How often each runs, and what becomes of disturbed runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Undisturbed runs of each.
    pub(crate) repeat: usize,
    /// Disturbed runs count too.
    pub(crate) keep_disturbed: bool,
}

/// What the runs of a contender gave.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    /// Of the runs that count.
    pub(crate) kept: Vec<T>,
    /// How many runs were disturbed.
    pub(crate) disturbed: usize,
}

impl Turns {
    fn wants_more<T>(&self, taken: &Taken<T>) -> bool {
        let gave_up = !self.keep_disturbed && taken.disturbed >= self.repeat * TRIES_PER_RUN;
        taken.kept.len() < self.repeat && !gave_up
    }

    /// Runs each contender once in turn, until all have what they want. The answer
    /// is in their order.
    pub(crate) fn take<C: fmt::Display, T>(
        &self,
        contenders: &[C],
        mut run: impl FnMut(&C) -> Result<T, Error>,
    ) -> Result<Vec<Taken<T>>, Error> {
        let none = || Taken {
            kept: Vec::new(),
            disturbed: 0,
        };
        let mut all: Vec<_> = contenders.iter().map(|_| none()).collect();
        while all.iter().any(|taken| self.wants_more(taken)) {
            for (contender, taken) in contenders.iter().zip(&mut all) {
                if !self.wants_more(taken) {
                    continue;
                }
                self.show_progress(contender, taken.kept.len() + 1);
                let before = Usage::now();
                let result = run(contender)?;
                let disturbed = match (before, Usage::now()) {
                    (Some(before), Some(after)) => after.disturbed_since(before),
                    _ => false,
                };
                taken.disturbed += usize::from(disturbed);
                if !disturbed || self.keep_disturbed {
                    taken.kept.push(result);
                }
            }
        }
        clear_progress();
        Ok(all)
    }

    fn show_progress(&self, contender: impl fmt::Display, run: usize) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[K{contender} {run}/{}", self.repeat);
        }
    }

    /// Says what became of a contender's disturbed runs, if there were any.
    pub(crate) fn write_disturbed<T>(
        &self,
        contender: impl fmt::Display,
        taken: &Taken<T>,
        mut out: impl Write,
    ) -> io::Result<()> {
        if taken.disturbed == 0 {
            return Ok(());
        }
        let (verb, outcome) = match (self.keep_disturbed, taken.kept.len() == self.repeat) {
            (true, _) => ("kept", "so its figures are not to be quoted"),
            (false, true) => ("dropped", "and replaced them"),
            (false, false) => ("dropped", "and could not replace them all"),
        };
        let disturbed = taken.disturbed;
        writeln!(
            out,
            "{verb} {disturbed} runs of {contender} that other processes disturbed, {outcome}"
        )
    }
}

fn clear_progress() {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_run_in_turn() {
        let turns = Turns {
            repeat: 2,
            keep_disturbed: true,
        };
        let mut order = String::new();
        let taken = turns.take(&["a", "b"], |name| {
            order.push_str(name);
            Ok(order.len())
        });
        let kept: Vec<_> = taken.unwrap().into_iter().map(|taken| taken.kept).collect();
        assert_eq!(
            (order.as_str(), kept),
            ("abab", vec![vec![1, 3], vec![2, 4]])
        );
    }

    #[test]
    fn runs_that_cannot_be_replaced_are_said() {
        let turns = Turns {
            repeat: 2,
            keep_disturbed: false,
        };
        let taken = Taken {
            kept: vec![1],
            disturbed: 6,
        };
        assert!(!turns.wants_more(&taken));
        let mut text = Vec::new();
        turns.write_disturbed("P tokio", &taken, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("dropped 6 runs of P tokio"), "{text}");
        assert!(text.contains("could not replace"), "{text}");
    }
}
