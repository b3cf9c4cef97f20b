//! The conditions of a run, and what comes out of it.

use std::time::Duration;

use mely::Affinity;

/// Why a run gave no figure. It names what could not be made or was lost.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The conditions of a run, the same for all implementations.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Worker threads.
    pub workers: usize,
    /// Where those of Mely run.
    pub affinity: Affinity,
    /// How long is measured, after a warm-up.
    pub time: Duration,
}

/// What a run measured.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// Events that were run.
    pub events: u64,
    /// In this time.
    pub time: Duration,
}

impl Outcome {
    /// Events per second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let outcome = mely_bench::Outcome { events: 500, time: Duration::from_millis(250) };
    /// assert_eq!(outcome.events_per_second(), 2000.0);
    /// ```
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 / self.time.as_secs_f64()
    }
}
