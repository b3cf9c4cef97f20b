//! Running steps in order, and the table at the end.

use std::io::{Write, stdout};
use std::time::Duration;

use crate::counts::Counts;
use crate::error::Error;
use crate::step::{Outcome, Step};

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) outcomes: Vec<Outcome>,
}

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run_until_failure(steps: &[Step]) -> Report {
    run(steps, true, &mut stdout())
}

/// Runs every step whatever the others did.
pub(crate) fn run_all(steps: &[Step]) -> Report {
    run(steps, false, &mut stdout())
}

fn run(steps: &[Step], stop_at_failure: bool, out: &mut dyn Write) -> Report {
    let mut report = Report::default();
    for (index, step) in steps.iter().enumerate() {
        println!(
            "\n==> {}/{} {}: {}",
            index + 1,
            steps.len(),
            step.name,
            step.command()
        );
        let outcome = step.run(out);
        match (&outcome.error, &outcome.skipped) {
            (None, Some(why)) => println!("<== {}: skipped: {why}", step.name),
            (None, None) => println!("<== {}: ok in {}", step.name, readable(outcome.elapsed)),
            (Some(error), _) => {
                let elapsed = readable(outcome.elapsed);
                println!("<== {}: FAILED in {elapsed}: {error}", step.name);
            }
        }
        let failed = outcome.error.is_some();
        report.outcomes.push(outcome);
        if failed && stop_at_failure {
            break;
        }
    }
    report
}

impl Report {
    pub(crate) fn counts(&self) -> Counts {
        let mut total = Counts::default();
        self.outcomes
            .iter()
            .for_each(|outcome| total += outcome.counts);
        total
    }

    pub(crate) fn failed_steps(&self) -> Vec<&'static str> {
        let failed = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.error.is_some());
        failed.map(|outcome| outcome.name).collect()
    }

    pub(crate) fn print_table(&self) {
        println!(
            "\n{:<10} {:<7} {:>10} {:>8}",
            "step", "result", "time", "tests"
        );
        for outcome in &self.outcomes {
            let result = match (&outcome.error, &outcome.skipped) {
                (Some(_), _) => "FAILED",
                (None, Some(_)) => "skipped",
                (None, None) => "ok",
            };
            let tests = match outcome.counts {
                counts if counts.is_empty() => String::new(),
                counts => (counts.passed + counts.failed).to_string(),
            };
            let time = readable(outcome.elapsed);
            println!("{:<10} {result:<7} {time:>10} {tests:>8}", outcome.name);
        }
        let total = self.outcomes.iter().map(|outcome| outcome.elapsed).sum();
        println!("{:<10} {:<7} {:>10}", "all", "", readable(total));
        for outcome in &self.outcomes {
            if let Some(why) = &outcome.skipped {
                println!("skipped step: {}: {why}", outcome.name);
            }
        }
        for name in self.failed_steps() {
            println!("failed step: {name}");
        }
    }

    /// The table is the last word about failed steps, so the error is silent.
    pub(crate) fn into_result(self) -> Result<(), Error> {
        if self.failed_steps().is_empty() {
            Ok(())
        } else {
            Err(Error::Reported)
        }
    }
}

fn readable(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use std::io::sink;

    use super::*;
    use crate::run::Call;

    fn steps() -> Vec<Step> {
        let result = "test result: ok. 7 passed; 0 failed; 0 ignored";
        vec![
            Step::tests("first", Call::new("echo", &[result])),
            Step::check("second", Call::new("false", &[])),
            Step::tests("third", Call::new("echo", &[result])),
        ]
    }

    #[test]
    fn a_job_stops_at_the_first_failure_and_names_it() {
        let report = run(&steps(), true, &mut sink());
        assert_eq!(report.outcomes.len(), 2);
        assert_eq!(report.failed_steps(), ["second"]);
        assert_eq!(
            report.counts(),
            Counts {
                passed: 7,
                failed: 0
            }
        );
        assert!(matches!(report.into_result(), Err(Error::Reported)));
    }

    #[test]
    fn verification_runs_to_the_end() {
        let report = run(&steps(), false, &mut sink());
        assert_eq!(report.outcomes.len(), 3);
        assert_eq!(report.counts().passed, 14);
        assert!(report.into_result().is_err());
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(readable(Duration::from_millis(1240)), "1.2 s");
        assert_eq!(readable(Duration::from_secs(64)), "1 m 04 s");
    }
}
