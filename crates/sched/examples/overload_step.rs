//! What each policy of admission does when demand jumps from half to 1.4 times of what a stage
//! can do: `cargo run --release -p mely-sched --example overload_step`, a minute.
//!
//! The same for what is done if nobody says otherwise, in other stages and at other demands:
//! `… --example overload_step others`. And what each policy costs: `… costs`.

use std::hint::black_box;
use std::time::Instant;

use mely_sched::Nanos;
use mely_sched::admission::{
    AdmissionChain, ClientId, Codel, Credits, CreditsOptions, Deadline, Done, EarlyDrop,
    EarlyDropOptions, ExpectedDelay, Gradient, GradientOptions, Offer, Rate, ResponseTime,
    ResponseTimeOptions, Taken, Threshold, TokenBucket,
};
use mely_sched::queueing::{Service, Station, Step, StepReport};

type Policy = (&'static str, Box<dyn Fn() -> AdmissionChain>);

const CLIENTS: u32 = 100;

/// A part of the target.
fn part(target: Nanos, share: f64) -> Nanos {
    Nanos::from_f64(target.as_f64() * share)
}

fn credits(options: CreditsOptions) -> AdmissionChain {
    let mut credits = Credits::new(options);
    for number in 0..CLIENTS {
        assert_eq!(credits.add_client(), ClientId(number));
    }
    AdmissionChain::new().and(credits)
}

/// As they are set by whoever made them.
fn by_their_makers(step: &Step) -> Vec<Policy> {
    let (target, mean) = (step.target, step.station.service.mean());
    vec![
        ("none", Box::new(AdmissionChain::new)),
        (
            "threshold: 1000",
            Box::new(|| AdmissionChain::new().and(Threshold::default())),
        ),
        (
            "early drop: 5 to 15, weight 0.002",
            Box::new(|| AdmissionChain::new().and(EarlyDrop::default())),
        ),
        (
            "CoDel: 5 ms in 100 ms",
            Box::new(|| AdmissionChain::new().and(Codel::default())),
        ),
        (
            "gradient: 20 to 200",
            Box::new(|| AdmissionChain::new().and(Gradient::default())),
        ),
        (
            "response time: up to 5000/s",
            Box::new(move || {
                AdmissionChain::new().and(ResponseTime::new(ResponseTimeOptions::new(target)))
            }),
        ),
        (
            "credits: 8 times the work",
            Box::new(move || credits(CreditsOptions::new(mean.times(8), mean))),
        ),
    ]
}

/// With what is known of the stage here: its target and its capacity.
fn tuned(step: &Step) -> Vec<Policy> {
    let (target, capacity) = (step.target, step.station.capacity());
    let waiting = (capacity * target.as_secs_f64() * 0.5) as u64;
    vec![
        (
            "threshold: half a target's work",
            Box::new(move || AdmissionChain::new().and(Threshold::new(waiting))),
        ),
        (
            "token bucket: 0.95 of capacity, 4",
            Box::new(move || {
                let rate = Rate::per_second(0.95 * capacity);
                AdmissionChain::new().and(TokenBucket::new(rate, 4))
            }),
        ),
        (
            "early drop: weight 0.1, 40 %",
            Box::new(move || {
                let queued_max = waiting as f64;
                AdmissionChain::new().and(EarlyDrop::new(EarlyDropOptions {
                    queued_min: queued_max / 3.0,
                    queued_max,
                    share_max: 0.4,
                    weight: 0.1,
                }))
            }),
        ),
        (
            "CoDel: 0.25 in 5 targets",
            Box::new(move || {
                AdmissionChain::new().and(Codel::new(part(target, 0.25), part(target, 5.0)))
            }),
        ),
        (
            "CoDel: 0.25 in half a target",
            Box::new(move || {
                AdmissionChain::new().and(Codel::new(part(target, 0.25), part(target, 0.5)))
            }),
        ),
        (
            "gradient: 1 to 200, one more",
            Box::new(|| {
                AdmissionChain::new().and(Gradient::new(GradientOptions {
                    limit_min: 1.0,
                    headroom: 1.0,
                    ..GradientOptions::default()
                }))
            }),
        ),
        (
            "response time: steps of 2 %",
            Box::new(move || {
                AdmissionChain::new().and(ResponseTime::new(ResponseTimeOptions {
                    rate_max: 2.0 * capacity,
                    increase: 0.02 * capacity,
                    burst: 1,
                    ..ResponseTimeOptions::new(target)
                }))
            }),
        ),
    ]
}

/// By the target alone.
fn by_target(step: &Step) -> Vec<Policy> {
    let target = step.target;
    vec![
        (
            "deadline: 0.7",
            Box::new(move || AdmissionChain::new().and(Deadline::new(part(target, 0.7)))),
        ),
        (
            "expected delay: 0.5",
            Box::new(move || AdmissionChain::new().and(ExpectedDelay::new(part(target, 0.5)))),
        ),
        (
            "both: `within`",
            Box::new(move || AdmissionChain::within(target)),
        ),
    ]
}

fn print(name: &str, report: &StepReport) {
    let millis = |time: Nanos| time.as_secs_f64() * 1e3;
    let recovered = match report.recovered {
        Some(time) => format!("{:.0}", millis(time)),
        None => "never".to_owned(),
    };
    println!(
        "| {name} | {:.1} | {:.1} | {:.3} | {:.3} | {recovered} | {:.1} | {:.1} |",
        100.0 * report.goodput,
        100.0 * report.goodput_late,
        millis(report.p99),
        millis(report.p99_late),
        100.0 * report.refused,
        100.0 * report.shed,
    );
}

fn print_head(title: &str) {
    println!("\n{title}\n");
    println!(
        "| | goodput, % | late | p99, ms | late | back after, ms | refused, % | shed, % |\n\
         |---|---|---|---|---|---|---|---|"
    );
}

fn compare() {
    let micros = Nanos::from_micros;
    for (mean, target) in [(micros(10), micros(200)), (micros(1_000), micros(20_000))] {
        let station = Station {
            clients: CLIENTS,
            ..Station::new(1, Service::Exponential(mean))
        };
        let step = Step::new(station, target);
        print_head(&format!(
            "One server, exponential times of {} ms, target {} ms",
            mean.as_secs_f64() * 1e3,
            target.as_secs_f64() * 1e3
        ));
        let policies = by_their_makers(&step).into_iter().chain(tuned(&step));
        for (name, chain) in policies.chain(by_target(&step)) {
            print(name, &step.run(chain));
        }
    }
}

fn others() {
    let micros = Nanos::from_micros;
    let mixed = |share, long, short| Service::Mixed {
        share,
        long: micros(long),
        short: micros(short),
    };
    let services = [
        ("exponential", Service::Exponential(micros(10))),
        ("fixed", Service::Fixed(micros(10))),
        ("10 % of 55 µs, 90 % of 5 µs", mixed(0.1, 55, 5)),
        ("1 % of 500 µs, 99 % of 5 µs", mixed(0.01, 500, 5)),
    ];
    print_head("Times of 10 µs in the mean; target 0.2 ms, and 0.1 ms in lines marked *");
    for (name, service) in services {
        for (servers, demand, works) in [
            (1, 0.9, 20),
            (1, 1.4, 20),
            (1, 1.4, 10),
            (1, 10.0, 20),
            (4, 0.9, 20),
            (4, 1.4, 20),
            (4, 10.0, 20),
        ] {
            let step = Step {
                demand,
                after: Nanos::from_secs(1),
                ..Step::new(Station::new(servers, service), micros(10 * works))
            };
            let mark = if works == 10 { " *" } else { "" };
            let name = format!("{name}; {servers} server(s), demand {demand}{mark}");
            let deadline = || Deadline::new(part(step.target, 0.7));
            let within = step.run(|| AdmissionChain::within(step.target));
            print(&format!("{name}: `within`"), &within);
            let alone = step.run(|| AdmissionChain::new().and(deadline()));
            print(&format!("{name}: deadline alone"), &alone);
        }
    }
}

/// Nanoseconds for an event on its whole way, admitted and run.
fn event_ns(chain: &mut AdmissionChain) -> f64 {
    const EVENTS: u64 = 2_000_000;
    let began = Instant::now();
    for number in 0..EVENTS {
        let now = Nanos::new(number * 10_000);
        let offer = Offer {
            now,
            queued: number % 4,
            chance: number,
            ..Offer::default()
        };
        let waited = Nanos::new(20_000);
        let Ok(admitted) = chain.offer(black_box(&offer)) else {
            continue;
        };
        if let Ok(running) = chain.take(admitted, black_box(&Taken { now, waited })) {
            let response = Nanos::new(30_000);
            chain.complete(running, black_box(&Done { now, response }));
        }
    }
    began.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
}

fn costs() {
    let station = Station::new(1, Service::Exponential(Nanos::from_micros(10)));
    let step = Step::new(station, Nanos::from_micros(200));
    println!("| | ns an event, median of 5 |\n|---|---|");
    let policies = by_their_makers(&step).into_iter().chain(by_target(&step));
    for (name, chain) in policies {
        let mut times: Vec<_> = (0..5).map(|_| event_ns(&mut chain())).collect();
        times.sort_by(f64::total_cmp);
        println!("| {name} | {:.0} |", times[2]);
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("others") => others(),
        Some("costs") => costs(),
        _ => compare(),
    }
}
