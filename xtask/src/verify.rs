//! `cargo xtask verify`: the checks that take long or need nightly, and their record.

pub(crate) mod nightly;
mod record;

use crate::checks;
use crate::error::Error;
use crate::options::Options;
use crate::report;
use crate::run;
use crate::step::{self, Step};

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    nightly::require(options.dry_run)?;
    let steps = steps();
    if options.dry_run {
        step::print_plan(&steps);
        return Ok(());
    }
    // The state that is checked is the one from before the long run.
    let subject = record::Subject::now();
    let report = report::run_all(&steps);
    report.print_table();
    record::write(&run::root(), &subject, &report)?;
    println!("recorded in {}", record::FILE);
    report.into_result()
}

fn steps() -> Vec<Step> {
    let mut steps = checks::miri();
    steps.push(checks::tsan());
    steps.push(checks::loom(checks::LOOM_PREEMPTIONS_DEEP));
    steps.push(checks::stress());
    steps
}
