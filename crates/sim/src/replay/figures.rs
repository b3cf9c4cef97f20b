//! What a run comes to.

use serde::Serialize;

/// How long events waited, from their post until they ran, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// The mean.
    #[serde(rename = "mean_seconds")]
    pub mean: f64,
    /// Half of the events waited no longer.
    #[serde(rename = "p50_seconds")]
    pub p50: f64,
    /// Of a hundred events, one waited longer.
    #[serde(rename = "p99_seconds")]
    pub p99: f64,
}

impl Delays {
    /// Of all events.
    ///
    /// ```
    /// use mely_sim::replay::Delays;
    ///
    /// let delays = Delays::of((1..=100).rev().map(f64::from).collect());
    /// assert_eq!((delays.mean, delays.p50, delays.p99), (50.5, 50.0, 99.0));
    /// ```
    #[must_use]
    pub fn of(mut delays: Vec<f64>) -> Self {
        delays.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * delays.len() as f64).ceil() as usize;
            delays.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self {
            mean: delays.iter().sum::<f64>() / delays.len().max(1) as f64,
            p50: quantile(0.5),
            p99: quantile(0.99),
        }
    }
}

/// What a run comes to, recorded or simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Events that ran.
    pub events: u64,
    /// From the first arrival to the end of the last event.
    pub seconds: f64,
    /// How long events waited.
    pub delays: Delays,
    /// The share of that time for which each core was in handlers.
    pub utilisation: Vec<f64>,
}

impl Figures {
    /// Events in a second; 0 if there was no time.
    #[must_use]
    pub fn events_per_second(&self) -> f64 {
        match self.seconds > 0.0 {
            true => self.events as f64 / self.seconds,
            false => 0.0,
        }
    }

    /// Over all cores.
    #[must_use]
    pub fn mean_utilisation(&self) -> f64 {
        self.utilisation.iter().sum::<f64>() / self.utilisation.len().max(1) as f64
    }
}
