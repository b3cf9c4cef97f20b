//! Shutdown, drop, and runtimes beside and inside each other.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use mely::{Handle, Handler};

use crate::checkers::conserved;
use crate::support::{Gate, LIMIT, OpenOnDrop, bounded, eventually, holds, runtime, settle};

static HOLDS: Handler = Handler::new("lifetime::Holds");
static LEFT: Handler = Handler::new("lifetime::Left");

#[test]
fn a_shutdown_runs_what_is_pending_and_what_that_posts() {
    bounded("drain", || {
        fn go_on(left: u32, ran: Arc<AtomicU64>, handle: &Handle) {
            ran.fetch_add(1, Relaxed);
            if left > 0 {
                handle
                    .new_color()
                    .post_or_shed(move |_, cx| go_on(left - 1, ran, &cx.handle()));
            }
        }
        for workers in [1, 2, 8] {
            let (rt, ran) = (runtime(workers), Arc::new(AtomicU64::new(0)));
            for _ in 0..50 {
                let ran = Arc::clone(&ran);
                rt.new_color()
                    .post_or_shed(move |_, cx| go_on(20, ran, &cx.handle()));
            }
            let handle = rt.clone();
            let report = rt.shutdown(LIMIT).expect("everything is run");
            assert_eq!((report.events_run, ran.load(Relaxed)), (1_050, 1_050));
            assert!(report.abandoned.is_empty() && report.held.is_empty());
            holds(conserved(&handle.metrics().events));
        }
    });
}

#[test]
fn a_passed_deadline_is_reported_by_handler_and_by_worker() {
    bounded("deadline", || {
        let rt = runtime(2);
        let handle = rt.clone();
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let held = rt.color_options().pin_to(0).new_color().expect("worker 0");
        let (begin, wait) = (begun.clone(), release.0.clone());
        held.with_handler(&HOLDS).post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the shutdown is over");
        });
        begun.pass("the handler begins");
        let token = Arc::new(());
        for _ in 0..7 {
            let token = Arc::clone(&token);
            held.with_handler(&LEFT)
                .post_or_shed(move |_, _| drop(token));
        }
        let error = rt.shutdown(Duration::ZERO).unwrap_err();
        assert_eq!(error.report.held, [(0, "lifetime::Holds")]);
        let said = error.to_string();
        assert!(
            said.contains("worker 0 is still held by lifetime::Holds"),
            "{said}"
        );
        drop(release);
        eventually("what was left is dropped", || {
            Arc::strong_count(&token) == 1
        });
        eventually("it is counted", || handle.metrics().events.pending() == 0);
        let events = handle.metrics().events;
        assert_eq!((events.run, events.abandoned), (1, 7));
        holds(conserved(&events));
    });
}

#[test]
fn what_a_passed_deadline_leaves_is_named() {
    bounded("abandoned", || {
        let rt = runtime(1);
        let handle = rt.clone();
        // Each event posts the next: there is always one left.
        fn endless(_: &mut (), cx: &mut mely::Context<'_>) {
            cx.with_handler(&LEFT).post_or_shed(endless);
        }
        (0..5).for_each(|_| rt.new_color().with_handler(&LEFT).post_or_shed(endless));
        let error = rt.shutdown(Duration::ZERO).unwrap_err();
        assert!(error.report.held.is_empty());
        assert_eq!(error.report.abandoned, [("lifetime::Left", 5)]);
        assert!(error.to_string().contains("5 of lifetime::Left"), "{error}");
        holds(conserved(&handle.metrics().events));
    });
}

#[test]
fn nothing_is_lost_when_many_workers_stop_amid_their_work() {
    bounded("amid", || {
        fn spread(left: u32, held: Arc<()>, cx: &mut mely::Context<'_>) {
            for _ in 0..2 {
                if left > 0 {
                    let held = Arc::clone(&held);
                    let color = cx.handle().new_color();
                    color.post_or_shed(move |_, cx| spread(left - 1, held, cx));
                }
            }
        }
        for round in 0..crate::support::Stress::get().pick(5, 30, 500) {
            let rt = runtime([1, 2, 8][round % 3]);
            let (handle, token) = (rt.clone(), Arc::new(()));
            for _ in 0..8 {
                let token = Arc::clone(&token);
                rt.new_color()
                    .post_or_shed(move |_, cx| spread(9, token, cx));
            }
            let result = rt.shutdown(Duration::from_micros(round as u64 * 50));
            let report = result.unwrap_or_else(|error| error.report);
            assert!(report.held.is_empty(), "{report:?}");
            let events = handle.metrics().events;
            holds(conserved(&events));
            let abandoned: u64 = report.abandoned.iter().map(|(_, n)| n).sum();
            assert_eq!(
                (report.events_run, abandoned),
                (events.run, events.abandoned)
            );
            assert_eq!(Arc::strong_count(&token), 1);
        }
    });
}

#[test]
fn a_shutdown_beside_busy_producers_ends_and_conserves() {
    bounded("producers", || {
        let rt = runtime(2);
        let handle = rt.clone();
        let started = Gate::default();
        let producers: Vec<_> = (0..3)
            .map(|_| {
                let (color, started) = (rt.new_color(), started.clone());
                thread::spawn(move || {
                    let mut posted = 0u64;
                    while color.post(|_, _| ()).is_ok() {
                        posted += 1;
                        if posted == 100 {
                            started.arrive();
                        }
                    }
                    posted
                })
            })
            .collect();
        assert!(started.wait_for(3, LIMIT));
        let report = rt
            .shutdown(LIMIT)
            .expect("producers are refused, so it drains");
        let posted: u64 = producers
            .into_iter()
            .map(|p| p.join().expect("it ends"))
            .sum();
        assert_eq!(report.events_run, posted);
        holds(conserved(&handle.metrics().events));
        assert_eq!(handle.metrics().events.shed, 3);
    });
}

#[test]
fn dropping_a_runtime_runs_what_is_pending() {
    bounded("drop", || {
        let ran = Arc::new(AtomicU64::new(0));
        let rt = runtime(2);
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            rt.new_color().post_or_shed(move |_, _| {
                ran.fetch_add(1, Relaxed);
            });
        }
        drop(rt);
        assert_eq!(ran.load(Relaxed), 100);
    });
}

#[test]
fn references_outlive_the_runtime() {
    bounded("outlive", || {
        let dropped = Arc::new(());
        let rt = runtime(2);
        let state = rt.colored(Arc::clone(&dropped));
        let (small, handle) = (
            rt.numbered_color(3).attach(Arc::clone(&dropped)),
            rt.clone(),
        );
        let timer = state.post_after(Duration::from_secs(3_600), |_, _| ());
        drop(rt);
        assert_eq!(
            Arc::strong_count(&dropped),
            1,
            "states end with the runtime, whoever still refers to their colors"
        );
        let clone = state.clone();
        thread::spawn(move || clone.post_or_shed(|_, _| ()))
            .join()
            .expect("it ends");
        assert!(!timer.cancel());
        assert_eq!(handle.workers(), 2);
        drop((
            handle.new_color(),
            handle.numbered_color(3),
            handle.numbered_color(4),
        ));
        drop((state, small, handle, timer));
        assert_eq!(Arc::strong_count(&dropped), 1, "states are dropped");
    });
}

#[test]
fn a_color_that_is_made_after_the_end_goes_with_its_last_reference() {
    bounded("after the end", || {
        let (rt, token) = (runtime(1), Arc::new(()));
        let handle = rt.clone();
        drop(rt);
        let late = handle.numbered_color(9).attach(Arc::clone(&token));
        drop((late, handle));
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn runtimes_nest_and_post_to_each_other() {
    bounded("nested", || {
        let outer = runtime(2);
        let sum = outer.colored(0u64);
        let to = sum.clone();
        let nested = outer.new_color().call(move |_, _| {
            let inner = runtime(2);
            for n in 0..100 {
                let to = to.clone();
                // From a worker of one runtime to a color of another.
                inner
                    .new_color()
                    .post_or_shed(move |_, _| to.post_or_shed(move |sum, _| *sum += n));
            }
            inner.shutdown(LIMIT).map(|report| report.events_run)
        });
        assert_eq!(nested.wait().map(|run| run.ok()), Ok(Some(100)));
        settle(&outer);
        assert_eq!(sum.blocking_with(|sum| *sum), 4_950);
    });
}

#[test]
fn events_wander_between_runtimes_in_order() {
    bounded("wander", || {
        let runtimes: Vec<_> = (1..=4).map(runtime).collect();
        let last = runtimes[3].colored(Vec::new());
        let colors: Vec<_> = runtimes.iter().map(|rt| rt.new_color()).collect();
        for n in 0..200u32 {
            let (a, b, last) = (colors[1].clone(), colors[2].clone(), last.clone());
            colors[0].post_or_shed(move |_, _| {
                a.post_or_shed(move |_, _| {
                    b.post_or_shed(move |_, _| last.post_or_shed(move |seen, _| seen.push(n)))
                });
            });
        }
        for rt in &runtimes {
            settle(rt);
        }
        assert_eq!(
            last.blocking_with(|seen| seen.clone()),
            (0..200).collect::<Vec<_>>()
        );
    });
}

#[test]
fn a_runtime_that_its_own_handler_drops_ends() {
    bounded("own handler", || {
        let rt = runtime(2);
        let (color, handle) = (rt.new_color(), rt.clone());
        let ended = Gate::default();
        let end = ended.clone();
        color.post_or_shed(move |_, _| {
            let error = rt.shutdown(Duration::from_millis(1)).unwrap_err();
            assert_eq!(error.report.held.len(), 1, "{error}");
            end.arrive();
        });
        ended.pass("the shutdown returns");
        eventually("its worker goes home", || {
            handle.metrics().events.pending() == 0
        });
    });
}
