//! The papers' microbenchmarks, by name.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use mely::Policy;

use super::{batch, cache_aware, cache_efficient, penalty, pinning, unbalanced};
use crate::measure::measured::Measured;
use crate::measure::{Failure, Run};

/// A microbenchmark of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaperWorkload {
    /// Rounds of 50 000 events on one core, 2 % of them long (Efficient Workstealing).
    Unbalanced,
    /// Chains of events that walk through an array (Efficient Workstealing).
    Penalty,
    /// Merge sorts, forked on one core of each pair (Efficient Workstealing).
    CacheEfficient,
    /// A pipeline of five handlers over an array of 80 KB (Vol de tâches).
    CacheAware,
    /// A pipeline of four light handlers and a counter (Vol de tâches).
    Batch,
    /// A server of one byte a connection, accepting on core 0 (Vol de tâches).
    Pinning,
}

impl PaperWorkload {
    /// Every workload, in the order of the papers.
    pub const ALL: [PaperWorkload; 6] = [
        PaperWorkload::Unbalanced,
        PaperWorkload::Penalty,
        PaperWorkload::CacheEfficient,
        PaperWorkload::CacheAware,
        PaperWorkload::Batch,
        PaperWorkload::Pinning,
    ];

    /// The name, as `--workload` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unbalanced => "unbalanced",
            Self::Penalty => "penalty",
            Self::CacheEfficient => "cache-efficient",
            Self::CacheAware => "cache-aware",
            Self::Batch => "batch",
            Self::Pinning => "pinning",
        }
    }

    /// What its rate is of.
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Pinning => "connections/s",
            _ => "events/s",
        }
    }

    /// Runs it once in this process. Runs wait for each other.
    pub(super) fn run(self, policy: Policy, run: &Run) -> Result<Measured, Failure> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        match self {
            Self::Unbalanced => unbalanced::run(policy, run),
            Self::Penalty => penalty::run(policy, run),
            Self::CacheEfficient => cache_efficient::run(policy, run),
            Self::CacheAware => cache_aware::run(policy, run),
            Self::Batch => batch::run(policy, run),
            Self::Pinning => pinning::run(policy, run),
        }
    }
}

impl fmt::Display for PaperWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for workload in PaperWorkload::ALL {
            let value = workload.to_possible_value().unwrap();
            assert_eq!(value.get_name(), workload.name());
        }
    }

    fn every_policy_runs(workload: PaperWorkload) {
        let run = Run {
            workers: 2,
            affinity: mely::Affinity::default(),
            time: Duration::from_millis(2),
        };
        for policy in Policy::ALL {
            let measured = workload.run(policy, &run).unwrap();
            assert!(measured.rate > 0.0, "{workload} {policy} {measured:?}");
            if !policy.heuristics().steal {
                assert_eq!(measured.cycles_per_steal, None, "{workload} {policy}");
            }
        }
    }

    #[test]
    fn every_policy_runs_unbalanced() {
        every_policy_runs(PaperWorkload::Unbalanced);
    }

    #[test]
    fn every_policy_runs_penalty() {
        every_policy_runs(PaperWorkload::Penalty);
    }

    #[test]
    fn every_policy_runs_cache_efficient() {
        every_policy_runs(PaperWorkload::CacheEfficient);
    }

    #[test]
    fn every_policy_runs_cache_aware() {
        every_policy_runs(PaperWorkload::CacheAware);
    }

    #[test]
    fn every_policy_runs_batch() {
        every_policy_runs(PaperWorkload::Batch);
    }

    #[test]
    fn every_policy_runs_pinning() {
        every_policy_runs(PaperWorkload::Pinning);
    }
}
