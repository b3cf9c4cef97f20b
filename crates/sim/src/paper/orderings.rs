//! What the papers conclude: which configuration is ahead of which.

use super::{Column, Measured, Table};
use crate::mely::Policy;

/// One row of a table has more of something than another, by the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordering {
    /// The table.
    pub table: Table,
    /// What is compared.
    pub column: Column,
    /// The row with more.
    pub more: Policy,
    /// The row with less.
    pub less: Policy,
    /// The table of that row.
    pub less_of: Table,
}

const fn rate(table: Table, more: Policy, less: Policy) -> Ordering {
    of(table, Column::KiloEvents, more, less)
}

const fn of(table: Table, column: Column, more: Policy, less: Policy) -> Ordering {
    Ordering {
        table,
        column,
        more,
        less,
        less_of: table,
    }
}

/// A server is ahead of the copies of its handlers, one on each core.
const fn ahead_of_copies(table: Table, more: Policy, copies: Table) -> Ordering {
    Ordering {
        less_of: copies,
        ..rate(table, more, Policy::LibasyncSmpNoSteal)
    }
}

use Column::{CyclesPerSteal, Locking, MissPercent, MissesPerEvent, StolenPerSteal};
use Policy::{
    Cfse, CfseBatch, CfseCache, CfsePinning, LibasyncSmp, LibasyncSmpNoSteal, Mely, MelyBase,
    MelyLocality, MelyNoSteal, MelyPenalty, MelyTimeLeft,
};
use Table::{
    Batch, CacheAware, CacheEfficient, CfseFiles, CfseWeb, CfseWebCopies, Files, Penalty, Pinning,
    Unbalanced, Web, WebCopies,
};

/// Every ordering that the papers report, once: those of accepted connections on `pinning`
/// are of the rate by another name.
pub const ORDERINGS: &[Ordering] = &[
    rate(Unbalanced, MelyTimeLeft, LibasyncSmpNoSteal),
    rate(Unbalanced, MelyTimeLeft, MelyBase),
    rate(Unbalanced, LibasyncSmpNoSteal, MelyNoSteal),
    rate(Unbalanced, MelyNoSteal, MelyBase),
    rate(Unbalanced, LibasyncSmpNoSteal, LibasyncSmp),
    rate(Unbalanced, MelyBase, LibasyncSmp),
    of(Unbalanced, Locking, LibasyncSmp, MelyBase),
    of(Unbalanced, Locking, MelyBase, MelyNoSteal),
    of(Unbalanced, CyclesPerSteal, LibasyncSmp, MelyBase),
    of(Unbalanced, StolenPerSteal, MelyTimeLeft, MelyBase),
    rate(Penalty, MelyPenalty, MelyBase),
    rate(Penalty, MelyBase, LibasyncSmpNoSteal),
    rate(Penalty, LibasyncSmpNoSteal, LibasyncSmp),
    of(Penalty, MissesPerEvent, LibasyncSmp, MelyBase),
    of(Penalty, MissesPerEvent, MelyBase, MelyPenalty),
    of(Penalty, MissesPerEvent, MelyPenalty, LibasyncSmpNoSteal),
    rate(CacheEfficient, MelyLocality, LibasyncSmp),
    rate(CacheEfficient, LibasyncSmp, MelyBase),
    rate(CacheEfficient, MelyBase, LibasyncSmpNoSteal),
    of(CacheEfficient, MissesPerEvent, LibasyncSmp, MelyBase),
    of(CacheEfficient, MissesPerEvent, MelyBase, MelyLocality),
    rate(CacheAware, Cfse, CfseCache),
    rate(CacheAware, CfseCache, LibasyncSmp),
    rate(CacheAware, LibasyncSmp, LibasyncSmpNoSteal),
    of(CacheAware, MissPercent, LibasyncSmp, CfseCache),
    of(CacheAware, MissPercent, CfseCache, Cfse),
    rate(Batch, CfseBatch, LibasyncSmpNoSteal),
    rate(Batch, LibasyncSmpNoSteal, LibasyncSmp),
    rate(Batch, Cfse, LibasyncSmp),
    of(Batch, Locking, LibasyncSmp, CfseBatch),
    of(Batch, Locking, LibasyncSmp, Cfse),
    of(Batch, Locking, CfseBatch, LibasyncSmpNoSteal),
    rate(Pinning, Cfse, LibasyncSmpNoSteal),
    rate(Pinning, LibasyncSmpNoSteal, CfsePinning),
    rate(Pinning, CfsePinning, LibasyncSmp),
    rate(Web, Mely, LibasyncSmp),
    rate(Web, LibasyncSmpNoSteal, LibasyncSmp),
    rate(Web, Mely, LibasyncSmpNoSteal),
    rate(Web, LibasyncSmpNoSteal, MelyNoSteal),
    rate(Web, MelyNoSteal, LibasyncSmp),
    of(Web, CyclesPerSteal, LibasyncSmp, Mely),
    ahead_of_copies(Web, Mely, WebCopies),
    rate(Files, LibasyncSmp, LibasyncSmpNoSteal),
    rate(Files, Mely, LibasyncSmpNoSteal),
    rate(CfseWeb, Cfse, LibasyncSmpNoSteal),
    rate(CfseWeb, LibasyncSmpNoSteal, LibasyncSmp),
    ahead_of_copies(CfseWeb, LibasyncSmpNoSteal, CfseWebCopies),
    rate(CfseFiles, Cfse, LibasyncSmp),
    rate(CfseFiles, LibasyncSmp, LibasyncSmpNoSteal),
];

impl Ordering {
    /// Whether it holds among what was measured; `None` if one of its rows was not run,
    /// or has no such figure.
    #[must_use]
    pub fn holds(&self, of: impl Fn(Table, Policy) -> Option<Measured>) -> Option<bool> {
        let base = of(self.table, LibasyncSmpNoSteal);
        let figure = |table, policy| of(table, policy)?.of(self.column, base.as_ref());
        Some(figure(self.table, self.more)? > figure(self.less_of, self.less)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::cells;

    /// Cells of a paper, in another column where it has only that.
    fn published(table: Table, column: Column, row: Policy) -> Option<f64> {
        let columns: &[Column] = match column {
            Column::KiloEvents => &[Column::KiloEvents, Column::Ratio],
            MissesPerEvent => &[MissesPerEvent, Column::MissesPerKiloEvent],
            _ => &[column],
        };
        let mut of_table = cells().filter(|cell| cell.table == table);
        let found = of_table.find(|cell| cell.row == row && columns.contains(&cell.column));
        match found {
            Some(cell) => Some(cell.value),
            // What ratios are to.
            None if row == LibasyncSmpNoSteal && columns.contains(&Column::Ratio) => Some(1.0),
            None => None,
        }
    }

    #[test]
    fn the_papers_figures_have_every_ordering() {
        // Of copies it has curves without figures.
        let in_figures = ORDERINGS.iter().filter(|one| one.less_of == one.table);
        for ordering in in_figures {
            let of = |row| published(ordering.table, ordering.column, row);
            let (more, less) = (of(ordering.more), of(ordering.less));
            assert!(more.unwrap() > less.unwrap(), "{ordering:?}");
        }
    }
}
