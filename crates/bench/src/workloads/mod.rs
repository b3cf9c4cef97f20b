//! The workloads, each for all implementations.

pub(crate) mod chains;
mod cross;
mod keyed_rounds;
pub(crate) mod services;
pub(crate) mod staged;
mod unbalanced;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum as _;

use crate::contenders::elsewhere;
use crate::contenders::implementation::Implementation;
use crate::contenders::runtimes::services::{Service, has_services};
use crate::contenders::runtimes::{self, Conditions, Fresh, Job, Keyed};
use crate::measure::{Failure, Outcome, Run};

use self::services::{Asked, Version};
pub(crate) use self::unbalanced::{SHORT_CYCLES, costs, with_metrics};

/// Keys get so long to handle what is left for them at the end of a run. They need
/// milliseconds; what takes longer is lost.
const END_DEADLINE: Duration = Duration::from_secs(30);

/// What is run, whoever runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum Workload {
    /// Rounds of 50 000 independent events from one worker, few of them long.
    U,
    /// The same rounds, but each event goes to a long-lived key of its own.
    Uk,
    /// 1000 keys, each posting 1000 events to itself.
    P,
    /// The same, but a key lets the others run after each of its events.
    Py,
    /// 1000 keys posting to random others, 8000 events in flight.
    X,
    /// Requests over HTTP/1 that hyper answers at once, on 64 connections.
    #[value(name = "h1")]
    H1,
    /// The same, but each answer is the next value of a counter that all share.
    #[value(name = "h1c")]
    H1c,
    /// Requests over HTTP/2 that hyper answers at once, 8 at a time on 16 connections.
    #[value(name = "h2")]
    H2,
    /// The same, but each answer is the next value of a counter that all share.
    #[value(name = "h2c")]
    H2c,
    /// Requests over HTTP/1 that axum answers by such a counter, on 64 connections.
    #[value(name = "ax")]
    Ax,
}

/// A workload on a runtime of this process.
struct OnRuntime<'a> {
    workload: Workload,
    run: &'a Run,
}

impl Job for OnRuntime<'_> {
    type Output = Outcome;

    fn on<R: Keyed + Fresh + 'static>(self, runtime: &R) -> Result<Outcome, Failure> {
        match self.workload {
            Workload::U => runtime.unbalanced(self.run),
            Workload::Uk => keyed_rounds::keyed(runtime, self.run),
            Workload::P | Workload::Py => chains::keyed(runtime, self.run),
            Workload::X => cross::keyed(runtime, self.run),
            _ => Err("it is a service".into()),
        }
    }
}

impl Workload {
    /// Every workload.
    pub const ALL: [Workload; 10] = [
        Workload::U,
        Workload::Uk,
        Workload::P,
        Workload::Py,
        Workload::X,
        Workload::H1,
        Workload::H1c,
        Workload::H2,
        Workload::H2c,
        Workload::Ax,
    ];

    /// What clients ask, and whom, if it is a service.
    fn service(self) -> Option<Asked> {
        let (version, service) = match self {
            Workload::H1 => (Version::One, Service::Plain),
            Workload::H1c => (Version::One, Service::Counted),
            Workload::H2 => (Version::Two, Service::Plain),
            Workload::H2c => (Version::Two, Service::Counted),
            Workload::Ax => (Version::One, Service::Axum),
            _ => return None,
        };
        Some(Asked { version, service })
    }

    /// Whether there is such a workload for an implementation: services are for runtimes
    /// that hyper runs on.
    pub fn is_for(self, implementation: Implementation) -> bool {
        self.service().is_none() || has_services(implementation)
    }

    /// Runs it once in this process. Runs wait for each other.
    ///
    /// # Errors
    ///
    /// If a runtime cannot be built, ends before its work, or is not one of this
    /// process.
    pub fn run(self, implementation: Implementation, run: &Run) -> Result<Outcome, Failure> {
        let _alone = alone();
        if implementation == Implementation::Floor {
            return self.floor(run);
        }
        let conditions = Conditions {
            workers: run.workers,
            affinity: run.affinity,
            yields: self == Workload::Py,
        };
        if let Some(asked) = self.service() {
            return services::measure(implementation, conditions, asked, run.time);
        }
        let job = OnRuntime {
            workload: self,
            run,
        };
        runtimes::start(implementation, conditions, job)
            .unwrap_or_else(|| Err("it runs in a process of its own".into()))
    }

    /// Runs it once, where the implementation needs it: here, or in another process.
    pub(crate) fn measure(
        self,
        implementation: Implementation,
        run: &Run,
    ) -> Result<Outcome, Failure> {
        let Some(mut command) = elsewhere::command(implementation, "single")? else {
            return self.run(implementation, run);
        };
        command
            .arg("--json")
            .args(["--workload", &self.to_string()])
            .args(["--seconds", &run.time.as_secs_f64().to_string()])
            .args(["--workers", &run.workers.to_string()]);
        elsewhere::answer(&mut command, None)
    }

    fn floor(self, run: &Run) -> Result<Outcome, Failure> {
        match self {
            Workload::U => unbalanced::floor(run),
            Workload::Uk => keyed_rounds::floor(run),
            Workload::P => chains::floor(run, 1),
            Workload::Py => chains::floor(run, chains::KEYS),
            Workload::X => cross::floor(run),
            _ => Err("a service has no floor".into()),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => fmt::Debug::fmt(self, f),
        }
    }
}

/// Keeps other runs of this process, as of tests, from measuring at the same time.
pub(crate) fn alone() -> impl Drop {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the keys have let go of what they share: they have ended.
fn wait_for_end<T>(shared: &Arc<T>) -> Result<(), Failure> {
    let deadline = Instant::now() + END_DEADLINE;
    while Arc::strong_count(shared) > 1 {
        if Instant::now() > deadline {
            return Err("some keys have not run their last events".into());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
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
            affinity: mely::Affinity::default(),
            time: Duration::from_millis(1),
        };
        for implementation in Implementation::DEFAULT {
            if let Some(reason) = elsewhere::missing(implementation) {
                println!("skipped {implementation}: {reason}");
                continue;
            }
            for workload in Workload::ALL {
                if !workload.is_for(implementation) {
                    continue;
                }
                let outcome = workload.measure(implementation, &run);
                let outcome =
                    outcome.unwrap_or_else(|e| panic!("{workload} {implementation}: {e}"));
                assert!(outcome.events > 0, "{workload} {implementation}");
                let is_service = workload.service().is_some();
                assert_eq!(outcome.served.is_some(), is_service, "{workload}");
            }
        }
    }
}
