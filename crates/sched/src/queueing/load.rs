//! What comes to a station, and how long it takes there.

use super::Chance;
use crate::nanos::Nanos;

/// How long events take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// All the same.
    Fixed(Nanos),
    /// Exponentially distributed, with this mean.
    Exponential(Nanos),
    /// Some long and the others short, as with the queries of a Gnutella router.
    Mixed {
        /// The share of the long ones, 0 to 1.
        share: f64,
        /// How long they take.
        long: Nanos,
        /// How long the others take.
        short: Nanos,
    },
}

impl Service {
    /// How long events take in the mean.
    pub fn mean(self) -> Nanos {
        match self {
            Service::Fixed(time) | Service::Exponential(time) => time,
            Service::Mixed { share, long, short } => {
                Nanos::from_f64(share * long.as_f64() + (1.0 - share) * short.as_f64())
            }
        }
    }

    pub(super) fn time(self, chance: &mut Chance) -> Nanos {
        match self {
            Service::Fixed(time) => time,
            Service::Exponential(mean) => chance.exponential(mean),
            Service::Mixed { share, long, short } => match chance.unit() < share {
                true => long,
                false => short,
            },
        }
    }
}

/// A rate of arrivals for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// When it ends.
    pub until: Nanos,
    /// Events a second, at times that know nothing of each other (a Poisson process).
    pub rate: f64,
}
