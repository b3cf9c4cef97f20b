//! From one core to hundreds: what a workload gains by them, under each policy.
//!
//! | file | what |
//! |---|---|
//! | `unbalanced`, `penalty`, `cache_efficient` | the microbenchmarks of *Efficient Workstealing*, sized for many cores |
//! | `web` | the web server's handler graph |
//! | `measure` | running one |
//! | `curves` | a picture of the figures |

mod cache_efficient;
mod curves;
mod measure;
mod penalty;
mod unbalanced;
mod web;

use std::fmt;

use clap::ValueEnum;

pub use curves::draw;
pub use measure::{Point, Size, measure};

use self::measure::Program;
use crate::Error;
use crate::engine::Simulation;

/// What runs on more and more cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Rounds of short and long events that are all posted on one core.
    Unbalanced,
    /// Chains of events that walk through arrays, all begun on one core.
    Penalty,
    /// Merge sorts, forked on every second core.
    CacheEfficient,
    /// The web server, with clients that wait for each answer.
    Web,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] = [
        Workload::Unbalanced,
        Workload::Penalty,
        Workload::CacheEfficient,
        Workload::Web,
    ];

    /// The name, as `--workload` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Workload::Unbalanced => "unbalanced",
            Workload::Penalty => "penalty",
            Workload::CacheEfficient => "cache-efficient",
            Workload::Web => "web",
        }
    }

    /// What its rate is of.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Workload::Web => "requests/s",
            _ => "events/s",
        }
    }

    fn begin(self, simulation: &Simulation, size: Size) -> Result<Program, Error> {
        match self {
            Workload::Unbalanced => unbalanced::begin(simulation, size),
            Workload::Penalty => penalty::begin(simulation, size),
            Workload::CacheEfficient => cache_efficient::begin(simulation, size),
            Workload::Web => web::begin(simulation),
        }
    }

    /// The handlers whose events count.
    fn counted(self) -> &'static [&'static str] {
        match self {
            Workload::Unbalanced => unbalanced::COUNTED,
            Workload::Penalty => penalty::COUNTED,
            Workload::CacheEfficient => cache_efficient::COUNTED,
            Workload::Web => web::COUNTED,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What each core of a point does, as a share of what a core does on the smallest
/// machine of `points` with the same workload and policy; none if that does nothing.
pub fn efficiency<'a>(point: &Point, points: impl Iterator<Item = &'a Point>) -> Option<f64> {
    let of_kind = |other: &&Point| (other.workload, other.policy) == (point.workload, point.policy);
    let least = points.filter(of_kind).min_by_key(|other| other.cores)?;
    let each = |point: &Point| point.per_second / point.cores as f64;
    (each(least) > 0.0).then(|| each(point) / each(least))
}
