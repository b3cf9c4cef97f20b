//! What the papers say of their workloads, where both a benchmark and a simulation take it.

/// `unbalanced` (*Efficient Workstealing*, section V-B).
pub mod unbalanced {
    use core::ops::RangeInclusive;

    /// Events of a round.
    pub const EVENTS: usize = 50_000;
    /// Of a hundred events so many are short.
    pub const SHORT_PERCENT: u32 = 98;
    /// What a short event takes.
    pub const SHORT_CYCLES: u32 = 100;
    /// What a long one takes.
    pub const LONG_CYCLES: RangeInclusive<u32> = 10_000..=50_000;
}

/// `penalty` (*Efficient Workstealing*, section V-B).
pub mod penalty {
    /// The annotation of events B.
    pub const PENALTY: u32 = 1000;
}

/// `cache-efficient` (*Efficient Workstealing*, section V-B).
pub mod cache_efficient {
    /// Events A of a loaded core in a round, each with an array.
    pub const ARRAYS: usize = 100;
}

/// `batch` (*Vol de tâches*, section 4.2.2).
pub mod batch {
    /// Concatenations of character strings in a handler.
    pub const CONCATENATIONS: usize = 50;
}
