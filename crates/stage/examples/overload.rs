//! A stage under more than it can do: half of its capacity, then 1.4 times of it, half again, ten
//! times, and half; under the default policy, SEDA's response-time controller, a full queue
//! alone, and nothing.
//!
//! ```sh
//! cargo run --release -p mely-stage --example overload [SECONDS_PER_PHASE]
//! ```
//!
//! One color serves, events take 10 µs, and one thread offers them by the clock. On two cores
//! this needs both: what other programs take of them is seen in the figures.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mely::Runtime;
use mely_sched::Nanos;
use mely_sched::admission::{AdmissionChain, ResponseTime, ResponseTimeOptions};
use mely_stage::{Batch, Control, Ending, Manager, Stage, StageContext, StageOptions};

type AnyError = Box<dyn std::error::Error>;

/// How long an event takes.
const EVENT: Duration = Duration::from_micros(10);

/// What responses should be within.
const TARGET: Duration = Duration::from_millis(2);

/// Percentiles are of so long.
const WINDOW: Duration = Duration::from_millis(10);

/// Demand, as multiples of what can be done.
const DEMAND: [f64; 5] = [0.5, 1.4, 0.5, 10.0, 0.5];

#[derive(Clone, Copy)]
struct Request {
    offered: Instant,
}

#[derive(Clone, Copy)]
struct Answer {
    at: Instant,
    response: Duration,
}

/// Works for 10 µs of an event, and notes when it was answered.
struct Works {
    answers: Vec<Answer>,
    tell: Sender<Vec<Answer>>,
}

impl Stage<Request> for Works {
    fn handle(&mut self, batch: &mut Batch<'_, Request>, _cx: &mut StageContext<'_>) {
        for Request { offered } in batch {
            let begun = Instant::now();
            while begun.elapsed() < EVENT {
                std::hint::spin_loop();
            }
            let at = Instant::now();
            let response = at - offered;
            self.answers.push(Answer { at, response });
        }
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        self.tell.send(std::mem::take(&mut self.answers)).ok();
    }
}

fn stage(rt: &Runtime, capacity: usize, chain: AdmissionChain) -> Result<Staged, AnyError> {
    let (tell, told) = channel();
    let options = StageOptions::new().colors(1).capacity(capacity);
    let stage = Manager::new(rt).create("works", options.admission(chain), move |_| Works {
        answers: Vec::with_capacity(1 << 20),
        tell: tell.clone(),
    })?;
    Ok((stage, told))
}

type Staged = (Control<Request>, Receiver<Vec<Answer>>);

/// What was seen of one phase.
#[derive(Default)]
struct Seen {
    offered: u64,
    refused: u64,
    expired: u64,
    queued_max: usize,
    refusal_max: Duration,
}

/// Offers so many events a second for a while, by the clock: late ones follow at once.
fn offer(to: &Control<Request>, rate: f64, long: Duration) -> (Instant, Seen) {
    let sink = to.sink();
    let expired_before = to.snapshot().counts.expired();
    let (begun, mut seen) = (Instant::now(), Seen::default());
    loop {
        let now = Instant::now();
        let passed = now - begun;
        if passed >= long {
            break;
        }
        if seen.offered as f64 > passed.as_secs_f64() * rate {
            std::hint::spin_loop();
            continue;
        }
        seen.offered += 1;
        if sink.offer(Request { offered: now }).is_err() {
            seen.refused += 1;
            seen.refusal_max = seen.refusal_max.max(now.elapsed());
        }
        if seen.offered % 256 == 0 {
            seen.queued_max = seen.queued_max.max(to.snapshot().queued);
        }
    }
    seen.expired = to.snapshot().counts.expired() - expired_before;
    (begun, seen)
}

fn percentile_99(responses: &mut [Duration]) -> Option<Duration> {
    responses.sort_unstable();
    let at = (responses.len() * 99).div_ceil(100).checked_sub(1)?;
    responses.get(at).copied()
}

/// Until when the percentile of some window was above the target, or nothing was answered.
fn recovered_after(answers: &[Answer], begun: Instant, long: Duration) -> Option<Duration> {
    let windows = (long.as_nanos() / WINDOW.as_nanos()) as usize;
    let mut of_windows = vec![Vec::new(); windows];
    for answer in answers {
        let window = (answer.at - begun).as_nanos() / WINDOW.as_nanos();
        if let Some(window) = of_windows.get_mut(window as usize) {
            window.push(answer.response);
        }
    }
    let is_late = |window: &mut Vec<Duration>| percentile_99(window).is_none_or(|p99| p99 > TARGET);
    let late = of_windows.iter_mut().rposition(is_late);
    let after = late.map_or(0, |window| window + 1);
    (after < windows).then(|| WINDOW * after as u32)
}

fn ms(time: Option<Duration>) -> String {
    time.map_or("never".to_owned(), |time| {
        format!("{:.2}", time.as_secs_f64() * 1e3)
    })
}

/// What is answered without overload: as many as come, with a queue that is never empty.
fn capacity_of_one() -> Result<f64, AnyError> {
    let rt = Runtime::builder().workers(1).build()?;
    let (stage, told) = stage(&rt, 1_000, AdmissionChain::new())?;
    let (begun, _) = offer(&stage, 1e6, Duration::from_secs(1));
    stage.destroy(Ending::HandBack, Duration::from_secs(60))?;
    let second = begun + Duration::from_secs(1);
    let answers = told.recv()?;
    Ok(answers.iter().filter(|answer| answer.at < second).count() as f64)
}

fn run(
    name: &str,
    queue: usize,
    chain: AdmissionChain,
    peak: f64,
    long: Duration,
) -> Result<(), AnyError> {
    let rt = Runtime::builder().workers(1).build()?;
    let (stage, told) = stage(&rt, queue, chain)?;
    let phases = DEMAND.map(|demand| offer(&stage, demand * peak, long));
    stage.destroy(Ending::HandBack, Duration::from_secs(60))?;
    let answers = told.recv()?;
    for (demand, (begun, seen)) in DEMAND.into_iter().zip(phases) {
        let end = begun + long;
        let here: Vec<_> = answers
            .iter()
            .filter(|a| a.at >= begun && a.at < end)
            .copied()
            .collect();
        let in_time = here
            .iter()
            .filter(|answer| answer.response <= TARGET)
            .count() as f64;
        let mut responses: Vec<_> = here.iter().map(|answer| answer.response).collect();
        let memory = seen.queued_max * size_of::<Request>() / 1024;
        let share = |part: u64| 100.0 * part as f64 / seen.offered as f64;
        println!(
            "| {name} | {demand} | {:.1} | {} | {} | {:.1} | {:.1} | {} | {} | {memory} |",
            100.0 * in_time / long.as_secs_f64() / peak.min(demand * peak),
            ms(percentile_99(&mut responses)),
            ms(recovered_after(&here, begun, long)),
            share(seen.refused),
            share(seen.expired),
            ms(Some(seen.refusal_max)),
            seen.queued_max,
        );
    }
    Ok(())
}

fn main() -> Result<(), AnyError> {
    let seconds = std::env::args().nth(1).map_or(Ok(2), |text| text.parse())?;
    let long = Duration::from_secs(seconds);
    let peak = capacity_of_one()?;
    println!("capacity: {peak:.0} events/s of 10 µs, target {TARGET:?}, {seconds} s a phase\n");
    println!(
        "| policy | demand | goodput, % | p99, ms | back after, ms | refused, % | expired, % | \
         slowest refusal, ms | longest queue | its events, KiB |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let target = Nanos::from_f64(TARGET.as_nanos() as f64);
    /// Nothing that the memory of the machine would not end.
    const UNBOUNDED: usize = usize::MAX;
    let by_paper = ResponseTimeOptions::new(target);
    let tuned = ResponseTimeOptions {
        rate_max: 2.0 * peak,
        increase: 0.02 * peak,
        ..by_paper
    };
    let seda = |options| AdmissionChain::new().and(ResponseTime::new(options));
    let within = AdmissionChain::within(target);
    run("within", UNBOUNDED, within, peak, long)?;
    run("response time", UNBOUNDED, seda(by_paper), peak, long)?;
    run("*tuned* response time", UNBOUNDED, seda(tuned), peak, long)?;
    run("queue of 1000", 1_000, AdmissionChain::new(), peak, long)?;
    run("none", UNBOUNDED, AdmissionChain::new(), peak, long)
}
