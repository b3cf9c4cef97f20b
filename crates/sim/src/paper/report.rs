//! Simulated figures beside the papers', to read and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Column, Measured, ORDERINGS, Ordering, Published, Standing, Table, reasons};
use crate::mely::Policy;

/// A figure that is off by more than this part is listed, unless it was calibrated.
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
    /// Whether it is a prediction.
    pub standing: Standing,
    /// Why it is off, where that is known.
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

    /// Whether it is more than a quarter off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.ratio().is_none_or(|ratio| !is_near(ratio))
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
        for published in super::cells() {
            let Published {
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
                simulated: measured.of(column, base.as_ref()),
                standing: published.standing,
                reason: None,
            };
            // Where the paper has 0 there is nothing to divide, and nothing to explain.
            let calibrated = cell.standing == Standing::Calibrated;
            if cell.is_off() && (!calibrated || cell.ratio().is_some()) {
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
                let simulated = row.measured.of(column, base.as_ref());
                let paper = cell.map(|cell| cell.paper);
                let ratio = cell.and_then(Cell::ratio);
                let mark = cell.map_or("", |cell| cell.standing.mark());
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
        let near = |standing| {
            let of_standing = cells.iter().filter(|cell| cell.standing == standing);
            let (all, off): (Vec<_>, Vec<_>) = of_standing.map(|cell| ((), cell.is_off())).unzip();
            (off.iter().filter(|&&off| !off).count(), all.len())
        };
        let (predicted, later) = (near(Standing::Predicted), near(Standing::CalibratedLater));
        let _ = writeln!(
            text,
            "\n{} of {} predictions are within {:.0} % of the paper, and {} of {} cells that \
             were calibrated later; the others:",
            predicted.0,
            predicted.1,
            TOLERANCE * 100.0,
            later.0,
            later.1,
        );
        let listed = [Standing::Predicted, Standing::CalibratedLater];
        let off = cells
            .iter()
            .filter(|cell| cell.is_off() && listed.contains(&cell.standing));
        for cell in off {
            let ratio = cell.ratio();
            let ratio = ratio.map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.2}"));
            let reason = cell.reason.unwrap_or("no reason found");
            let mark = cell.standing.mark();
            let _ = writeln!(
                text,
                "  {} {} {}:{mark} {ratio}; {reason}",
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
            let reason = match holds {
                true => String::new(),
                false => format!("; {}", reasons::of_ordering(&ordering)),
            };
            let _ = writeln!(
                text,
                "  {:<5} {} {}: {} > {}{}{reason}",
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
