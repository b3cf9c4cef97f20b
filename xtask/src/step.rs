//! A step of a job: a name, and what is done.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::error::Error;
use crate::packages;
use crate::run::{self, Call};
use crate::tidy;
use crate::toolchain::{Part, Skip};

#[derive(Debug)]
pub(crate) enum Work {
    /// A program that only has to end well.
    Check(Call),
    /// The same, skipped where a part of the toolchain cannot be had.
    WithPart {
        part: Part,
        install: bool,
        call: Call,
        runs_tests: bool,
    },
    /// A program that runs tests; running none is a failure.
    Tests(Call),
    /// The repository's own rules.
    Tidy,
    /// The Debian packages of the tests.
    Packages,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) work: Work,
}

/// What came of a step.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) command: String,
    pub(crate) counts: Counts,
    pub(crate) elapsed: Duration,
    /// Why nothing was done.
    pub(crate) skipped: Option<Skip>,
    pub(crate) error: Option<Error>,
}

impl Step {
    pub(crate) fn check(name: &'static str, call: Call) -> Self {
        Self {
            name,
            work: Work::Check(call),
        }
    }

    pub(crate) fn with_part(name: &'static str, part: Part, install: bool, call: Call) -> Self {
        Self {
            name,
            work: Work::WithPart {
                part,
                install,
                call,
                runs_tests: false,
            },
        }
    }

    /// Tests that are skipped where a part of the toolchain is not there.
    pub(crate) fn tests_with_part(
        name: &'static str,
        part: Part,
        install: bool,
        call: Call,
    ) -> Self {
        Self {
            name,
            work: Work::WithPart {
                part,
                install,
                call,
                runs_tests: true,
            },
        }
    }

    pub(crate) fn tests(name: &'static str, call: Call) -> Self {
        Self {
            name,
            work: Work::Tests(call),
        }
    }

    pub(crate) fn command(&self) -> String {
        match &self.work {
            Work::Check(call) | Work::WithPart { call, .. } | Work::Tests(call) => call.to_string(),
            Work::Tidy => "cargo xtask tidy".to_owned(),
            Work::Packages => packages::description(),
        }
    }

    /// Does the work; what tests print goes to `out`, or our own tests' planted
    /// results would be counted with the real ones.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Outcome {
        let start = Instant::now();
        let mut skipped = None;
        let (counts, result) = match &self.work {
            Work::Check(call) => (Counts::default(), call.run()),
            Work::WithPart {
                part,
                install,
                call,
                runs_tests,
            } => {
                skipped = part.require(*install).err();
                match (&skipped, runs_tests) {
                    (Some(_), _) => (Counts::default(), Ok(())),
                    (None, true) => run_tests(call, out),
                    (None, false) => (Counts::default(), call.run()),
                }
            }
            Work::Tests(call) => run_tests(call, out),
            Work::Tidy => (Counts::default(), tidy::run(&run::root())),
            Work::Packages => (Counts::default(), packages::install_missing()),
        };
        Outcome {
            name: self.name,
            command: self.command(),
            counts,
            elapsed: start.elapsed(),
            skipped,
            error: result.err(),
        }
    }
}

fn run_tests(call: &Call, out: &mut dyn Write) -> (Counts, Result<(), Error>) {
    let (counts, result) = call.run_counting(out);
    let result = result.and_then(|()| match counts.is_empty() {
        true => Err(Error::NothingRan {
            call: call.to_string(),
        }),
        false => Ok(()),
    });
    (counts, result)
}

pub(crate) fn print_plan(steps: &[Step]) {
    for step in steps {
        println!("{:<10} {}", step.name, step.command());
    }
}

#[cfg(test)]
mod tests {
    use std::io::sink;

    use super::*;

    #[test]
    fn a_test_step_that_runs_nothing_fails() {
        let outcome = Step::tests("empty", Call::new("true", &[])).run(&mut sink());
        assert!(
            matches!(outcome.error, Some(Error::NothingRan { .. })),
            "{outcome:?}"
        );
    }

    #[test]
    fn a_check_without_its_part_is_skipped_and_does_not_run() {
        let part = Part::Target("no-such-target");
        let step = Step::with_part("else", part, false, Call::new("false", &[]));
        let outcome = step.run(&mut sink());
        assert!(outcome.skipped.is_some(), "{outcome:?}");
        assert!(outcome.error.is_none(), "{outcome:?}");
    }

    #[test]
    fn a_check_needs_no_test() {
        assert!(
            Step::check("fine", Call::new("true", &[]))
                .run(&mut sink())
                .error
                .is_none()
        );
        assert!(
            Step::check("bad", Call::new("false", &[]))
                .run(&mut sink())
                .error
                .is_some()
        );
    }
}
