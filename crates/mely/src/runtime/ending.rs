//! The end of a runtime.
//!
//! Workers end by themselves once the runtime has stopped, and the last one ends what is
//! left ([`Shared::end`]): so nothing is taken away while a handler that does not return
//! still works on it. Whoever shuts down only waits, and no longer than he wants.

use core::fmt;
use std::time::{Duration, Instant};

use crate::machine::sync::Arc;
use crate::runtime::metrics::Snapshot;
use crate::runtime::monitor::Monitor;
use crate::runtime::threads::Thread;
use crate::shared::{Phase, Shared};
use crate::trace::TraceReport;
use crate::worker;

/// How often a shutdown looks whether all events have run.
pub(crate) const DRAIN_POLL: Duration = Duration::from_micros(200);

/// Workers that return at once still get this long when the deadline has passed.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// What a worker is said to be held by if it runs no handler.
const DESTRUCTORS: &str = "(destructors of what was left)";

/// What a runtime did until its end, and what it could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Events that were run, in all.
    pub events_run: u64,
    /// Events that were dropped because the deadline passed, by handler.
    pub abandoned: Vec<(&'static str, u64)>,
    /// Workers whose handler did not return, with the handler.
    pub held: Vec<(usize, &'static str)>,
    /// What was recorded, if the runtime was built with a
    /// [`trace`](crate::Builder::trace).
    pub trace: Option<Box<TraceReport>>,
}

/// A shutdown that could not run everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownError {
    /// What was done and what not.
    pub report: ShutdownReport,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: u64 = self.report.abandoned.iter().map(|(_, events)| events).sum();
        write!(f, "the deadline passed with {events} events not run")?;
        for (name, events) in &self.report.abandoned {
            write!(f, "; {events} of {name}")?;
        }
        for (worker, name) in &self.report.held {
            write!(f, "; worker {worker} is still held by {name}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}

/// A runtime that is to end: its threads, taken from it.
pub(crate) struct Ending {
    shared: Arc<Shared>,
    threads: Vec<Thread>,
    monitor: Option<Monitor>,
}

impl Ending {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        threads: Vec<Thread>,
        monitor: Option<Monitor>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            threads,
            monitor,
        }
    }

    /// Ends the runtime, and waits until it has ended or the deadline has passed.
    pub(crate) fn run(self, deadline: Duration) -> Result<ShutdownReport, ShutdownError> {
        let deadline = Instant::now() + deadline.min(Duration::from_secs(u64::from(u32::MAX)));
        self.shared.enter(Phase::Draining);
        self.wait(deadline)
    }

    /// Ends a runtime that was dropped, if need be by one of its own workers: that cannot
    /// wait for itself, so another thread does.
    pub(crate) fn end_of_dropped(self, deadline: Duration) {
        let shared = Arc::clone(&self.shared);
        if !worker::with_current(&shared, |worker| worker.is_some()) {
            return drop(self.run(deadline));
        }
        let name = format!("{}-shutdown", shared.config.worker_name);
        let thread = std::thread::Builder::new().name(name);
        if thread.spawn(move || drop(self.run(deadline))).is_err() {
            // What is pending is dropped then.
            shared.enter(Phase::Stopped);
        }
    }

    /// The workers that have not ended, and what runs on them.
    fn stuck(&self) -> Vec<(usize, &'static str)> {
        let names = crate::event::handler::names();
        let threads = self.threads.iter().enumerate();
        let held = threads.filter(|(_, thread)| !thread.is_over());
        held.map(|(worker, _)| {
            let running = self.shared.remotes[worker].counts.running.get();
            let name = usize::try_from(running).ok().filter(|&at| at != 0);
            let name = name.and_then(|at| names.get(at)).copied();
            (worker, name.unwrap_or(DESTRUCTORS))
        })
        .collect()
    }

    fn wait(mut self, deadline: Instant) -> Result<ShutdownReport, ShutdownError> {
        let shared = Arc::clone(&self.shared);
        while !shared.is_quiescent() && Instant::now() < deadline {
            std::thread::sleep(DRAIN_POLL);
        }
        shared.enter(Phase::Stopped);
        shared.bell.end();
        let deadline = deadline.max(Instant::now() + LAST_MOMENT);
        let this = std::thread::current().id();
        let has_ended = |worker: &Thread| worker.is_over() || worker.id() == this;
        let monitor_ended = || self.monitor.as_ref().is_none_or(Monitor::has_ended);
        while !(self.threads.iter().all(has_ended) && monitor_ended()) && Instant::now() < deadline
        {
            std::thread::sleep(DRAIN_POLL);
        }
        let held = self.stuck();
        let over = self.threads.drain(..).filter(Thread::is_over);
        over.for_each(Thread::join);
        let trace = shared.recording();
        let trace = trace.and_then(|trace| trace.end(shared.clock.cycles(), deadline));
        let trace = trace.map(Box::new);
        report(&shared, held, trace)
    }
}

/// Begins the end of a runtime whose threads others have: lets nobody wait, and stops it at
/// the deadline. Whether it has not ended before.
pub(crate) fn begin(shared: &Arc<Shared>, deadline: Duration) -> bool {
    if shared.enter(Phase::Draining) > Phase::Running {
        return false;
    }
    let deadline = Instant::now() + deadline.min(Duration::from_secs(u64::from(u32::MAX)));
    let name = format!("{}-shutdown", shared.config.worker_name);
    let ending = Arc::clone(shared);
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        while !ending.is_quiescent() && Instant::now() < deadline && ending.phase() < Phase::Stopped
        {
            std::thread::sleep(DRAIN_POLL);
        }
        ending.enter(Phase::Stopped);
        ending.bell.end();
    });
    if thread.is_err() {
        // What is pending is dropped then.
        shared.enter(Phase::Stopped);
    }
    true
}

fn report(
    shared: &Shared,
    held: Vec<(usize, &'static str)>,
    trace: Option<Box<TraceReport>>,
) -> Result<ShutdownReport, ShutdownError> {
    let report = ShutdownReport {
        trace,
        events_run: Snapshot::of(shared).events.run,
        abandoned: shared.abandoned(),
        held,
    };
    match report.abandoned.is_empty() && report.held.is_empty() {
        true => Ok(report),
        false => Err(ShutdownError { report }),
    }
}
