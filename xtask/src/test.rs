//! `cargo xtask test`: the gate. The same command for a developer and for `.ci/run`.

use crate::checks;
use crate::error::Error;
use crate::options::Options;
use crate::packages;
use crate::report;
use crate::step::{self, Step};

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let steps = steps(options.install);
    if options.dry_run {
        step::print_plan(&steps);
        return Ok(());
    }
    if !options.install {
        packages::print_missing();
    }
    let report = report::run_until_failure(&steps);
    report.print_table();
    let counts = report.counts();
    let nothing_ran = counts.is_empty();
    if nothing_ran {
        println!("no test ran");
    }
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if nothing_ran || counts.failed > 0 {
        Err(Error::Reported)
    } else {
        report.into_result()
    }
}

fn steps(install: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if install {
        steps.push(checks::packages());
    }
    steps.extend([
        checks::fmt(),
        checks::tidy(),
        checks::clippy(),
        checks::spans_clippy(),
        checks::unit_and_doc_tests(),
        checks::spans(),
        checks::rustdoc(),
        checks::guide(install),
    ]);
    steps.extend(checks::toolchains(install));
    steps.push(checks::miri_short(install));
    steps.push(checks::loom(checks::LOOM_PREEMPTIONS));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(install: bool) -> Vec<&'static str> {
        steps(install).iter().map(|step| step.name).collect()
    }

    #[test]
    fn the_gate_goes_from_cheap_to_dear() {
        let all = [
            "packages",
            "fmt",
            "tidy",
            "clippy",
            "spans-clippy",
            "tests",
            "spans",
            "doc",
            "guide",
            "oldest",
            "arm",
            "arm-asm",
            "miri",
            "loom",
        ];
        assert_eq!(names(true), all);
        assert_eq!(names(false), all[1..]);
    }
}
