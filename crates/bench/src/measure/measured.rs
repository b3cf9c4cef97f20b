//! What a run measured, from what the runtime itself counted.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mely::{Handle, Snapshot};

use super::outcome::Failure;
use super::report::Row;

/// This part of the measured time comes before it: caches, allocators and learned
/// costs are warm then.
const WARM_UP: u32 = 5;

/// The quantities beside the rate.
pub(crate) mod unit {
    pub(crate) const LOCKING: &str = "locking %";
    pub(crate) const STEALS: &str = "steals/s";
    pub(crate) const CYCLES_PER_STEAL: &str = "cycles/steal";
    pub(crate) const STOLEN_PER_STEAL: &str = "stolen cycles/steal";
}

/// The columns of the papers' tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Events a second of the handlers that the workload counts.
    pub(crate) rate: f64,
    /// The part of all workers' time that went to waiting for locked queues and to
    /// operations on them.
    pub(crate) locking_percent: f64,
    /// Successful steals a second, over all workers.
    pub(crate) steals_per_second: f64,
    /// What a steal took; `None` where there was none.
    pub(crate) cycles_per_steal: Option<f64>,
    /// What running takes that a steal brought; `None` where there was none.
    pub(crate) stolen_cycles_per_steal: Option<f64>,
}

impl Measured {
    /// A row for each quantity that at least one run has; rates are in `rate_unit`.
    pub(crate) fn rows(
        bench: &'static str,
        workload: &str,
        implementation: &str,
        rate_unit: &'static str,
        runs: &[Self],
    ) -> Vec<Row> {
        let quantity = |unit, of: fn(&Measured) -> Option<f64>| {
            let figures = runs.iter().filter_map(of).collect();
            let (workload, implementation) = (workload.to_owned(), implementation.to_owned());
            Row::of(bench, workload, implementation, unit, figures)
        };
        let rows = [
            quantity(rate_unit, |m| Some(m.rate)),
            quantity(unit::LOCKING, |m| Some(m.locking_percent)),
            quantity(unit::STEALS, |m| Some(m.steals_per_second)),
            quantity(unit::CYCLES_PER_STEAL, |m| m.cycles_per_steal),
            quantity(unit::STOLEN_PER_STEAL, |m| m.stolen_cycles_per_steal),
        ];
        rows.into_iter().flatten().collect()
    }

    /// What came between two snapshots of a runtime. `counted` names the handlers
    /// whose events are the workload's.
    fn between(before: &Snapshot, after: &Snapshot, time: Duration, counted: &[&str]) -> Self {
        let seconds = time.as_secs_f64();
        let events = |snapshot: &Snapshot| -> u64 {
            let handlers = counted.iter().filter_map(|name| snapshot.handler(name));
            handlers.map(|handler| handler.events).sum()
        };
        let more = |count: fn(&mely::WorkerMetrics) -> u64| {
            after.total(count).saturating_sub(before.total(count)) as f64
        };
        let steals = more(|w| w.steals);
        let per_steal = |cycles: f64| (steals > 0.0).then(|| cycles / steals);
        let available_cycles = seconds * after.cycles_per_second * after.workers.len() as f64;
        let locking = more(|w| w.lock_wait_cycles + w.lock_cycles);
        Self {
            rate: events(after).saturating_sub(events(before)) as f64 / seconds,
            locking_percent: 100.0 * locking / available_cycles,
            steals_per_second: steals / seconds,
            cycles_per_steal: per_steal(more(|w| w.steal_cycles)),
            stolen_cycles_per_steal: per_steal(more(|w| w.stolen_cost_cycles)),
        }
    }
}

/// When to begin to measure, and when to end. A workload asks between two of its
/// rounds, so that whole rounds are measured.
pub(crate) struct Window {
    time: Duration,
    counted: &'static [&'static str],
    progress: Mutex<Progress>,
    done: Sender<Result<Measured, Failure>>,
}

struct Progress {
    since: Instant,
    /// `None` while the workload warms up.
    before: Option<Snapshot>,
}

/// Where the result of a run comes from.
pub(crate) struct Outcome(Receiver<Result<Measured, Failure>>);

impl Window {
    /// A window of `time` after a warm-up, on the events of the handlers `counted`.
    pub(crate) fn new(time: Duration, counted: &'static [&'static str]) -> (Arc<Self>, Outcome) {
        let (done, outcome) = channel();
        let progress = Mutex::new(Progress {
            since: Instant::now(),
            before: None,
        });
        let window = Self {
            time,
            counted,
            progress,
            done,
        };
        (Arc::new(window), Outcome(outcome))
    }

    /// A round has ended: whether another one shall begin.
    pub(crate) fn another(&self, handle: &Handle) -> bool {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = progress.since.elapsed();
        let Some(before) = &progress.before else {
            if elapsed >= self.time / WARM_UP {
                progress.before = Some(handle.metrics());
                progress.since = Instant::now();
            }
            return true;
        };
        if elapsed < self.time {
            return true;
        }
        let measured = Measured::between(before, &handle.metrics(), elapsed, self.counted);
        self.end(Ok(measured));
        false
    }

    /// The workload cannot go on.
    pub(crate) fn fail(&self, failure: Failure) {
        self.end(Err(failure));
    }

    fn end(&self, result: Result<Measured, Failure>) {
        // Nobody listens any more once there is a first result.
        self.done.send(result).ok();
    }
}

impl Outcome {
    /// Waits for the end of the window.
    pub(crate) fn wait(self) -> Result<Measured, Failure> {
        self.0.recv()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "measured::tests::Work";
    static WORK: mely::Handler = mely::Handler::new(NAME);

    #[test]
    fn whole_rounds_are_measured() {
        let rt = mely::Runtime::builder().workers(1).build().unwrap();
        let (window, outcome) = Window::new(Duration::from_millis(1), &[NAME]);
        let color = rt.new_color();
        let mut rounds = 0;
        loop {
            (0..100).for_each(|_| color.with_handler(&WORK).post_or_shed(|_, _| ()));
            rt.wait_idle();
            rounds += 1;
            if !window.another(&rt) {
                break;
            }
        }
        let measured = outcome.wait().unwrap();
        assert!(measured.rate > 0.0 && rounds > 1, "{measured:?}");
        assert_eq!(measured.steals_per_second, 0.0);
        assert_eq!(measured.cycles_per_steal, None);
    }

    #[test]
    fn a_failure_ends_the_wait() {
        let (window, outcome) = Window::new(Duration::from_secs(1), &[]);
        window.fail("the network is down".into());
        let failure = outcome.wait().unwrap_err();
        assert_eq!(failure.to_string(), "the network is down");
    }
}
