//! The papers' cells, and what stands behind the figure that is simulated for each.

use mely_papers::{Column, FIGURES};
use serde::Serialize;

use super::Table;
use crate::mely::Policy;

/// What a simulated figure is worth as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The costs of the machine, or what handlers take, were set so that it agrees.
    Calibrated,
    /// After first results an assumption was changed for the sake of its table, or row:
    /// `docs/decisions/0008` says which, and why.
    CalibratedLater,
    /// Nothing was changed for its sake.
    Predicted,
    /// It is the rate of its row by another name, and is not counted.
    Again,
}

impl Standing {
    /// How it is marked in a table.
    #[must_use]
    pub(super) const fn mark(self) -> &'static str {
        match self {
            Standing::Calibrated => " calibrated",
            Standing::CalibratedLater => " calibrated later",
            Standing::Predicted => "",
            Standing::Again => " the rate again",
        }
    }
}

/// A cell of a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The table.
    pub table: Table,
    /// The row.
    pub row: Policy,
    /// The column.
    pub column: Column,
    /// The paper's figure, in the unit of the column.
    pub value: f64,
    /// What the simulated one is.
    pub standing: Standing,
}

/// Every cell of the papers.
pub fn cells() -> impl Iterator<Item = Published> {
    FIGURES.iter().filter_map(|figure| {
        let &mely_papers::Figure {
            row, column, value, ..
        } = figure;
        let table = Table::ALL
            .into_iter()
            .find(|table| table.name() == figure.table)?;
        Some(Published {
            table,
            row,
            column,
            value,
            standing: standing(table, row, column),
        })
    })
}

fn standing(table: Table, row: Policy, column: Column) -> Standing {
    use Column::{AcceptRatio, MissesPerEvent};
    use Policy::{LibasyncSmp, LibasyncSmpNoSteal, MelyNoSteal};
    use Table::{
        Batch, CacheAware, CacheEfficient, CfseFiles, CfseWeb, Files, Penalty, Unbalanced, Web,
    };
    match (table, row) {
        _ if column == AcceptRatio => Standing::Again,
        (Unbalanced, LibasyncSmpNoSteal | MelyNoSteal)
        | (Penalty | CacheEfficient, LibasyncSmpNoSteal) => Standing::Calibrated,
        // Idle cores poll, and spinning ones slow a hand-over.
        (Unbalanced, LibasyncSmp) => Standing::CalibratedLater,
        // The size of the array.
        (CacheEfficient, LibasyncSmp) if column == MissesPerEvent => Standing::CalibratedLater,
        // The number of chains; that of messages; what concatenations take.
        (Penalty | CacheAware | Batch, _) => Standing::CalibratedLater,
        // What Epoll takes for a client; where the server closes; what is measured.
        (Web | CfseWeb | Files | CfseFiles, _) => Standing::CalibratedLater,
        _ => Standing::Predicted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_table() {
        assert_eq!(cells().count(), FIGURES.len());
    }

    #[test]
    fn what_was_set_by_a_cell_is_no_prediction() {
        let of = |table, row, column| standing(table, row, column);
        let nosteal = of(
            Table::Penalty,
            Policy::LibasyncSmpNoSteal,
            Column::KiloEvents,
        );
        assert_eq!(nosteal, Standing::Calibrated);
        let cell = |column| of(Table::CacheEfficient, Policy::LibasyncSmp, column);
        assert_eq!(cell(Column::MissesPerEvent), Standing::CalibratedLater);
        assert_eq!(cell(Column::KiloEvents), Standing::Predicted);
        let again = of(Table::Pinning, Policy::Cfse, Column::AcceptRatio);
        assert_eq!(again, Standing::Again);
    }
}
