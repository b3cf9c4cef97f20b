//! What the papers measured, cell by cell.

use crate::mely::Policy;
use crate::paper::{Column, Table};

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
    /// Whether the simulation was calibrated on it.
    pub calibrated: bool,
}

const fn calibrated(table: Table, row: Policy, column: Column, value: f64) -> Published {
    Published {
        table,
        row,
        column,
        value,
        calibrated: true,
    }
}

const fn predicted(table: Table, row: Policy, column: Column, value: f64) -> Published {
    Published {
        calibrated: false,
        ..calibrated(table, row, column, value)
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
use Table::{
    Batch, CacheAware, CacheEfficient, CfseFiles, CfseWeb, Files, Penalty, Pinning, Unbalanced, Web,
};

/// Every cell.
///
/// Table V of seed 000 gives misses as 29, 167K, 42K and 2K "per event", beside rates at
/// which eight cores have 98 000 cycles for an event at the most: that many misses cannot
/// be, and a thousandth of them fits both the rates and the text (an array that fits in
/// the cache has no misses without stealing). They are read as of a thousand events.
///
/// What stands here as a range in a paper ("7 to 20 % under") is its middle.
pub const CELLS: &[Published] = &[
    calibrated(Unbalanced, LibasyncSmpNoSteal, KiloEvents, 1310.0),
    calibrated(Unbalanced, LibasyncSmpNoSteal, Locking, 0.93),
    predicted(Unbalanced, LibasyncSmp, KiloEvents, 122.0),
    predicted(Unbalanced, LibasyncSmp, Locking, 39.73),
    predicted(Unbalanced, LibasyncSmp, CyclesPerSteal, 28_329.0),
    predicted(Unbalanced, LibasyncSmp, StolenPerSteal, 484.0),
    calibrated(Unbalanced, MelyNoSteal, KiloEvents, 1265.0),
    calibrated(Unbalanced, MelyNoSteal, Locking, 0.89),
    predicted(Unbalanced, MelyBase, KiloEvents, 1195.0),
    predicted(Unbalanced, MelyBase, Locking, 1.42),
    predicted(Unbalanced, MelyBase, CyclesPerSteal, 2261.0),
    predicted(Unbalanced, MelyBase, StolenPerSteal, 445.0),
    predicted(Unbalanced, MelyTimeLeft, KiloEvents, 2042.0),
    predicted(Unbalanced, MelyTimeLeft, StolenPerSteal, 49_987.0),
    calibrated(Penalty, LibasyncSmpNoSteal, KiloEvents, 1103.0),
    calibrated(Penalty, LibasyncSmpNoSteal, MissesPerKiloEvent, 29.0),
    predicted(Penalty, LibasyncSmp, KiloEvents, 190.0),
    predicted(Penalty, LibasyncSmp, MissesPerKiloEvent, 167_000.0),
    predicted(Penalty, MelyBase, KiloEvents, 1386.0),
    predicted(Penalty, MelyBase, MissesPerKiloEvent, 42_000.0),
    predicted(Penalty, MelyPenalty, KiloEvents, 2122.0),
    predicted(Penalty, MelyPenalty, MissesPerKiloEvent, 2_000.0),
    calibrated(CacheEfficient, LibasyncSmpNoSteal, KiloEvents, 1156.0),
    calibrated(CacheEfficient, LibasyncSmpNoSteal, MissesPerEvent, 0.0),
    predicted(CacheEfficient, LibasyncSmp, KiloEvents, 1497.0),
    predicted(CacheEfficient, LibasyncSmp, MissesPerEvent, 13.0),
    predicted(CacheEfficient, MelyBase, KiloEvents, 1426.0),
    predicted(CacheEfficient, MelyBase, MissesPerEvent, 12.0),
    predicted(CacheEfficient, MelyLocality, KiloEvents, 1869.0),
    predicted(CacheEfficient, MelyLocality, MissesPerEvent, 2.0),
    predicted(CacheAware, LibasyncSmp, Ratio, 1.27),
    predicted(CacheAware, LibasyncSmp, MissPercent, 71.0),
    predicted(CacheAware, CfseCache, Ratio, 1.62),
    predicted(CacheAware, CfseCache, MissPercent, 44.0),
    predicted(CacheAware, Cfse, Ratio, 1.76),
    predicted(CacheAware, Cfse, MissPercent, 36.0),
    predicted(Batch, LibasyncSmpNoSteal, Locking, 1.2),
    predicted(Batch, LibasyncSmp, Ratio, 0.93),
    predicted(Batch, LibasyncSmp, Locking, 15.4),
    predicted(Batch, CfseBatch, Ratio, 1.10),
    predicted(Batch, CfseBatch, Locking, 5.1),
    predicted(Batch, Cfse, Ratio, 1.10),
    predicted(Batch, Cfse, Locking, 5.8),
    predicted(Pinning, LibasyncSmp, Ratio, 0.91),
    predicted(Pinning, CfsePinning, Ratio, 0.978),
    predicted(Pinning, Cfse, Ratio, 1.02),
    predicted(Pinning, LibasyncSmp, AcceptRatio, 0.915),
    predicted(Pinning, CfsePinning, AcceptRatio, 1.016),
    predicted(Pinning, Cfse, AcceptRatio, 1.024),
    predicted(Web, LibasyncSmp, Ratio, 1.25 / 1.73),
    predicted(Web, LibasyncSmp, CyclesPerSteal, 197_000.0),
    predicted(Web, LibasyncSmp, StolenPerSteal, 20_000.0),
    predicted(Web, MelyNoSteal, Ratio, 0.865),
    predicted(Web, Mely, Ratio, 1.25),
    predicted(Web, Mely, CyclesPerSteal, 6_000.0),
    predicted(Web, Mely, StolenPerSteal, 23_000.0),
    predicted(CfseWeb, LibasyncSmp, Ratio, 0.915),
    predicted(CfseWeb, Cfse, Ratio, 1.04),
    predicted(Files, LibasyncSmp, Ratio, 1.35),
    predicted(Files, LibasyncSmp, CyclesPerSteal, 4_800.0),
    predicted(Files, LibasyncSmp, StolenPerSteal, 1_200_000.0),
    predicted(Files, Mely, Ratio, 1.35),
    predicted(CfseFiles, LibasyncSmp, Ratio, 1.30),
    predicted(CfseFiles, Cfse, Ratio, 1.30 * 1.03),
];
