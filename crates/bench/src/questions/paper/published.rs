//! A row of what the papers measured (`mely-papers`), for those that they have.
//!
//! On 8 cores (*Efficient Workstealing*) and 4 (*Vol de tâches*) of Xeons from 2008: only
//! ratios to the run without stealing compare with ours.

use mely::Policy;
use mely_papers::{Column, figure};

use super::workload::PaperWorkload;

/// A row of a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Published {
    /// Thousands of events a second.
    pub(super) kilo_rate: Option<f64>,
    /// The rate, as a multiple of Libasync-smp's without stealing.
    pub(super) ratio: Option<f64>,
    pub(super) locking_percent: Option<f64>,
    pub(super) cycles_per_steal: Option<f64>,
    pub(super) stolen_cycles_per_steal: Option<f64>,
}

/// What ratios are to.
const BASE: Policy = Policy::LibasyncSmpNoSteal;

/// The row of a policy, by its name, if the papers have it.
pub(super) fn published(workload: PaperWorkload, policy: &str) -> Option<Published> {
    let policy: Policy = policy.parse().ok()?;
    let of = |row, column| figure(workload.name(), row, column);
    let kilo_rate = of(policy, Column::KiloEvents);
    let ratio = match policy {
        BASE => Some(1.0),
        _ => of(policy, Column::Ratio).or_else(|| Some(kilo_rate? / of(BASE, Column::KiloEvents)?)),
    };
    ratio.is_some().then(|| Published {
        kilo_rate,
        ratio,
        locking_percent: of(policy, Column::Locking),
        cycles_per_steal: of(policy, Column::CyclesPerSteal),
        stolen_cycles_per_steal: of(policy, Column::StolenPerSteal),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_has_the_ratio_one_everywhere() {
        for workload in PaperWorkload::ALL {
            let base = published(workload, "libasync-smp-nosteal").unwrap();
            assert_eq!(base.ratio, Some(1.0), "{workload}");
            assert_eq!(published(workload, "adaptive"), None);
        }
    }
}
