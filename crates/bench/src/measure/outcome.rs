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
    /// What was measured besides, where the events are requests to a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// What a run of a service measured besides the rate.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Served {
    /// The CPU time of the process without that of its clients.
    pub cpu: Duration,
    /// Of all requests but one in a hundred, the longest wait for an answer.
    pub p99: Duration,
}

impl Outcome {
    /// So many events in such a time.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let outcome = mely_bench::Outcome::of(500, Duration::from_millis(250));
    /// assert_eq!(outcome.served, None);
    /// ```
    pub fn of(events: u64, time: Duration) -> Self {
        Self {
            events,
            time,
            served: None,
        }
    }

    /// Events per second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let outcome = mely_bench::Outcome::of(500, Duration::from_millis(250));
    /// assert_eq!(outcome.events_per_second(), 2000.0);
    /// ```
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 / self.time.as_secs_f64()
    }
}
