//! Whether the cores are as fast as they can be, all at once.
//!
//! A guest of a virtual machine does not see who else runs on its cores: its two cores
//! may be two threads of a single one for some seconds, which halves what any program
//! does on them and shows in none of the kernel's counters. So the same dense work is
//! timed on all cores at once before and after each run; a run counts only if the work
//! took about as long as at the best of times.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use mely::topology::{allowed_cpus, pin_current_thread};

/// Steps of the work: 0.2 ms, long beside the start of a thread (0.05 ms) once the
/// threads wait for each other.
const STEPS: u32 = 150_000;

/// The fastest of so many tries counts: an interrupt spoils one.
const TRIES: usize = 5;

/// Two threads of one core take twice as long; noise is some percent.
const SLOWER_MAX: f64 = 1.2;

/// How often to look before the first run.
const LOOKS: usize = 25;

/// How long to wait at a time for free cores before a run.
const PAUSE: Duration = Duration::from_millis(100);

/// How often a benchmark waits, over all its runs: a minute. On a machine that is never
/// free it goes on then, and tells which runs were disturbed.
const PAUSES_MAX: u32 = 600;

/// Times the same work again and again.
pub(crate) struct Gauge {
    workers: usize,
    /// The shortest time seen.
    best: Duration,
    pauses_left: u32,
}

impl Gauge {
    /// A gauge of as many cores as a benchmark uses, which knows nothing yet.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers: workers.min(allowed_cpus().len()).max(1),
            best: Duration::MAX,
            pauses_left: PAUSES_MAX,
        }
    }

    /// Learns what "as fast as they can" means: neighbours come and go within seconds.
    pub(crate) fn learn(&mut self) {
        for _ in 0..LOOKS {
            self.is_free();
            thread::sleep(PAUSE);
        }
    }

    /// Whether the cores are as fast as at the best of times, now.
    pub(crate) fn is_free(&mut self) -> bool {
        let now = time_on_all(self.workers);
        self.best = self.best.min(now);
        now.as_secs_f64() <= self.best.as_secs_f64() * SLOWER_MAX
    }

    /// Waits for that a while; goes on in any case.
    pub(crate) fn wait_until_free(&mut self) {
        while self.pauses_left > 0 && !self.is_free() {
            self.pauses_left -= 1;
            thread::sleep(PAUSE);
        }
    }
}

/// How long the work takes on the slowest of so many cores that do it together.
fn time_on_all(workers: usize) -> Duration {
    let together = Barrier::new(workers);
    let time = |cpu: usize| {
        // Unpinned is good enough where pinning is not allowed.
        drop(pin_current_thread(cpu));
        let time_once = |_| {
            together.wait();
            let start = Instant::now();
            dense_work();
            start.elapsed()
        };
        (0..TRIES).map(time_once).min().unwrap_or_default()
    };
    thread::scope(|scope| {
        let cpus: Vec<usize> = allowed_cpus().iter().take(workers).collect();
        let timed: Vec<_> = cpus
            .into_iter()
            .map(|cpu| scope.spawn(move || time(cpu)))
            .collect();
        let ended = timed
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default());
        ended.max().unwrap_or_default()
    })
}

/// Four chains that do not wait for each other keep a whole core busy: a second thread
/// on the same core finds little left.
fn dense_work() {
    let mut values = black_box([1_u64, 2, 3, 4]);
    for _ in 0..STEPS {
        for value in &mut values {
            *value = (*value ^ (*value >> 29)).wrapping_mul(6_364_136_223_846_793_005);
        }
    }
    black_box(values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_times_is_free() {
        let mut gauge = Gauge::new(1);
        gauge.best = Duration::MAX;
        assert!(gauge.is_free(), "there is nothing to compare with");
        gauge.best = Duration::from_nanos(1);
        assert!(!gauge.is_free(), "no core does the work in a nanosecond");
    }
}
