//! What it costs to count by handler: nanoseconds an event, with and without.
//!
//! `cargo run --release -p mely --features counters --example cost_of_counting`

use std::time::{Duration, Instant};

use mely::{Context, Counted, Runtime};

const RUNS: usize = 11;

/// Posts itself again, as long as there is something left to do.
fn step(left: &mut u64, cx: &mut Context<'_, u64>) {
    *left -= 1;
    if *left > 0 {
        cx.post_or_shed(step);
    }
}

/// The same, each event as long as a request: 20 µs, so that all are noted.
fn long_step(left: &mut u64, cx: &mut Context<'_, u64>) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
    *left -= 1;
    if *left > 0 {
        cx.post_or_shed(long_step);
    }
}

/// Nanoseconds an event of a color that posts to itself on one worker.
fn measure(
    counted: Counted,
    events: u64,
    event: fn(&mut u64, &mut Context<'_, u64>),
) -> Result<f64, mely::BuildError> {
    let rt = Runtime::builder().workers(1).counted(counted).build()?;
    let color = rt.colored(events);
    let begin = Instant::now();
    color.post_or_shed(event);
    rt.wait_idle();
    let ns = begin.elapsed().as_nanos() as f64 / events as f64;
    if let Some(reason) = rt.metrics().counting.reason {
        eprintln!("{counted:?}: {reason}");
    }
    Ok(ns)
}

fn main() -> Result<(), mely::BuildError> {
    type Event = fn(&mut u64, &mut Context<'_, u64>);
    let kinds: [(&str, u64, Event); 2] =
        [("short", 20_000_000, step), ("20 µs", 10_000, long_step)];
    for (name, events, event) in kinds {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            times[0].push(measure(Counted::Nothing, events, event)?);
            times[1].push(measure(Counted::PageFaults, events, event)?);
        }
        for (what, mut times) in ["nothing", "page faults"].into_iter().zip(times) {
            times.sort_by(f64::total_cmp);
            let (best, median) = (times[0], times[RUNS / 2]);
            println!("{name} events, {what}: {best:.2} ns at best, {median:.2} in the middle");
        }
    }
    Ok(())
}
