//! Where figures come from: beside `NAME.json` stands `NAME.machine.json`, with the
//! command, the machine and the day.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::machine::Machine;

/// What the names of these files end in.
const SUFFIX: &str = "machine.json";

/// Where figures come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Provenance {
    /// The command line, without the directories of this machine.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    /// The version of Mely.
    pub(crate) version: String,
    /// When the figures were written, in UTC.
    pub(crate) date: String,
}

impl Provenance {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            command: mely_plot::published(std::env::args_os()),
            machine: Machine::detect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: utc(since.map_or(0, |since| since.as_secs())),
        }
    }

    /// That of a file of figures, if it has one.
    pub(crate) fn of(figures: &Path) -> Result<Option<Self>, Error> {
        let path = beside(figures);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::File { path, source }),
        };
        let read = serde_json::from_str(&text).map(Some);
        read.map_err(|error| Error::Figures {
            path,
            what: format!("no description of a machine: {error}"),
        })
    }
}

/// Writes the machine and the command beside a file of figures.
pub(crate) fn write(figures: &Path) -> Result<(), Error> {
    let path = beside(figures);
    let written = serde_json::to_string_pretty(&Provenance::now())
        .map_err(io::Error::from)
        .and_then(|text| fs::write(&path, text + "\n"));
    written.map_err(|source| Error::File { path, source })
}

/// Whether a file is one of those, and no file of figures.
pub(crate) fn is_provenance(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(&format!(".{SUFFIX}")))
}

fn beside(figures: &Path) -> PathBuf {
    figures.with_extension(SUFFIX)
}

/// A time as ISO 8601 has it, from the seconds since 1970.
fn utc(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    let (mut year, mut days) = (1970, seconds / DAY);
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    let (day, of_day) = (days + 1, seconds % DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn is_leap_year(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    365 + u64::from(is_leap_year(year))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(951_868_800 + 86_399), "2000-03-01T23:59:59Z");
        assert_eq!(utc(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn it_stands_beside_the_figures_and_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let figures = directory.path().join("peers.json");
        assert_eq!(Provenance::of(&figures).unwrap(), None);
        write(&figures).unwrap();
        let path = directory.path().join("peers.machine.json");
        assert!(path.is_file() && is_provenance(&path) && !is_provenance(&figures));
        let read = Provenance::of(&figures).unwrap().unwrap();
        assert_eq!(read.machine, Machine::detect());
        fs::write(&path, "{}").unwrap();
        let error = Provenance::of(&figures).unwrap_err().to_string();
        assert!(error.contains("peers.machine.json"), "{error}");
    }
}
