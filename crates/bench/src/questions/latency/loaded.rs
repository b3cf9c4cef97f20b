//! Events of two lengths, as many as fill half of the workers' time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mely::Handler;

use super::{Latencies, no_latencies};
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::random::Random;
use crate::measure::spin::spin;
use crate::measure::tally;
use crate::measure::{Failure, Run};
use crate::workloads::{SHORT_CYCLES, costs};

static SHORT: Handler = Handler::new("bench::load_short");
static LONG: Handler = Handler::new("bench::load_long");

/// Keys that events go to, at random.
const KEYS: u32 = 1000;

/// Events are so many times as long as those of U. At the lengths of U, posting and
/// running an event costs some runtimes more than its work, and half of what one
/// can do would be too much for another: all get the same load.
const LENGTH: u32 = 10;

/// The part of the workers' time that is work.
const SHARE: f64 = 0.5;

/// The poster sleeps so long, then posts what has become due.
const TICK: Duration = Duration::from_micros(50);

/// One event in so many has its latency kept.
const SAMPLE: usize = 8;

/// What is still pending at the end gets so long. It is a few milliseconds of work.
const DEADLINE: Duration = Duration::from_secs(30);

struct Worker {
    latencies: Arc<Mutex<Latencies>>,
}

struct Work {
    posted: Option<Instant>,
    cycles: u32,
}

impl Actor for Worker {
    type Message = Work;

    fn handle(&mut self, work: Work, _to_self: &mut impl ToSelf<Work>) {
        if let Some(posted) = work.posted {
            let nanoseconds = u64::try_from(posted.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mut latencies = self
                .latencies
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Never refused: it grows as needed.
            latencies.record(nanoseconds).ok();
        }
        spin(work.cycles);
        tally::count();
    }
}

pub(super) fn measure<R: Keyed>(
    runtime: &R,
    run: &Run,
    spin_rate: f64,
) -> Result<Latencies, Failure> {
    let latencies = Arc::new(Mutex::new(no_latencies()?));
    let keys: Vec<_> = (0..KEYS)
        .map(|_| {
            runtime.key(Worker {
                latencies: Arc::clone(&latencies),
            })
        })
        .collect();
    let costs: Vec<u32> = costs().iter().map(|cycles| cycles * LENGTH).collect();
    let mean = costs.iter().copied().map(f64::from).sum::<f64>() / costs.len() as f64;
    let per_second = SHARE * run.workers as f64 * spin_rate / mean;

    let before = tally::total();
    let posted = post_at_rate::<R>(&keys, &costs, per_second, run.time);
    let deadline = Instant::now() + DEADLINE;
    while tally::total() < before + posted {
        if Instant::now() > deadline {
            return Err("some events have not run".into());
        }
        std::thread::sleep(TICK);
    }
    keys.iter().for_each(R::close);
    let latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(latencies.clone())
}

/// Posts until the time is over, never waiting for what was posted before: a runtime
/// that cannot keep up has latencies that grow. How many it posted.
fn post_at_rate<R: Keyed>(
    keys: &[R::Key<Worker>],
    costs: &[u32],
    per_second: f64,
    time: Duration,
) -> u64 {
    let mut random = Random::new(2);
    let mut costs = costs.iter().cycle().enumerate();
    let mut posted = 0;
    let start = Instant::now();
    loop {
        let elapsed = start.elapsed().min(time);
        let due = (elapsed.as_secs_f64() * per_second) as u64 + 1;
        let new = usize::try_from(due - posted).unwrap_or(0);
        for (number, &cycles) in costs.by_ref().take(new) {
            let posted = (number % SAMPLE == 0).then(Instant::now);
            // Two handlers, as a program would have; what they cost is not said.
            let kind = match cycles > SHORT_CYCLES * LENGTH {
                true => &LONG,
                false => &SHORT,
            };
            let key = &keys[random.below(KEYS) as usize];
            R::post_via(key, kind, Work { posted, cycles });
        }
        posted = due;
        if elapsed == time {
            return posted;
        }
        std::thread::sleep(TICK);
    }
}
