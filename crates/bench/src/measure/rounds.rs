//! Workloads that run in rounds: when to begin to measure, and when to end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::outcome::Outcome;

/// This part of the measured time comes before it: caches, allocators and learned
/// costs are warm then.
const WARM_UP: u32 = 5;

/// Keeps the time of a run of rounds. The implementation says when a round ended.
#[derive(Debug)]
pub(crate) struct Rounds {
    time: Duration,
    outcome: Sender<Outcome>,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    since: Instant,
    warm: bool,
    events: u64,
}

impl Rounds {
    /// Rounds for `time` after a warm-up; the outcome comes through the receiver.
    pub(crate) fn new(time: Duration) -> (Arc<Self>, Receiver<Outcome>) {
        let (outcome, receiver) = channel();
        let progress = Mutex::new(Progress {
            since: Instant::now(),
            warm: false,
            events: 0,
        });
        let rounds = Self {
            time,
            outcome,
            progress,
        };
        (Arc::new(rounds), receiver)
    }

    /// A round of so many events has ended: whether another one shall begin.
    pub(crate) fn another(&self, events: u64) -> bool {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = progress.since.elapsed();
        if !progress.warm {
            if elapsed >= self.time / WARM_UP {
                progress.warm = true;
                progress.since = Instant::now();
            }
            return true;
        }
        progress.events += events;
        if elapsed < self.time {
            return true;
        }
        let outcome = Outcome::of(progress.events, elapsed);
        // Nobody listens any more only if the run was given up.
        self.outcome.send(outcome).ok();
        false
    }
}

/// How many times as long as was asked a workload is waited for that has not run a
/// single event: on a busy machine its threads may not have had a core yet.
const PATIENCE: u32 = 10_000;

/// Measures a workload that goes on by itself: `total` counts its events.
pub(crate) fn measure_steady(time: Duration, total: impl Fn() -> u64) -> Outcome {
    std::thread::sleep(time / WARM_UP);
    let (start, before) = (Instant::now(), total());
    for _ in 0..PATIENCE {
        std::thread::sleep(time);
        if total() > before {
            break;
        }
    }
    Outcome::of(total() - before, start.elapsed())
}
