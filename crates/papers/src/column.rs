//! The columns of the papers' tables.

/// A column of the papers' tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Thousands of events a second.
    KiloEvents,
    /// The rate, as a multiple of that of Libasync-smp without stealing.
    Ratio,
    /// Accepted connections, as a multiple of the same.
    AcceptRatio,
    /// The part of the time that goes to locks.
    Locking,
    /// What a steal takes.
    CyclesPerSteal,
    /// What running takes that a steal brings.
    StolenPerSteal,
    /// Misses of level 2 for an event.
    MissesPerEvent,
    /// The same for a thousand events.
    MissesPerKiloEvent,
    /// Misses of level 2 among its accesses.
    MissPercent,
}

impl Column {
    /// Every column, in the order of the tables.
    pub const ALL: [Column; 9] = [
        Column::KiloEvents,
        Column::Ratio,
        Column::AcceptRatio,
        Column::Locking,
        Column::CyclesPerSteal,
        Column::StolenPerSteal,
        Column::MissesPerEvent,
        Column::MissesPerKiloEvent,
        Column::MissPercent,
    ];

    /// The name, with its unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Column::KiloEvents => "Kevents/s",
            Column::Ratio => "rate/nosteal",
            Column::AcceptRatio => "accepts/nosteal",
            Column::Locking => "locking %",
            Column::CyclesPerSteal => "cycles/steal",
            Column::StolenPerSteal => "stolen cycles/steal",
            Column::MissesPerEvent => "L2 misses/event",
            Column::MissesPerKiloEvent => "L2 misses/1000 events",
            Column::MissPercent => "L2 miss %",
        }
    }
}
