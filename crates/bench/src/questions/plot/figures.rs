//! Reads files of rows, and groups them by benchmark and workload.

use std::fs;
use std::path::{Path, PathBuf};

use crate::measure::Error;
use crate::measure::provenance::{self, Provenance};
use crate::measure::report::Row;
use crate::measure::staged::StageRow;

/// What becomes a picture.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) bench: String,
    pub(super) workload: String,
    /// The machine, where the file has its description beside it.
    pub(super) machine: Option<String>,
    /// In the order of the file.
    pub(super) rows: Vec<Row>,
}

impl Group {
    /// The name of its picture: lower-case letters, digits, and dashes for the rest.
    pub(super) fn file_name(&self) -> String {
        let text = format!("{}-{}", self.bench, self.workload).to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        format!("{}.svg", words.join("-"))
    }

    /// Its units, in the order in which they come.
    pub(super) fn units(&self) -> Vec<&str> {
        let mut units: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !units.contains(&&*row.unit) {
                units.push(&row.unit);
            }
        }
        units
    }
}

/// Reads all files. Figures of different runs do not compare: a workload of a
/// benchmark may be in one file only.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Group>, Error> {
    let mut groups: Vec<Group> = Vec::new();
    for path in files.iter().filter(|path| !provenance::is_provenance(path)) {
        for group in read_file(path)? {
            if groups
                .iter()
                .any(|other| other.file_name() == group.file_name())
            {
                let what = format!(
                    "{} {} is in another file too, and figures of two runs do not \
                     compare: draw them into two directories",
                    group.bench, group.workload
                );
                return Err(wrong(path, what));
            }
            groups.push(group);
        }
    }
    Ok(groups)
}

fn read_file(path: &Path) -> Result<Vec<Group>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    let rows = rows(&text).map_err(|error| {
        let what = match error.is_eof() {
            true => "cut off",
            false => "no array of rows",
        };
        wrong(path, format!("{what}: {error}"))
    })?;
    if rows.is_empty() {
        return Err(wrong(path, "it has no rows".to_owned()));
    }
    let machine = Provenance::of(path)?.map(|provenance| provenance.machine.to_string());
    let mut groups: Vec<Group> = Vec::new();
    for (row, number) in rows.into_iter().zip(1..) {
        check(&row).map_err(|what| wrong(path, format!("row {number}: {what}")))?;
        let same = |group: &&mut Group| group.bench == row.bench && group.workload == row.workload;
        match groups.iter_mut().find(same) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                bench: row.bench.to_string(),
                workload: row.workload.clone(),
                machine: machine.clone(),
                rows: vec![row],
            }),
        }
    }
    Ok(groups)
}

/// Rows, or the objects of experiments on stages, of which each is several.
fn rows(text: &str) -> serde_json::Result<Vec<Row>> {
    let staged = serde_json::from_str::<Vec<StageRow>>(text).unwrap_or_default();
    match staged.is_empty() {
        true => serde_json::from_str(text),
        false => Ok(staged.iter().flat_map(StageRow::bars).collect()),
    }
}

fn check(row: &Row) -> Result<(), String> {
    let names = [
        ("bench", &*row.bench),
        ("workload", &row.workload),
        ("implementation", &row.implementation),
        ("unit", &row.unit),
    ];
    if let Some((field, _)) = names.iter().find(|(_, name)| name.is_empty()) {
        return Err(format!("it has no {field}"));
    }
    let figures = [("min", row.min), ("median", row.median), ("max", row.max)];
    let bad = |figure: f64| !figure.is_finite() || figure < 0.0;
    if let Some((field, figure)) = figures.iter().find(|(_, figure)| bad(*figure)) {
        return Err(format!(
            "its {field} is {figure}, not a figure of 0 or more"
        ));
    }
    match row.min <= row.median && row.median <= row.max {
        true => Ok(()),
        false => Err("its median is not between its min and its max".to_owned()),
    }
}

fn wrong(path: &Path, what: String) -> Error {
    Error::Figures {
        path: path.to_owned(),
        what,
    }
}
