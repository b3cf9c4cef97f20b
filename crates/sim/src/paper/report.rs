//! Simulated figures beside the papers', to read and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::{CELLS, Column, Measured, ORDERINGS, Ordering, Table, reasons};
use crate::mely::Policy;

/// A prediction that is off by more than this part is listed.
const TOLERANCE: f64 = 0.25;

/// A run of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The workload.
    pub table: Table,
    /// The policy.
    pub policy: Policy,
    /// What came out.
    pub measured: Measured,
}

/// A cell of a paper, and what the simulation says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The table.
    pub table: &'static str,
    /// The row: a policy.
    pub row: &'static str,
    /// The column, with its unit.
    pub column: &'static str,
    /// The paper's figure.
    pub paper: f64,
    /// Ours; null where there is none, as what a steal takes where there was none.
    pub simulated: Option<f64>,
    /// Whether the simulation was calibrated on this cell; all others are predictions.
    pub calibrated: bool,
    /// Why a prediction is off, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

impl Cell {
    /// Simulated ÷ paper; `None` where there is nothing to divide.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.simulated
            .filter(|_| self.paper != 0.0)
            .map(|simulated| simulated / self.paper)
    }

    /// Whether a prediction is more than a quarter off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        !self.calibrated && self.ratio().is_none_or(|ratio| !is_near(ratio))
    }
}

/// All runs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they are printed.
    pub rows: Vec<Row>,
}

impl Report {
    fn measured(&self, table: Table, policy: Policy) -> Option<Measured> {
        let row = |row: &&Row| row.table == table && row.policy == policy;
        self.rows.iter().find(row).map(|row| row.measured)
    }

    /// The cells of the papers whose rows were run.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for published in CELLS {
            let &super::Published {
                table, row, column, ..
            } = published;
            let Some(measured) = self.measured(table, row) else {
                continue;
            };
            let base = self.measured(table, Policy::LibasyncSmpNoSteal);
            let mut cell = Cell {
                table: table.name(),
                row: row.name(),
                column: column.name(),
                paper: published.value,
                simulated: column.of(&measured, base.as_ref()),
                calibrated: published.calibrated,
                reason: None,
            };
            let missed = cell.ratio().is_some_and(|ratio| !is_near(ratio));
            if cell.is_off() || (cell.calibrated && missed) {
                cell.reason = reasons::reason(table, row, column);
            }
            cells.push(cell);
        }
        cells
    }

    /// Every ordering of the papers whose rows were run, and whether it holds.
    #[must_use]
    pub fn orderings(&self) -> Vec<(Ordering, bool)> {
        let holds = |ordering: &Ordering| {
            let holds = ordering.holds(|table, policy| self.measured(table, policy));
            holds.map(|holds| (*ordering, holds))
        };
        ORDERINGS.iter().filter_map(holds).collect()
    }

    /// The tables, the predictions that are off, and the orderings.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in Table::ALL {
            self.write_table(table, &mut text);
        }
        self.write_off(&mut text);
        self.write_orderings(&mut text);
        text
    }

    fn write_table(&self, table: Table, text: &mut String) {
        let cells = self.cells();
        let of_table = |row: &&Row| row.table == table;
        if !self.rows.iter().any(|row| of_table(&row)) {
            return;
        }
        let _ = writeln!(
            text,
            "\n{:<22} {:<22} {:>12} {:>12} {:>9}",
            table.name(),
            "",
            "simulated",
            "paper",
            "sim/paper"
        );
        let base = self.measured(table, Policy::LibasyncSmpNoSteal);
        for row in self.rows.iter().filter(of_table) {
            let mut name = row.policy.name();
            for column in Column::ALL {
                let same = |cell: &&Cell| {
                    cell.table == table.name()
                        && cell.row == row.policy.name()
                        && cell.column == column.name()
                };
                let cell = cells.iter().find(same);
                // What the paper has, and what all rows of a table should show.
                let shown = cell.is_some() || matches!(column, Column::KiloEvents);
                if !shown {
                    continue;
                }
                let simulated = column.of(&row.measured, base.as_ref());
                let paper = cell.map(|cell| cell.paper);
                let ratio = cell.and_then(Cell::ratio);
                let mark = match cell.is_some_and(|cell| cell.calibrated) {
                    true => " calibrated",
                    false => "",
                };
                let _ = writeln!(
                    text,
                    "{name:<22} {:<22} {:>12} {:>12} {:>9}{mark}",
                    column.name(),
                    figure(simulated),
                    figure(paper),
                    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                );
                name = "";
            }
        }
    }

    fn write_off(&self, text: &mut String) {
        let cells = self.cells();
        let predicted = cells.iter().filter(|cell| !cell.calibrated).count();
        let off: Vec<_> = cells.iter().filter(|cell| cell.is_off()).collect();
        let _ = writeln!(
            text,
            "\n{} of {predicted} predictions are within {:.0} % of the paper{}",
            predicted - off.len(),
            TOLERANCE * 100.0,
            if off.is_empty() { "" } else { "; the others:" }
        );
        for cell in off {
            let ratio = cell.ratio();
            let ratio = ratio.map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.2}"));
            let reason = cell.reason.unwrap_or("no reason found");
            let _ = writeln!(
                text,
                "  {} {} {}: {ratio}; {reason}",
                cell.table, cell.row, cell.column
            );
        }
    }

    fn write_orderings(&self, text: &mut String) {
        let orderings = self.orderings();
        let holding = orderings.iter().filter(|(_, holds)| *holds).count();
        let _ = writeln!(
            text,
            "\n{holding} of {} orderings of the papers hold:",
            orderings.len()
        );
        for (ordering, holds) in orderings {
            let _ = writeln!(
                text,
                "  {:<5} {} {}: {} > {}{}",
                if holds { "holds" } else { "NOT" },
                ordering.table,
                ordering.column.name(),
                ordering.more,
                ordering.less,
                match ordering.less_of == ordering.table {
                    true => String::new(),
                    false => format!(" of {}", ordering.less_of),
                }
            );
        }
    }
}

fn is_near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

/// A figure in few digits.
fn figure(figure: Option<f64>) -> String {
    match figure {
        None => String::new(),
        Some(figure) if figure.abs() >= 100.0 => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(policy: Policy, events_per_second: f64) -> Row {
        let measured = Measured {
            events_per_second,
            ..Measured::default()
        };
        Row {
            table: Table::Unbalanced,
            policy,
            measured,
        }
    }

    #[test]
    fn predictions_that_are_off_are_listed_and_calibrated_cells_are_not() {
        let report = Report {
            rows: vec![
                row(Policy::LibasyncSmpNoSteal, 2e6),
                row(Policy::MelyTimeLeft, 1e6),
            ],
        };
        let text = report.text();
        let (tables, off) = text.split_once("predictions are within").unwrap();
        assert!(tables.contains("1.53 calibrated"), "{text}");
        assert!(off.contains("unbalanced mely-timeleft Kevents/s: 0.49"));
        assert!(!off.contains("unbalanced libasync-smp-nosteal Kevents/s:"));
        let ordering = "NOT   unbalanced Kevents/s: mely-timeleft > libasync-smp-nosteal";
        assert!(off.contains(ordering), "{text}");
    }
}
