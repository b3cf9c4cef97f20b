//! The workloads, each for all implementations.

mod chains;
mod cross;
mod unbalanced;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;

use mely::{Policy, Runtime};

use crate::Outcome;
use crate::implementation::Implementation;

/// Why a run gave no figure. It names what could not be made or was lost.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is run, whoever runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum Workload {
    /// Rounds of 50 000 independent events from one worker, few of them long.
    U,
    /// 1000 keys, each posting 1000 events to itself.
    P,
    /// 1000 keys posting to random others, 8000 events in flight.
    X,
}

/// The conditions of a run, the same for all implementations.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Worker threads.
    pub workers: usize,
    /// How long is measured, after a warm-up.
    pub time: Duration,
}

impl Workload {
    /// Every workload.
    pub const ALL: [Workload; 3] = [Workload::U, Workload::P, Workload::X];

    /// Runs it once in this process. Runs wait for each other.
    ///
    /// # Errors
    ///
    /// If a runtime cannot be built, or ends before its work.
    pub fn run(self, implementation: Implementation, run: &Run) -> Result<Outcome, Failure> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        match (self, implementation) {
            (Workload::U, Implementation::Mely(policy)) => unbalanced::mely(policy, run),
            (Workload::U, Implementation::Tokio(_)) => unbalanced::tokio(run),
            (Workload::U, Implementation::Floor) => unbalanced::floor(run),
            (Workload::P, Implementation::Mely(policy)) => chains::mely(policy, run),
            (Workload::P, Implementation::Tokio(_)) => chains::tokio(run),
            (Workload::P, Implementation::Floor) => chains::floor(run),
            (Workload::X, Implementation::Mely(policy)) => cross::mely(policy, run),
            (Workload::X, Implementation::Tokio(_)) => cross::tokio(run),
            (Workload::X, Implementation::Floor) => cross::floor(run),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

fn mely_runtime(policy: Policy, run: &Run) -> Result<Runtime, Failure> {
    let builder = Runtime::builder().workers(run.workers).policy(policy);
    Ok(builder.build()?)
}

fn tokio_runtime(run: &Run) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Ok(builder.worker_threads(run.workers).build()?)
}

/// Runs rounds on plain threads: all do `work`, given their number; when all have
/// done it, one of them asks `another` whether to do it again.
fn in_step(threads: usize, work: impl Fn(usize) + Sync, another: impl Fn() -> bool + Sync) {
    let (barrier, go_on) = (Barrier::new(threads), AtomicBool::new(true));
    let (work, another, barrier, go_on) = (&work, &another, &barrier, &go_on);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                // Relaxed: the barriers order it.
                while go_on.load(Ordering::Relaxed) {
                    work(thread);
                    if barrier.wait().is_leader() {
                        go_on.store(another(), Ordering::Relaxed);
                    }
                    barrier.wait();
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_implementation_runs_every_workload() {
        let run = Run {
            workers: 2,
            time: Duration::from_millis(1),
        };
        for workload in Workload::ALL {
            for implementation in Implementation::DEFAULT {
                let outcome = workload.run(implementation, &run).unwrap();
                assert!(outcome.events > 0, "{workload} {implementation}");
            }
        }
    }
}
