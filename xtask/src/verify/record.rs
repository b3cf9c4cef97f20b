//! The table in docs/verification.md.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::Error;
use crate::machine;
use crate::report::Report;
use crate::step::Outcome;

pub(crate) const FILE: &str = "docs/verification.md";
const BEGIN: &str = "<!-- record:begin -->";
const END: &str = "<!-- record:end -->";

/// What was checked, and on what.
#[derive(Debug)]
pub(crate) struct Subject {
    date: String,
    commit: String,
    stable: String,
    nightly: String,
    cores: usize,
}

impl Subject {
    pub(crate) fn now() -> Self {
        Self {
            date: machine::today(),
            commit: machine::commit(),
            stable: machine::toolchain(false),
            nightly: machine::toolchain(true),
            cores: machine::cores(),
        }
    }
}

pub(crate) fn write(root: &Path, subject: &Subject, report: &Report) -> Result<(), Error> {
    let path = root.join(FILE);
    let at_path = |source| Error::Io {
        path: path.clone(),
        source,
    };
    let page = std::fs::read_to_string(&path).map_err(at_path)?;
    let missing_markers = || Error::Markers {
        path: path.clone(),
        begin: BEGIN,
        end: END,
    };
    let page = replaced(&page, &table(subject, report)).ok_or_else(missing_markers)?;
    std::fs::write(&path, page).map_err(at_path)
}

/// The page with the text between its markers replaced.
fn replaced(page: &str, table: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n{table}{END}{tail}"))
}

fn table(subject: &Subject, report: &Report) -> String {
    let mut text = String::from(
        "| date (UTC) | commit | toolchain | cores | check | command | passed | result | minutes |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for outcome in &report.outcomes {
        text.push_str(&row(subject, outcome));
    }
    text
}

fn row(subject: &Subject, outcome: &Outcome) -> String {
    let toolchain = if outcome.command.contains("+nightly") {
        &subject.nightly
    } else {
        &subject.stable
    };
    let result = match (&outcome.error, outcome.counts.failed) {
        (None, _) => "ok".to_owned(),
        (Some(_), 0) => "failed".to_owned(),
        (Some(_), failed) => format!("failed: {failed}"),
    };
    let mut row = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        row,
        "| {} | {} | {toolchain} | {} | {} | `{}` | {} | {result} | {:.1} |",
        subject.date,
        subject.commit,
        subject.cores,
        outcome.name,
        outcome.command,
        outcome.counts.passed,
        outcome.elapsed.as_secs_f64() / 60.0,
    );
    row
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counts::Counts;

    fn subject() -> Subject {
        Subject {
            date: "2026-01-31".to_owned(),
            commit: "abc".to_owned(),
            stable: "1.95.0".to_owned(),
            nightly: "1.97.0-nightly".to_owned(),
            cores: 2,
        }
    }

    fn outcome(command: &str, failed: u64) -> Outcome {
        Outcome {
            name: "miri-sched",
            command: command.to_owned(),
            counts: Counts { passed: 41, failed },
            elapsed: Duration::from_secs(90),
            skipped: None,
            error: (failed > 0).then_some(Error::Reported),
        }
    }

    #[test]
    fn a_row_says_what_ran_where_and_how_it_ended() {
        let good = row(&subject(), &outcome("cargo +nightly miri test", 0));
        let expected = "| 2026-01-31 | abc | 1.97.0-nightly | 2 | miri-sched \
                        | `cargo +nightly miri test` | 41 | ok | 1.5 |\n";
        assert_eq!(good, expected);
        let bad = row(&subject(), &outcome("cargo test", 3));
        assert!(
            bad.contains("| 1.95.0 |") && bad.contains("| failed: 3 |"),
            "{bad}"
        );
    }

    #[test]
    fn only_the_marked_part_of_the_page_changes() {
        let page = format!("# Title\n{BEGIN}\nold\n{END}\nfoot\n");
        let report = Report {
            outcomes: vec![outcome("cargo test", 0)],
        };
        let once = replaced(&page, &table(&subject(), &report)).unwrap();
        assert!(once.starts_with("# Title\n") && once.ends_with("\nfoot\n"));
        assert!(!once.contains("old"));
        assert_eq!(replaced(&once, &table(&subject(), &report)).unwrap(), once);
        assert_eq!(replaced("no markers", ""), None);
    }

    #[test]
    fn the_real_page_has_its_markers() {
        let page = std::fs::read_to_string(crate::run::root().join(FILE)).unwrap();
        assert!(replaced(&page, "").is_some());
    }
}
