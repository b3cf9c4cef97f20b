//! What a recorded result was obtained with: day, commit, toolchains, cores.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::run::Call;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Today in UTC, as `2026-01-31`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    date_of_day(seconds / DAY_SECONDS)
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The commit, and whether the files differ from it.
pub(crate) fn commit() -> String {
    let hash = Call::new("git", &["rev-parse", "--short=12", "HEAD"]).output();
    let changes = Call::new(
        "git",
        &["status", "--porcelain", "--", ".", ":!docs/verification.md"],
    );
    match (hash, changes.output()) {
        (Ok(hash), Ok(changes)) if changes.is_empty() => hash,
        (Ok(hash), _) => format!("{hash} and changes"),
        (Err(_), _) => "unknown".to_owned(),
    }
}

/// The version of the toolchain that a step ran with.
pub(crate) fn toolchain(nightly: bool) -> String {
    let call = match nightly {
        true => Call::nightly(&["--version"]),
        false => Call::cargo(&["--version"]),
    };
    let version = call.output().unwrap_or_default();
    version
        .strip_prefix("cargo ")
        .map_or("unknown", |rest| rest)
        .to_owned()
}

/// Counts whole years and months from 1970 on: slow, short and plainly right.
fn date_of_day(mut day: u64) -> String {
    let mut year = 1970;
    while day >= year_days(year) {
        day -= year_days(year);
        year += 1;
    }
    let february = if year_days(year) == 366 { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

fn year_days(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970_become_dates() {
        let known = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_723, "2024-01-01"),
            (20_088, "2024-12-31"),
            (20_089, "2025-01-01"),
        ];
        for (day, date) in known {
            assert_eq!(date_of_day(day), date);
        }
    }
}
