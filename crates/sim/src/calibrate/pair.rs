//! What two cores measure with each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mely::topology::pin_current_thread;

use super::chase::shuffled_ring;
use super::samples::{PATIENCE, median, ns, wait_until};
use crate::Error;

/// Links of one round of transfers: as many pages as the first level of address
/// translation holds, and less than every core's innermost cache.
const LINKS: usize = 64;
const ROUNDS: u32 = 300;

/// Wake-ups measured: some 50 ms of them.
const WAKES: u32 = 300;

/// A thread that waits is asleep after this: a futex wait takes a few microseconds.
const ASLEEP_AFTER: Duration = Duration::from_micros(100);

/// Acquisitions of the lock by each of two threads.
const ACQUISITIONS: u32 = 50_000;

/// Two CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) cpus: [usize; 2],
}

/// 4096 + 128 bytes less two lines apart.
struct Rest(#[expect(dead_code, reason = "only its size matters")] [u8; 4096 + 128 - 256]);

impl Default for Rest {
    fn default() -> Self {
        Self([0; 4096 + 128 - 256])
    }
}

/// A link of a list and the color of its event, on two lines. Each is on a page of
/// its own, as processors fetch ahead within a page, and a little farther than that
/// from the last, so that they do not all fall into one set of a cache.
#[derive(Default)]
#[repr(align(128))]
struct Link {
    next: Apart<AtomicU32>,
    color: Apart<AtomicU32>,
    _rest_of_page: Rest,
}

const _: () = assert!(size_of::<Link>() == 4096 + 128);

/// What a wake-up takes.
pub(super) struct Wake {
    /// Of the waker.
    pub(super) call_ns: f64,
    /// Until the sleeper runs.
    pub(super) latency_ns: f64,
}

/// A value on a pair of lines of its own: processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// Runs on a CPU, in a thread of its own.
pub(super) fn on_cpu<T: Send>(cpu: usize, run: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = scope.spawn(move || pinned(cpu, run));
        joined(thread.join())?
    })
}

fn pinned<T>(cpu: usize, run: impl FnOnce() -> T) -> Result<T, Error> {
    match pin_current_thread(cpu) {
        Ok(()) => Ok(run()),
        Err(source) => Err(Error::Calibration(format!("CPU {cpu}: {source}"))),
    }
}

fn joined<T>(result: thread::Result<T>) -> Result<T, Error> {
    result.map_err(|_| Error::Calibration("a measuring thread panicked".to_owned()))
}

impl Pair {
    /// Runs on both CPUs, and gives what the second returns. Each says whether the
    /// other answered in time.
    fn run<T: Send>(
        self,
        first: impl FnOnce() -> bool + Send,
        second: impl FnOnce() -> Option<T> + Send,
    ) -> Result<T, Error> {
        let [one, other] = self.cpus;
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(move || pinned(one, first));
            let second = scope.spawn(move || pinned(other, second));
            (first.join(), second.join())
        });
        match (joined(first)??, joined(second)??) {
            (true, Some(found)) => Ok(found),
            _ => Err(Error::Calibration(format!(
                "CPUs {one} and {other} did not answer each other within {} s: let \
                 both be free",
                PATIENCE.as_secs()
            ))),
        }
    }

    /// Fetching a line that the other core has modified.
    pub(super) fn transfer_ns(self) -> Result<f64, Error> {
        self.chase_written(false)
    }

    /// The same, and reading a color that the other has written, which does not keep
    /// the next link waiting.
    pub(super) fn list_link_ns(self) -> Result<f64, Error> {
        self.chase_written(true)
    }

    fn chase_written(self, with_color: bool) -> Result<f64, Error> {
        let links: Vec<Link> = (0..LINKS).map(|_| Link::default()).collect();
        let ring = shuffled_ring(LINKS);
        let written = Apart(AtomicU32::new(0));
        let read = Apart(AtomicU32::new(0));
        let (links, written, read) = (&links, &written.0, &read.0);
        let write = move || {
            (1..=ROUNDS).all(|round| {
                for (place, &next) in ring.iter().enumerate() {
                    // Relaxed: `written` below orders them.
                    links[place].next.0.store(next, Ordering::Relaxed);
                    links[place].color.0.store(next, Ordering::Relaxed);
                }
                // Release: the reader's acquire sees all lines written.
                written.store(round, Ordering::Release);
                wait_until(|| read.load(Ordering::Acquire) == round)
            })
        };
        let follow = move || {
            let mut samples = Vec::new();
            for round in 1..=ROUNDS {
                if !wait_until(|| written.load(Ordering::Acquire) == round) {
                    return None;
                }
                let (mut at, mut sum) = (0, 0_u32);
                let start = Instant::now();
                for _ in 0..LINKS {
                    // Relaxed: ordered by `written`.
                    at = links[at].next.0.load(Ordering::Relaxed) as usize;
                    if with_color {
                        sum = sum.wrapping_add(links[at].color.0.load(Ordering::Relaxed));
                    }
                }
                let time = start.elapsed();
                std::hint::black_box((at, sum));
                samples.push(ns(time) / LINKS as f64);
                // Release: the writer's acquire waits for the end of the round.
                read.store(round, Ordering::Release);
            }
            Some(median(samples))
        };
        self.run(write, follow)
    }

    pub(super) fn lock_handover_ns(self) -> Result<f64, Error> {
        struct Held {
            by: usize,
            /// When the last holder was about to release it.
            until: Instant,
            samples: Vec<f64>,
        }
        let lock = Mutex::new(Held {
            by: 0,
            until: Instant::now(),
            samples: Vec::new(),
        });
        let started = Apart(AtomicU32::new(0));
        let contend = |me: usize| {
            // AcqRel and Acquire: nothing else is handed over, both just begin.
            started.0.fetch_add(1, Ordering::AcqRel);
            if !wait_until(|| started.0.load(Ordering::Acquire) == 2) {
                return false;
            }
            for _ in 0..ACQUISITIONS {
                let mut held = lock.lock().unwrap_or_else(|poison| poison.into_inner());
                let now = Instant::now();
                if held.by != me {
                    let waited = ns(now.duration_since(held.until));
                    held.samples.push(waited);
                    held.by = me;
                }
                held.until = Instant::now();
            }
            true
        };
        self.run(|| contend(0), || contend(1).then_some(()))?;
        let held = lock
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        Ok((median(held.samples) - clock_ns()).max(1.0))
    }

    /// Waking a thread that sleeps on the other core.
    pub(super) fn wake(self) -> Result<Wake, Error> {
        let sleeps = Apart(AtomicU32::new(0));
        let woken_ns = Apart(AtomicU64::new(0));
        let call = Apart(AtomicU32::new(0));
        let sleeper = Mutex::new(None);
        let begin = Instant::now();
        let calls = Mutex::new((Vec::new(), Vec::new()));
        let sleep = || {
            set(&sleeper, thread::current());
            (1..=WAKES).all(|round| {
                // Release and Acquire, here and below: who reads the round also sees
                // what the other wrote before.
                sleeps.0.store(round, Ordering::Release);
                let start = Instant::now();
                while call.0.load(Ordering::Acquire) < round {
                    thread::park_timeout(PATIENCE);
                    if start.elapsed() > PATIENCE {
                        return false;
                    }
                }
                let now = begin.elapsed().as_nanos() as u64;
                woken_ns.0.store(now.max(1), Ordering::Release);
                true
            })
        };
        let wake = || {
            for round in 1..=WAKES {
                let asleep = wait_until(|| sleeps.0.load(Ordering::Acquire) == round);
                let thread = sleeper.lock().ok()?.clone()?;
                let start = Instant::now();
                while start.elapsed() < ASLEEP_AFTER {}
                // Relaxed: the sleeper writes it after it has seen `call`.
                woken_ns.0.store(0, Ordering::Relaxed);
                let before = begin.elapsed();
                call.0.store(round, Ordering::Release);
                thread.unpark();
                let after = begin.elapsed();
                let awake = wait_until(|| woken_ns.0.load(Ordering::Acquire) != 0);
                if !asleep || !awake {
                    return None;
                }
                let woken = Duration::from_nanos(woken_ns.0.load(Ordering::Acquire));
                let mut calls = calls.lock().ok()?;
                calls.0.push(ns(after - before));
                calls.1.push(ns(woken.saturating_sub(before)));
            }
            Some(())
        };
        self.run(sleep, wake)?;
        let (calls, latencies) = calls.into_inner().unwrap_or_default();
        Ok(Wake {
            call_ns: (median(calls) - clock_ns()).max(1.0),
            latency_ns: (median(latencies) - clock_ns()).max(1.0),
        })
    }
}

fn set<T>(slot: &Mutex<Option<T>>, value: T) {
    let mut slot = slot.lock().unwrap_or_else(|poison| poison.into_inner());
    *slot = Some(value);
}

/// What reading the clock takes, which every short measurement holds once.
fn clock_ns() -> f64 {
    const TIMES: u32 = 10_000;
    let start = Instant::now();
    for _ in 0..TIMES {
        std::hint::black_box(Instant::now());
    }
    ns(start.elapsed()) / f64::from(TIMES)
}
