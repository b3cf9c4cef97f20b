//! Programs under every policy: what must always hold, holds.

use std::time::Duration;

use mely_sim::engine::{Order, Settings, Simulation};
use mely_sim::mely::{Builder, Context, Handler, Policy, Snapshot};

static SHORT: Handler = Handler::new("programs::Short").cost_cycles(100);
static LONG: Handler = Handler::new("programs::Long").cost_cycles(30_000);

fn post_round(cx: &mut Context<'_, ()>) {
    for event in 0..2_000 {
        if event % 50 == 49 {
            cx.with_handler(&LONG)
                .post_parallel(|(), cx| cx.spend(30_000));
        } else {
            cx.with_handler(&SHORT)
                .post_parallel(|(), cx| cx.spend(100));
        }
    }
}

/// Rounds of events that are all posted on the first core.
fn unbalanced(policy: Policy, settings: Settings) -> Snapshot {
    let simulation = Simulation::new(Builder::default().policy(policy), settings).unwrap();
    let source = simulation
        .handle()
        .color_options()
        .start_on(0)
        .new_color()
        .unwrap();
    for _ in 0..3 {
        source.post_or_shed(|(), cx| post_round(cx));
        simulation.run_until_idle().unwrap();
        assert!(simulation.is_quiescent(), "{policy}: all slept beside work");
    }
    let metrics = simulation.handle().metrics();
    let report = simulation.shutdown(Duration::from_secs(1)).unwrap();
    assert_eq!(report.events_run, metrics.events.run, "{policy}");
    metrics
}

#[test]
fn idle_cores_steal_under_every_policy_that_steals() {
    for policy in Policy::ALL {
        let metrics = unbalanced(policy, Settings::xeon_e5410());
        assert_eq!(metrics.events.run, 3 * 2_001, "{policy}");
        assert_eq!(metrics.events.posted, metrics.events.run, "{policy}");
        let steals = metrics.total(|w| w.steals);
        assert_eq!(steals > 0, policy.heuristics().steal, "{policy}: {steals}");
        if steals > 0 {
            assert!(metrics.cycles_per_steal().unwrap() > 0.0, "{policy}");
            let busy = metrics.workers.iter().filter(|w| w.events.run > 0);
            assert!(busy.count() > 1, "{policy}");
        }
    }
}

#[test]
fn every_event_runs_in_any_order_of_the_cores() {
    for policy in Policy::ALL {
        for seed in 0..3 {
            let metrics = unbalanced(policy, Settings::random(3, seed).unwrap());
            assert_eq!(metrics.events.run, 3 * 2_001, "{policy}, seed {seed}");
        }
    }
}

#[test]
fn the_locked_queue_of_a_core_is_fought_for() {
    let metrics = unbalanced(Policy::LibasyncSmp, Settings::xeon_e5410());
    assert!(metrics.total(|w| w.lock_wait_cycles) > 0);
    assert!(metrics.total(|w| w.scanned_events) > 0);
    let alone = unbalanced(Policy::LibasyncSmpNoSteal, Settings::xeon_e5410());
    assert_eq!(alone.total(|w| w.lock_wait_cycles), 0);
}

/// Colors that post to each other from all cores.
fn storm(simulation: &Simulation) {
    let colors: Vec<_> = (0..8)
        .map(|_| simulation.handle().colored(Vec::new()))
        .collect();
    for (number, color) in colors.iter().enumerate() {
        let others = colors.clone();
        color.post_or_shed(move |_, cx| {
            for turn in 0..50 {
                cx.spend(37 * number as u64);
                others[(number + turn) % 8].post_or_shed(move |seen, cx| {
                    cx.spend(100);
                    seen.push((number, turn));
                });
            }
        });
    }
    simulation.run_until_idle().unwrap();
    for color in colors {
        color.blocking_with(|seen| {
            for poster in 0..8 {
                let turns = seen
                    .iter()
                    .filter(|(by, _)| *by == poster)
                    .map(|(_, turn)| turn);
                assert!(turns.is_sorted(), "{seen:?}");
            }
            assert!((48..=56).contains(&seen.len()), "{}", seen.len());
        });
    }
}

#[test]
fn events_of_a_poster_stay_in_order_in_any_order_of_the_cores() {
    for policy in Policy::ALL {
        for seed in 0..5 {
            let settings = Settings::random(4, seed).unwrap();
            let builder = Builder::default().policy(policy);
            let simulation = Simulation::new(builder, settings).unwrap();
            storm(&simulation);
        }
    }
}

#[test]
fn a_panic_loses_its_event_alone() {
    let random = Settings::random(2, 7).unwrap();
    for settings in [Settings::xeon_e5410(), random] {
        let simulation = Simulation::new(Builder::default(), settings).unwrap();
        for event in 0..20 {
            simulation.handle().new_color().post_or_shed(move |(), cx| {
                cx.spend(500);
                assert!(event % 5 > 0, "a panic on purpose");
            });
        }
        simulation.run_until_idle().unwrap();
        let metrics = simulation.handle().metrics();
        assert_eq!(metrics.total(|w| w.panics), 4);
        assert_eq!((metrics.events.run, metrics.events.pending()), (20, 0));
    }
}

#[test]
fn a_shutdown_tells_what_it_left() {
    let settings = Settings {
        order: Order::Time { slack: 100 },
        ..Settings::xeon_e5410()
    };
    let simulation = Simulation::new(Builder::default().workers(1), settings).unwrap();
    let color = simulation.handle().new_color();
    (0..10).for_each(|_| {
        color
            .with_handler(&LONG)
            .post_or_shed(|(), cx| cx.spend(2_330_000))
    });
    let error = simulation
        .shutdown(Duration::from_micros(3_500))
        .unwrap_err();
    assert_eq!(error.report.events_run, 4);
    assert_eq!(error.report.abandoned, [(LONG.name(), 6)]);
}
