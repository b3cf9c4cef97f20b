//! Developer tasks of the workspace: `cargo xtask JOB`.
//!
//! Every job is a list of [`step::Step`]s that one runner executes, times and
//! sums up, so that a developer, the gate and the record of verification all
//! see the same commands.

mod checks;
mod counts;
mod error;
mod machine;
mod options;
mod packages;
mod report;
mod run;
mod step;
mod test;
mod tidy;
mod toolchain;
mod verify;

use std::process::ExitCode;

use error::Error;
use options::{Job, Options};

fn main() -> ExitCode {
    match Options::from_env().and_then(|options| run_job(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Reported) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_job(options: &Options) -> Result<(), Error> {
    let steps = match options.job {
        Job::Help => {
            print!("{}", options::HELP);
            return Ok(());
        }
        Job::Test => return test::run(options),
        Job::Verify => return verify::run(options),
        Job::Packages => vec![checks::packages()],
        Job::Toolchains => checks::toolchains(options.install),
        Job::Lint => checks::lint(),
        Job::Tidy => vec![checks::tidy()],
        Job::Loom => vec![checks::loom(checks::LOOM_PREEMPTIONS)],
        Job::Miri => {
            verify::nightly::require(options.dry_run)?;
            checks::miri()
        }
        Job::Tsan => {
            verify::nightly::require(options.dry_run)?;
            vec![checks::tsan()]
        }
    };
    if options.dry_run {
        step::print_plan(&steps);
        return Ok(());
    }
    let report = report::run_until_failure(&steps);
    report.print_table();
    report.into_result()
}
