//! The command line.

use std::ffi::OsString;

use crate::error::Error;

pub(crate) const HELP: &str = "\
Developer tasks of Mely

Usage: cargo xtask JOB [--no-install] [--dry-run]

Jobs:
  test     install what the tests need, then lint, test, document and model-check
  packages install the Debian packages that the tests need
  toolchains build with the oldest toolchain that is promised, and for aarch64
  lint     fmt, tidy, clippy and rustdoc
  tidy     the rules of this repository that a machine can hold
  loom     model-check the park, steal and post protocols
  miri     run the queues under Miri (nightly)
  tsan     run every test under ThreadSanitizer (nightly)
  verify   miri, tsan, a deeper loom and long randomised runs; writes docs/verification.md

Options:
  --no-install   test, toolchains: leave the machine's packages and toolchains alone
  --dry-run      print the steps and their commands, run nothing
  -h, --help     print this text
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    Help,
    Test,
    Packages,
    Toolchains,
    Lint,
    Tidy,
    Loom,
    Miri,
    Tsan,
    Verify,
}

impl Job {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "help" => Self::Help,
            "test" => Self::Test,
            "packages" => Self::Packages,
            "toolchains" => Self::Toolchains,
            "lint" => Self::Lint,
            "tidy" => Self::Tidy,
            "loom" => Self::Loom,
            "miri" => Self::Miri,
            "tsan" => Self::Tsan,
            "verify" => Self::Verify,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) job: Job,
    pub(crate) install: bool,
    pub(crate) dry_run: bool,
}

impl Options {
    pub(crate) fn from_env() -> Result<Self, Error> {
        Self::parse(std::env::args_os().skip(1))
    }

    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        use lexopt::prelude::{Long, Short, Value};

        let mut job = None;
        let mut install = true;
        let mut dry_run = false;
        let mut parser = lexopt::Parser::from_args(args);
        while let Some(arg) = parser.next().map_err(Error::usage)? {
            match arg {
                Short('h') | Long("help") => job = Some(Job::Help),
                Long("no-install") => install = false,
                Long("dry-run") => dry_run = true,
                Value(value) if job.is_none() => {
                    let name = value.to_string_lossy();
                    let known = Job::from_name(&name);
                    job = Some(known.ok_or_else(|| Error::unknown_job(&name))?);
                }
                other => return Err(Error::usage(other.unexpected())),
            }
        }
        let job = job.ok_or_else(|| Error::Usage("no job given".to_owned()))?;
        Ok(Self {
            job,
            install,
            dry_run,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, Error> {
        Options::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn a_job_takes_its_options_on_either_side() {
        let expected = Options {
            job: Job::Test,
            install: false,
            dry_run: true,
        };
        assert_eq!(
            parse(&["test", "--no-install", "--dry-run"]).unwrap(),
            expected
        );
        assert_eq!(
            parse(&["--dry-run", "--no-install", "test"]).unwrap(),
            expected
        );
    }

    #[test]
    fn an_unknown_job_is_named_in_the_error() {
        let message = parse(&["tset"]).unwrap_err().to_string();
        assert!(
            message.contains("`tset`") && message.contains("--help"),
            "{message}"
        );
    }

    #[test]
    fn no_job_two_jobs_and_unknown_options_are_errors() {
        assert!(parse(&[]).is_err());
        assert!(parse(&["lint", "tidy"]).is_err());
        assert!(parse(&["lint", "--fast"]).is_err());
    }

    #[test]
    fn help_lists_every_job() {
        for line in [
            "test",
            "packages",
            "toolchains",
            "lint",
            "tidy",
            "loom",
            "miri",
            "tsan",
            "verify",
        ] {
            assert!(
                HELP.contains(&format!("\n  {line} ")),
                "{line} is not in the help"
            );
            assert!(Job::from_name(line).is_some());
        }
    }
}
