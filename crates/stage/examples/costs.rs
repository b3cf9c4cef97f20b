//! What an event costs that does nothing: posted to a color, and by way of a stage.
//!
//! ```sh
//! cargo run --release -p mely-stage --example costs
//! ```
//!
//! One thread offers, one worker or one thread handles; per event, the time from the first offer
//! until all are handled. Medians of interleaved rounds.

use std::time::Instant;

use mely::Runtime;
use mely_sched::admission::AdmissionChain;
use mely_sched::{GovernorOptions, Nanos};
use mely_stage::{Control, Manager, StageOptions, each};

const EVENTS: u64 = 200_000;

const ROUNDS: usize = 15;

fn per_event(handled: impl Fn(), offer: impl Fn(u64)) -> f64 {
    let begun = Instant::now();
    (0..EVENTS).for_each(offer);
    handled();
    begun.elapsed().as_nanos() as f64 / EVENTS as f64
}

fn by_stage(stage: &Control<u64>) -> f64 {
    let (sink, until) = (stage.sink(), stage.snapshot().counts.handled + EVENTS);
    let handled = || {
        while stage.snapshot().counts.handled < until {
            std::thread::yield_now();
        }
    };
    per_event(handled, |n| _ = sink.offer_or_shed(n))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::builder().workers(1).build()?;
    let stages = Manager::new(&rt);
    let options = || StageOptions::new().capacity(usize::MAX).colors(1);
    let create = |name, options| stages.create(name, options, |_| each(|_: u64| ()));
    let one = GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    };
    // A target that refuses nothing.
    let within = AdmissionChain::within(Nanos::from_secs(1_000));
    let served = [
        ("a stage, one color", create("colors", options())?),
        (
            "with the default policy",
            create("within", options().admission(within))?,
        ),
        (
            "a stage, one thread",
            create("threads", options().threads(one))?,
        ),
    ];
    let color = rt.new_color();
    let mut times = vec![Vec::new(); served.len() + 1];
    for _ in 0..ROUNDS {
        times[0].push(per_event(
            || rt.wait_idle(),
            |_| color.post_or_shed(|_, _| ()),
        ));
        for (times, (_, stage)) in times[1..].iter_mut().zip(&served) {
            times.push(by_stage(stage));
        }
    }
    let names = ["posted to a color"]
        .into_iter()
        .chain(served.iter().map(|(name, _)| *name));
    for (name, mut times) in names.zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        println!("{name}: {:.0} ns an event", times[ROUNDS / 2]);
    }
    Ok(())
}
