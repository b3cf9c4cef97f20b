//! What a benchmark found: an array of rows to keep.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::provenance;

/// What an implementation reached on a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The benchmark, as its subcommand is named.
    pub bench: Cow<'static, str>,
    /// The workload.
    pub workload: String,
    /// The implementation.
    pub implementation: String,
    /// What the figures are of.
    pub unit: Cow<'static, str>,
    /// The middle of the runs.
    pub median: f64,
    /// The least of the runs.
    pub min: f64,
    /// The most of the runs.
    pub max: f64,
    /// How many runs the figures are of: those that nothing disturbed.
    pub runs: usize,
}

impl Row {
    /// Sums up runs; `None` if there are none.
    pub(crate) fn of(
        bench: &'static str,
        workload: String,
        implementation: String,
        unit: &'static str,
        mut runs: Vec<f64>,
    ) -> Option<Self> {
        runs.sort_by(f64::total_cmp);
        let (&min, &max) = (runs.first()?, runs.last()?);
        let middle = runs.len() / 2;
        let median = match runs.len() % 2 {
            0 => f64::midpoint(runs[middle - 1], runs[middle]),
            _ => runs[middle],
        };
        Some(Self {
            bench: bench.into(),
            workload,
            implementation,
            unit: unit.into(),
            median,
            min,
            max,
            runs: runs.len(),
        })
    }
}

/// Writes rows as a JSON array, and beside it what machine and command they are of.
pub(crate) fn write_json<R: Serialize>(rows: &[R], path: &Path) -> Result<(), Error> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let mut text = serde_json::to_string_pretty(rows).map_err(|error| failed(error.into()))?;
    text.push('\n');
    fs::write(path, text).map_err(failed)?;
    provenance::write(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(implementation: &str, runs: &[f64]) -> Row {
        let (workload, implementation) = ("P".to_owned(), implementation.to_owned());
        Row::of("peers", workload, implementation, "events/s", runs.to_vec()).unwrap()
    }

    #[test]
    fn the_median_is_the_middle_of_the_runs() {
        let odd = row("tokio", &[3e6, 1e6, 9e6]);
        assert_eq!((odd.min, odd.median, odd.max, odd.runs), (1e6, 3e6, 9e6, 3));
        assert_eq!(row("tokio", &[1e6, 2e6, 4e6, 9e6]).median, 3e6);
        assert_eq!(
            Row::of("peers", String::new(), String::new(), "", vec![]),
            None
        );
    }
}
