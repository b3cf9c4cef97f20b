//! What an experiment on stages found: plain objects, for a file and for pictures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::report::Row;

/// What was measured of one policy, or one server, in one setting. What does not apply is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StageRow {
    pub(crate) experiment: String,
    /// The policy of admission, or the server.
    pub(crate) policy: String,
    /// What else the figures depend on.
    pub(crate) setting: String,
    /// Requests a second that were made.
    pub(crate) offered: Option<f64>,
    /// Requests a second that were answered, in time where the experiment has a target.
    pub(crate) goodput: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) recovery_ms: Option<f64>,
    /// The most resident memory of the server, in units of 2^20 bytes.
    pub(crate) memory_mb: Option<f64>,
    /// What only this experiment has.
    #[serde(flatten)]
    pub(crate) more: BTreeMap<String, f64>,
}

impl StageRow {
    /// A row without figures.
    pub(crate) fn new(experiment: &str, policy: impl ToString, setting: impl ToString) -> Self {
        Self {
            experiment: experiment.to_owned(),
            policy: policy.to_string(),
            setting: setting.to_string(),
            offered: None,
            goodput: None,
            p50_ms: None,
            p99_ms: None,
            recovery_ms: None,
            memory_mb: None,
            more: BTreeMap::new(),
        }
    }

    /// The row with one figure more. What is no number is left out.
    pub(crate) fn with(mut self, name: &str, figure: f64) -> Self {
        if figure.is_finite() {
            self.more.insert(name.to_owned(), figure);
        }
        self
    }

    /// What its pictures show.
    pub(crate) fn bars(&self) -> Vec<Row> {
        let shown = [
            ("goodput/s", self.goodput),
            ("ms p99", self.p99_ms),
            ("MiB", self.memory_mb),
        ];
        let of = |(unit, figure): (&str, Option<f64>)| {
            let figure = figure?;
            Some(Row {
                bench: "stages".into(),
                workload: self.experiment.clone(),
                implementation: self.policy.clone(),
                unit: format!("{unit}, {}", self.setting).into(),
                median: figure,
                min: figure,
                max: figure,
                runs: 1,
            })
        };
        shown.into_iter().filter_map(of).collect()
    }
}

/// The medians of several runs, which have the same rows; of each figure by itself, where most
/// runs have it.
pub(crate) fn medians(runs: &[Vec<StageRow>]) -> Vec<StageRow> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let of_row = |(at, row): (usize, &StageRow)| {
        let same: Vec<_> = runs.iter().filter_map(|run| run.get(at)).collect();
        let middle = |figure: &dyn Fn(&StageRow) -> Option<f64>| {
            median(same.iter().map(|row| figure(row)).collect())
        };
        let more = row.more.keys().filter_map(|name| {
            let figure = middle(&|row: &StageRow| row.more.get(name).copied())?;
            Some((name.clone(), figure))
        });
        StageRow {
            offered: middle(&|row| row.offered),
            goodput: middle(&|row| row.goodput),
            p50_ms: middle(&|row| row.p50_ms),
            p99_ms: middle(&|row| row.p99_ms),
            recovery_ms: middle(&|row| row.recovery_ms),
            memory_mb: middle(&|row| row.memory_mb),
            more: more.collect(),
            ..row.clone()
        }
    };
    first.iter().enumerate().map(of_row).collect()
}

/// The middle, where none is above all: what has never recovered is worse than any time.
fn median(mut figures: Vec<Option<f64>>) -> Option<f64> {
    figures.sort_by(|a, b| a.unwrap_or(f64::MAX).total_cmp(&b.unwrap_or(f64::MAX)));
    figures.get(figures.len() / 2).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goodput: f64, recovery_ms: Option<f64>) -> StageRow {
        StageRow {
            goodput: Some(goodput),
            recovery_ms,
            ..StageRow::new("step", "within", "1.4 times").with("refused", goodput)
        }
    }

    #[test]
    fn medians_are_of_each_figure() {
        let runs = [
            vec![row(3.0, Some(1.0))],
            vec![row(1.0, None)],
            vec![row(2.0, None)],
        ];
        assert_eq!(medians(&runs), [row(2.0, None)]);
        assert_eq!(medians(&[]), []);
    }

    #[test]
    fn it_is_a_plain_object_and_read_back() {
        let row = row(2.0, None).with("nothing", f64::NAN);
        let text = serde_json::to_string(&row).unwrap();
        for words in ["\"recovery_ms\":null", "\"refused\":2.0", "\"p50_ms\":null"] {
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(serde_json::from_str::<StageRow>(&text).unwrap(), row);
        assert_eq!(row.bars()[0].unit, "goodput/s, 1.4 times");
    }
}
