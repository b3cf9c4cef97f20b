//! What the papers measured, for the rows that they have.
//!
//! On 8 cores (seed 000) and 4 (seed 002) of Xeons from 2008: only ratios to the run
//! without stealing compare with ours.

use super::workload::PaperWorkload;

/// A row of a paper.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Published {
    /// Thousands of events a second.
    pub(super) kilo_rate: Option<f64>,
    /// The rate, as a multiple of Libasync-smp's without stealing.
    pub(super) ratio: Option<f64>,
    pub(super) locking_percent: Option<f64>,
    pub(super) cycles_per_steal: Option<f64>,
    pub(super) stolen_cycles_per_steal: Option<f64>,
}

impl Published {
    /// Of a rate, on a workload on which Libasync-smp without stealing had `base`.
    fn rate(kilo_rate: f64, base: f64) -> Self {
        Self {
            kilo_rate: Some(kilo_rate),
            ratio: Some(kilo_rate / base),
            ..Self::default()
        }
    }

    fn ratio(ratio: f64) -> Self {
        Self {
            ratio: Some(ratio),
            ..Self::default()
        }
    }

    fn locking(self, percent: f64) -> Self {
        Self {
            locking_percent: Some(percent),
            ..self
        }
    }

    fn steals(self, cycles: f64) -> Self {
        Self {
            cycles_per_steal: Some(cycles),
            ..self
        }
    }

    fn stolen(self, cycles: f64) -> Self {
        Self {
            stolen_cycles_per_steal: Some(cycles),
            ..self
        }
    }
}

/// The row of a policy, by its name, if the papers have it.
pub(super) fn published(workload: PaperWorkload, policy: &str) -> Option<Published> {
    match workload {
        PaperWorkload::Unbalanced => unbalanced(policy),
        PaperWorkload::Penalty => by_rate(
            policy,
            &[
                ("libasync-smp-nosteal", 1103.0),
                ("libasync-smp", 190.0),
                ("mely-base", 1386.0),
                ("mely-penalty", 2122.0),
            ],
        ),
        PaperWorkload::CacheEfficient => by_rate(
            policy,
            &[
                ("libasync-smp-nosteal", 1156.0),
                ("libasync-smp", 1497.0),
                ("mely-base", 1426.0),
                ("mely-locality", 1869.0),
            ],
        ),
        PaperWorkload::CacheAware => match policy {
            "libasync-smp-nosteal" => Some(Published::ratio(1.0)),
            "libasync-smp" => Some(Published::ratio(1.27)),
            "cfse-cache" => Some(Published::ratio(1.62)),
            "cfse" => Some(Published::ratio(1.76)),
            _ => None,
        },
        PaperWorkload::Batch => match policy {
            "libasync-smp-nosteal" => Some(Published::ratio(1.0).locking(1.2)),
            "libasync-smp" => Some(Published::ratio(0.93).locking(15.4)),
            "cfse-batch" => Some(Published::ratio(1.10).locking(5.1)),
            // "Noticeably the same performance" as the batch heuristic alone.
            "cfse" => Some(Published::ratio(1.10).locking(5.8)),
            _ => None,
        },
        PaperWorkload::Pinning => match policy {
            "libasync-smp-nosteal" => Some(Published::ratio(1.0)),
            "libasync-smp" => Some(Published::ratio(0.91)),
            "cfse-pinning" => Some(Published::ratio(0.978)),
            "cfse" => Some(Published::ratio(1.02)),
            _ => None,
        },
    }
}

fn unbalanced(policy: &str) -> Option<Published> {
    let rate = |kilo_rate| Published::rate(kilo_rate, 1310.0);
    match policy {
        "libasync-smp-nosteal" => Some(rate(1310.0).locking(0.93)),
        "libasync-smp" => Some(rate(122.0).locking(39.73).steals(28_329.0).stolen(484.0)),
        "mely-nosteal" => Some(rate(1265.0).locking(0.89)),
        "mely-base" => Some(rate(1195.0).locking(1.42).steals(2261.0).stolen(445.0)),
        "mely-timeleft" => Some(rate(2042.0).stolen(49_987.0)),
        _ => None,
    }
}

/// The first row is the base of the ratios.
fn by_rate(policy: &str, rows: &[(&str, f64)]) -> Option<Published> {
    let (_, base) = rows.first()?;
    let (_, kilo_rate) = rows.iter().find(|(name, _)| *name == policy)?;
    Some(Published::rate(*kilo_rate, *base))
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

    #[test]
    fn the_papers_conclusions_follow_from_its_rows() {
        let ratio = |workload, policy| published(workload, policy).unwrap().ratio.unwrap();
        let time_left = ratio(PaperWorkload::Unbalanced, "mely-timeleft");
        let base = ratio(PaperWorkload::Unbalanced, "mely-base");
        assert!((time_left / base - 1.7).abs() < 0.02); // "+70 %"
        let penalty = ratio(PaperWorkload::Penalty, "mely-penalty");
        let base = ratio(PaperWorkload::Penalty, "mely-base");
        assert!((penalty / base - 1.53).abs() < 0.01); // "+53 %"
    }
}
