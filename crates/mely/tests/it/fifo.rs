//! The policies with one queue of events for each core: what they steal and count,
//! and what colors promise under every policy.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mely::{Context, Handler, OnPanic, Policy, QueueKind, Runtime, Snapshot};

use crate::checkers::conserved;
use crate::support::{Gate, OpenOnDrop, WAIT, bounded, eventually, holds, settle, silent_panic};

/// What an event is said to cost, for the metrics of steals.
const COST_CYCLES: u32 = 7_000;

static COSTLY: Handler = Handler::new("fifo::Costly").cost_cycles(COST_CYCLES);
static LEFT: Handler = Handler::new("fifo::Left");

fn fifos() -> impl Iterator<Item = Policy> {
    let one_queue = |policy: &Policy| policy.heuristics().queues == QueueKind::EventFifo;
    Policy::ALL.into_iter().filter(one_queue)
}

fn runtime(workers: usize, policy: Policy) -> Runtime {
    let builder = Runtime::builder().workers(workers).policy(policy);
    builder.build().expect("a runtime")
}

/// Worker 0 is held until all colors but one have run; worker 1 is held until
/// everything has been posted to worker 0, and so steals from a queue that is known.
/// Each color has `events`.
fn steal_from_a_held_core(policy: Policy, colors: u64, events: u64) -> Snapshot {
    let rt = runtime(2, policy);
    let (ran, begun, thief_may_go) = (Gate::default(), Gate::default(), Gate::default());
    let _release = OpenOnDrop(thief_may_go.clone());
    let hold = |worker: usize, wait_for: Gate, count: u64| {
        let color = rt
            .color_options()
            .pin_to(worker)
            .new_color()
            .expect("a worker");
        let begin = begun.clone();
        color.post_or_shed(move |_, _| {
            begin.arrive();
            assert!(wait_for.wait_for(count, WAIT), "worker {worker} is held");
        });
    };
    hold(0, ran.clone(), (colors - 1) * events);
    hold(1, thief_may_go.clone(), 1);
    assert!(begun.wait_for(2, WAIT), "both are held");
    for _ in 0..colors {
        let color = rt
            .color_options()
            .start_on(0)
            .new_color()
            .expect("worker 0");
        for _ in 0..events {
            let ran = ran.clone();
            color
                .with_handler(&COSTLY)
                .post_or_shed(move |_, _| ran.arrive());
        }
    }
    thief_may_go.arrive();
    settle(&rt);
    let metrics = rt.metrics();
    assert_eq!(metrics.total(|w| w.panics), 0);
    metrics
}

#[test]
fn a_steal_takes_one_color_or_by_batch_half_of_the_events() {
    bounded("steals", || {
        for policy in fifos().filter(|policy| policy.heuristics().steal) {
            let metrics = steal_from_a_held_core(policy, 40, 3);
            let thief = metrics.workers[1];
            let steals = match policy.heuristics().batch_steal {
                // Half of 121 events (one is being run) are 20 colors, of 61 10, of
                // 31 5, of 16 2, of 10 and of 7 one.
                true => 6,
                false => 39,
            };
            // The last one is more than half of what is left.
            assert_eq!((thief.stolen_colors, thief.stolen_events), (39, 117));
            assert_eq!(thief.steals, steals, "{policy}");
            assert_eq!(thief.stolen_cycles, 117 * u64::from(COST_CYCLES));
            // Its first event is found at once, its last is the third.
            assert!(thief.scanned_events >= 39 * (1 + 3), "{thief:?}");
            assert!(thief.locks >= 2 * steals);
            let text = metrics.to_prometheus();
            assert!(text.contains("mely_worker_scanned_events_total"));
        }
    });
}

#[test]
fn without_stealing_everything_runs_at_home() {
    bounded("no steals", || {
        let rt = runtime(4, Policy::LibasyncSmpNoSteal);
        for number in 0..100u16 {
            let color = rt.numbered_color(number);
            color.post_or_shed(move |_, cx| assert_eq!(cx.worker(), usize::from(number) % 4));
        }
        settle(&rt);
        let metrics = rt.metrics();
        assert_eq!(metrics.total(|w| w.steals + w.scanned_events), 0);
        assert_eq!((metrics.events.run, metrics.total(|w| w.panics)), (100, 0));
    });
}

#[test]
fn events_of_a_core_run_in_the_order_in_which_they_came_whatever_their_color() {
    bounded("order", || {
        for policy in fifos() {
            let rt = runtime(1, policy);
            let ran = Arc::new(Mutex::new(Vec::new()));
            let starter = rt.new_color();
            let (handle, into) = (rt.clone(), Arc::clone(&ran));
            starter.post_or_shed(move |_, cx| {
                let colors = [handle.new_color(), handle.new_color(), cx.color()];
                for n in 0..30 {
                    let ran = Arc::clone(&into);
                    colors[n % 3].post_or_shed(move |_, _| {
                        ran.lock().unwrap_or_else(PoisonError::into_inner).push(n);
                    });
                }
            });
            settle(&rt);
            let ran = ran.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(ran.iter().copied().eq(0..30), "{policy}: {ran:?}");
        }
    });
}

#[test]
fn a_color_is_pinned_by_the_policies_that_know_pinning() {
    bounded("pinning", || {
        for policy in fifos().filter(|policy| policy.heuristics().steal) {
            let rt = runtime(2, policy);
            let (begun, seen) = (Gate::default(), Gate::default());
            let moved = Arc::new(AtomicU64::new(2));
            let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
            let asks = rt.color_options().pin_by_policy(0).new_color();
            let asks = asks.expect("worker 0");
            let (begin, wait) = (begun.clone(), seen.clone());
            let pins = policy.heuristics().pinning;
            holder.post_or_shed(move |_, _| {
                begin.arrive();
                // Where it is not pinned, the other worker takes it from here.
                assert!(pins || wait.wait_for(1, WAIT));
            });
            begun.pass("the holder begins");
            let (result, see) = (Arc::clone(&moved), seen.clone());
            asks.post_or_shed(move |_, cx| {
                result.store(cx.worker() as u64, Relaxed);
                see.arrive();
            });
            settle(&rt);
            assert_eq!(rt.metrics().total(|w| w.panics), 0, "{policy}");
            assert_eq!(moved.load(Relaxed), u64::from(!pins), "{policy}");
        }
    });
}

#[test]
fn color_zero_stays_on_the_first_core() {
    bounded("color 0", || {
        for policy in fifos().filter(|policy| policy.heuristics().steal) {
            let rt = runtime(2, policy);
            let (begun, ran) = (Gate::default(), Gate::default());
            let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
            let (begin, wait) = (begun.clone(), ran.clone());
            holder.post_or_shed(move |_, _| {
                begin.arrive();
                assert!(wait.wait_for(1, WAIT), "color 2 is stolen");
            });
            begun.pass("the holder begins");
            rt.numbered_color(0)
                .post_or_shed(|_, cx| assert_eq!(cx.worker(), 0));
            rt.numbered_color(2).post_or_shed(move |_, _| ran.arrive());
            settle(&rt);
            assert_eq!(rt.metrics().total(|w| w.panics), 0, "{policy}");
        }
    });
}

#[test]
fn fresh_colors_run_beside_each_other_and_end() {
    bounded("fresh", || {
        for policy in fifos() {
            let rt = Runtime::builder().workers(3).policy(policy);
            let rt = rt.color_capacity(1).build().expect("a runtime");
            let token = Arc::new(());
            for _ in 0..20 {
                let token = Arc::clone(&token);
                rt.new_color().post_or_shed(move |_, cx| {
                    for _ in 0..50 {
                        let token = Arc::clone(&token);
                        cx.post_parallel(move |_, _| drop(token));
                    }
                });
            }
            settle(&rt);
            eventually("what ran is dropped", || Arc::strong_count(&token) == 1);
            let events = rt.metrics().events;
            assert_eq!((events.run, events.shed), (1_020, 0), "{policy}");
        }
    });
}

#[test]
fn a_poisoned_color_sheds_what_waits_in_the_queue() {
    bounded("poison", || {
        for policy in fifos() {
            let rt = Runtime::builder().workers(2).policy(policy);
            let rt = rt.on_panic(OnPanic::PoisonColor).build();
            let rt = rt.expect("a runtime");
            let (sick, well) = (rt.colored(0), rt.colored(0));
            for n in 0..20 {
                well.post_or_shed(|ran, _| *ran += 1);
                sick.post_or_shed(move |ran, _| {
                    *ran += 1;
                    if n == 9 {
                        silent_panic();
                    }
                });
            }
            settle(&rt);
            assert_eq!(well.blocking_with(|ran| *ran), 20);
            assert!(sick.try_blocking_with(|ran| *ran).is_err());
            settle(&rt);
            let metrics = rt.metrics();
            assert_eq!((metrics.events.shed, metrics.total(|w| w.panics)), (11, 1));
            holds(conserved(&metrics.events));
        }
    });
}

#[test]
fn what_a_passed_deadline_leaves_is_dropped_and_named() {
    bounded("abandoned", || {
        fn endless(_: &mut (), cx: &mut Context<'_>) {
            cx.with_handler(&LEFT).post_or_shed(endless);
        }
        for policy in fifos() {
            for workers in [1, 3] {
                let rt = runtime(workers, policy);
                let handle = rt.clone();
                let colors: Vec<_> = (0..7).map(|_| rt.new_color()).collect();
                for color in &colors {
                    color.with_handler(&LEFT).post_or_shed(endless);
                }
                let error = rt.shutdown(Duration::ZERO).unwrap_err();
                assert_eq!(error.report.abandoned, [("fifo::Left", 7)], "{policy}");
                assert!(colors[0].post(|_, _| ()).is_err(), "it is closed");
                holds(conserved(&handle.metrics().events));
            }
        }
    });
}
