//! What the papers measured, cell by cell.

use mely_sched::Policy;

use crate::Column;

/// The names of the papers' tables, and of figures that are as good as one.
pub mod table {
    /// Rounds of 50 000 events on one core (*Efficient Workstealing*, tables III and IV).
    pub const UNBALANCED: &str = "unbalanced";
    /// Chains of events that walk through an array (*Efficient Workstealing*, table V).
    pub const PENALTY: &str = "penalty";
    /// Merge sorts, forked on one core of each pair (*Efficient Workstealing*, table VI).
    pub const CACHE_EFFICIENT: &str = "cache-efficient";
    /// A pipeline over arrays of 80 KB (*Vol de tâches*, figures 3 and 4).
    pub const CACHE_AWARE: &str = "cache-aware";
    /// A pipeline of light handlers (*Vol de tâches*, figures 5 and 6).
    pub const BATCH: &str = "batch";
    /// A server of one byte a connection (*Vol de tâches*, figures 7 and 8).
    pub const PINNING: &str = "pinning";
    /// The web server, 150 requests a connection (*Efficient Workstealing*, table I and
    /// figures 4 and 7).
    pub const WEB: &str = "web";
    /// The file server, 16 clients (*Efficient Workstealing*, table I and figure 8).
    pub const FILES: &str = "files";
    /// The web server, one request a connection (*Vol de tâches*, figure 11).
    pub const CFSE_WEB: &str = "cfse-web";
    /// The file server, 15 clients (*Vol de tâches*, figure 12).
    pub const CFSE_FILES: &str = "cfse-files";
}

/// A cell of a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The table, by its name in [`table`].
    pub table: &'static str,
    /// The row.
    pub row: Policy,
    /// The column.
    pub column: Column,
    /// The paper's figure, in the unit of the column.
    pub value: f64,
}

/// A cell, if a paper has it.
#[must_use]
pub fn figure(table: &str, row: Policy, column: Column) -> Option<f64> {
    let mut cells = FIGURES.iter();
    let cell = cells.find(|cell| (cell.table, cell.row, cell.column) == (table, row, column));
    cell.map(|cell| cell.value)
}

const fn cell(table: &'static str, row: Policy, column: Column, value: f64) -> Figure {
    Figure {
        table,
        row,
        column,
        value,
    }
}

use Column::{
    AcceptRatio, CyclesPerSteal, KiloEvents, Locking, MissPercent, MissesPerEvent,
    MissesPerKiloEvent, Ratio, StolenPerSteal,
};
use Policy::{
    Cfse, CfseBatch, CfseCache, CfsePinning, LibasyncSmp, LibasyncSmpNoSteal, Mely, MelyBase,
    MelyLocality, MelyNoSteal, MelyPenalty, MelyTimeLeft,
};
use table::{
    BATCH, CACHE_AWARE, CACHE_EFFICIENT, CFSE_FILES, CFSE_WEB, FILES, PENALTY, PINNING, UNBALANCED,
    WEB,
};

/// Every cell.
///
/// Table V of *Efficient Workstealing* gives misses as 29, 167K, 42K and 2K "per event",
/// beside rates at which eight cores have 98 000 cycles for an event at the most: that many
/// misses cannot be, and a thousandth of them fits both the rates and the text (an array
/// that fits in the cache has no misses without stealing). They are read as of a thousand
/// events.
///
/// What stands here as a range in a paper ("7 to 20 % under") is its middle; what "up to"
/// stands before is that. So the rows of `web` are from different numbers of clients: Mely
/// is up to 25 % over Libasync-smp without stealing and up to 73 % over it with stealing,
/// which takes up to 33 %.
pub const FIGURES: &[Figure] = &[
    cell(UNBALANCED, LibasyncSmpNoSteal, KiloEvents, 1310.0),
    cell(UNBALANCED, LibasyncSmpNoSteal, Locking, 0.93),
    cell(UNBALANCED, LibasyncSmp, KiloEvents, 122.0),
    cell(UNBALANCED, LibasyncSmp, Locking, 39.73),
    cell(UNBALANCED, LibasyncSmp, CyclesPerSteal, 28_329.0),
    cell(UNBALANCED, LibasyncSmp, StolenPerSteal, 484.0),
    cell(UNBALANCED, MelyNoSteal, KiloEvents, 1265.0),
    cell(UNBALANCED, MelyNoSteal, Locking, 0.89),
    cell(UNBALANCED, MelyBase, KiloEvents, 1195.0),
    cell(UNBALANCED, MelyBase, Locking, 1.42),
    cell(UNBALANCED, MelyBase, CyclesPerSteal, 2261.0),
    cell(UNBALANCED, MelyBase, StolenPerSteal, 445.0),
    cell(UNBALANCED, MelyTimeLeft, KiloEvents, 2042.0),
    cell(UNBALANCED, MelyTimeLeft, StolenPerSteal, 49_987.0),
    cell(PENALTY, LibasyncSmpNoSteal, KiloEvents, 1103.0),
    cell(PENALTY, LibasyncSmpNoSteal, MissesPerKiloEvent, 29.0),
    cell(PENALTY, LibasyncSmp, KiloEvents, 190.0),
    cell(PENALTY, LibasyncSmp, MissesPerKiloEvent, 167_000.0),
    cell(PENALTY, MelyBase, KiloEvents, 1386.0),
    cell(PENALTY, MelyBase, MissesPerKiloEvent, 42_000.0),
    cell(PENALTY, MelyPenalty, KiloEvents, 2122.0),
    cell(PENALTY, MelyPenalty, MissesPerKiloEvent, 2_000.0),
    cell(CACHE_EFFICIENT, LibasyncSmpNoSteal, KiloEvents, 1156.0),
    cell(CACHE_EFFICIENT, LibasyncSmpNoSteal, MissesPerEvent, 0.0),
    cell(CACHE_EFFICIENT, LibasyncSmp, KiloEvents, 1497.0),
    cell(CACHE_EFFICIENT, LibasyncSmp, MissesPerEvent, 13.0),
    cell(CACHE_EFFICIENT, MelyBase, KiloEvents, 1426.0),
    cell(CACHE_EFFICIENT, MelyBase, MissesPerEvent, 12.0),
    cell(CACHE_EFFICIENT, MelyLocality, KiloEvents, 1869.0),
    cell(CACHE_EFFICIENT, MelyLocality, MissesPerEvent, 2.0),
    cell(CACHE_AWARE, LibasyncSmp, Ratio, 1.27),
    cell(CACHE_AWARE, LibasyncSmp, MissPercent, 71.0),
    cell(CACHE_AWARE, CfseCache, Ratio, 1.62),
    cell(CACHE_AWARE, CfseCache, MissPercent, 44.0),
    cell(CACHE_AWARE, Cfse, Ratio, 1.76),
    cell(CACHE_AWARE, Cfse, MissPercent, 36.0),
    cell(BATCH, LibasyncSmpNoSteal, Locking, 1.2),
    cell(BATCH, LibasyncSmp, Ratio, 0.93),
    cell(BATCH, LibasyncSmp, Locking, 15.4),
    cell(BATCH, CfseBatch, Ratio, 1.10),
    cell(BATCH, CfseBatch, Locking, 5.1),
    cell(BATCH, Cfse, Ratio, 1.10),
    cell(BATCH, Cfse, Locking, 5.8),
    cell(PINNING, LibasyncSmp, Ratio, 0.91),
    cell(PINNING, CfsePinning, Ratio, 0.978),
    cell(PINNING, Cfse, Ratio, 1.02),
    cell(PINNING, LibasyncSmp, AcceptRatio, 0.915),
    cell(PINNING, CfsePinning, AcceptRatio, 1.016),
    cell(PINNING, Cfse, AcceptRatio, 1.024),
    cell(WEB, LibasyncSmp, Ratio, 0.67),
    cell(WEB, LibasyncSmp, CyclesPerSteal, 197_000.0),
    cell(WEB, LibasyncSmp, StolenPerSteal, 20_000.0),
    cell(WEB, MelyNoSteal, Ratio, 0.865),
    cell(WEB, Mely, Ratio, 1.25),
    cell(WEB, Mely, CyclesPerSteal, 6_000.0),
    cell(WEB, Mely, StolenPerSteal, 23_000.0),
    cell(CFSE_WEB, LibasyncSmp, Ratio, 0.915),
    cell(CFSE_WEB, Cfse, Ratio, 1.04),
    cell(FILES, LibasyncSmp, Ratio, 1.35),
    cell(FILES, LibasyncSmp, CyclesPerSteal, 4_800.0),
    cell(FILES, LibasyncSmp, StolenPerSteal, 1_200_000.0),
    cell(FILES, Mely, Ratio, 1.35),
    cell(CFSE_FILES, LibasyncSmp, Ratio, 1.30),
    cell(CFSE_FILES, Cfse, Ratio, 1.30 * 1.03),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_there_once() {
        for (place, one) in FIGURES.iter().enumerate() {
            let same = |other: &Figure| {
                (other.table, other.row, other.column) == (one.table, one.row, one.column)
            };
            assert_eq!(FIGURES.iter().position(same), Some(place), "{one:?}");
        }
    }

    #[test]
    fn what_the_papers_say_in_words_follows_from_their_cells() {
        let rate = |table, row| figure(table, row, KiloEvents).unwrap();
        let time_left = rate(UNBALANCED, MelyTimeLeft) / rate(UNBALANCED, MelyBase);
        assert!((time_left - 1.7).abs() < 0.02); // "+70 %"
        let penalty = rate(PENALTY, MelyPenalty) / rate(PENALTY, MelyBase);
        assert!((penalty - 1.53).abs() < 0.01); // "+53 %"
        assert_eq!(figure(UNBALANCED, Policy::Adaptive, KiloEvents), None);
    }
}
