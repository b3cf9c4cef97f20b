//! Our figures, and under each row what the paper has.

use std::io::{self, Write};

use super::published::{Published, published};
use super::unit;
use super::workload::PaperWorkload;
use crate::measure::report::Row;

/// The papers' base of comparison, and what takes its place where it was not run.
const BASES: [&str; 2] = ["mely/libasync-smp-nosteal", "mely/mely-nosteal"];

/// What stands in a row, ours or the paper's.
#[derive(Default)]
struct Line {
    rate: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    ratio: Option<f64>,
    locking: Option<f64>,
    steals: Option<f64>,
    cycles_per_steal: Option<f64>,
    stolen_per_steal: Option<f64>,
}

impl From<Published> for Line {
    fn from(paper: Published) -> Self {
        Self {
            rate: paper.kilo_rate.map(|rate| rate * 1e3),
            ratio: paper.ratio,
            locking: paper.locking_percent,
            cycles_per_steal: paper.cycles_per_steal,
            stolen_per_steal: paper.stolen_cycles_per_steal,
            ..Self::default()
        }
    }
}

/// Writes the rows of a workload as a table.
pub(super) fn write(workload: PaperWorkload, rows: &[Row], mut out: impl Write) -> io::Result<()> {
    let rates = || rows.iter().filter(|row| row.unit == workload.unit());
    let base = BASES
        .iter()
        .find_map(|base| rates().find(|row| row.implementation == *base));
    writeln!(out)?;
    writeln!(
        out,
        "{:<29}{:>11}{:>9}{:>9}{:>5}{:>10}{:>10}{:>11}{:>13}{:>14}",
        workload.name(),
        format!("K{}", short_unit(workload)),
        "min",
        "max",
        "runs",
        "/nosteal",
        "locking %",
        "steals/s",
        "cycles/steal",
        "stolen/steal"
    )?;
    for rate in rates() {
        let line = ours(rate, rows, base);
        write_line(&mut out, &rate.implementation, Some(rate.runs), &line)?;
        let policy = rate.implementation.trim_start_matches("mely/");
        if let Some(paper) = published(workload, policy) {
            write_line(&mut out, "  paper", None, &paper.into())?;
        }
    }
    match base {
        Some(base) if base.implementation != BASES[0] => {
            writeln!(
                out,
                "/nosteal: ours to {}, as {} was not run",
                base.implementation, BASES[0]
            )
        }
        Some(_) => Ok(()),
        None => writeln!(out, "no ratios: {} was not run", BASES[0]),
    }
}

fn short_unit(workload: PaperWorkload) -> &'static str {
    match workload.unit() {
        "connections/s" => "conn/s",
        unit => unit,
    }
}

fn ours(rate: &Row, rows: &[Row], base: Option<&Row>) -> Line {
    let median = |unit| {
        let same = |row: &&Row| row.implementation == rate.implementation && row.unit == unit;
        rows.iter().find(same).map(|row| row.median)
    };
    Line {
        rate: Some(rate.median),
        min: Some(rate.min),
        max: Some(rate.max),
        ratio: base.map(|base| rate.median / base.median),
        locking: median(unit::LOCKING),
        steals: median(unit::STEALS),
        cycles_per_steal: median(unit::CYCLES_PER_STEAL),
        stolen_per_steal: median(unit::STOLEN_PER_STEAL),
    }
}

fn write_line(mut out: impl Write, name: &str, runs: Option<usize>, line: &Line) -> io::Result<()> {
    let kilo = |rate: Option<f64>| figure(rate.map(|rate| rate / 1e3), 1);
    let runs = runs.map_or_else(String::new, |runs| runs.to_string());
    let text = format!(
        "{name:<29}{:>11}{:>9}{:>9}{runs:>5}{:>10}{:>10}{:>11}{:>13}{:>14}",
        kilo(line.rate),
        kilo(line.min),
        kilo(line.max),
        figure(line.ratio, 3),
        figure(line.locking, 2),
        figure(line.steals, 0),
        figure(line.cycles_per_steal, 0),
        figure(line.stolen_per_steal, 0),
    );
    writeln!(out, "{}", text.trim_end())
}

fn figure(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(String::new, |figure| format!("{figure:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(policy: &str, rate: f64) -> Row {
        let implementation = format!("mely/{policy}");
        let workload = "unbalanced".to_owned();
        Row::of("paper", workload, implementation, "events/s", vec![rate]).unwrap()
    }

    fn table(rows: &[Row]) -> Vec<String> {
        let mut table = Vec::new();
        write(PaperWorkload::Unbalanced, rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        table.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_papers_row_stands_under_ours() {
        let rows = [rate("libasync-smp-nosteal", 2e6), rate("mely-base", 4e6)];
        let lines = table(&rows);
        let ours = lines
            .iter()
            .position(|line| line.contains("mely/mely-base"));
        let ours = ours.unwrap();
        assert!(lines[ours].contains("4000.0"), "{lines:#?}");
        assert!(lines[ours].ends_with("2.000"), "{lines:#?}");
        let paper: Vec<_> = lines[ours + 1].split_whitespace().collect();
        assert_eq!(paper, ["paper", "1195.0", "0.912", "1.42", "2261", "445"]);
    }

    #[test]
    fn another_base_is_named() {
        let rows = [rate("mely-nosteal", 2e6), rate("adaptive", 3e6)];
        let lines = table(&rows);
        assert!(lines.last().unwrap().contains("to mely/mely-nosteal"));
        let lines = table(&rows[1..]);
        assert!(lines.last().unwrap().contains("no ratios"));
    }
}
