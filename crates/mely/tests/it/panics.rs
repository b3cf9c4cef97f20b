//! A panic in a handler loses that event only, is counted and reported, and poisons
//! nothing but what the user asked to be poisoned.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use mely::{CallError, Handler, OnPanic, Runtime};

use crate::checkers::conserved;
use crate::support::{bounded, child, eventually, holds, settle, silent_panic};

pub(crate) static FAULTY: Handler = Handler::new("panics::Faulty");

#[test]
fn a_panic_loses_its_event_only() {
    bounded("one event", || {
        for (workers, batch) in [(1, 1), (1, 10), (2, 3), (8, 10)] {
            let rt = Runtime::builder().workers(workers).batch_threshold(batch);
            let rt = rt.on_panic(OnPanic::Continue).build().expect("a runtime");
            let color = rt.colored(Vec::new());
            for n in 0..100u32 {
                color
                    .with_handler(&FAULTY)
                    .post_or_shed(move |ran: &mut Vec<u32>, cx| {
                        cx.post_or_shed(|_, _| ());
                        if n % 3 == 0 {
                            silent_panic();
                        }
                        ran.push(n);
                    });
            }
            settle(&rt);
            let expected: Vec<_> = (0..100).filter(|n| n % 3 != 0).collect();
            assert_eq!(color.blocking_with(|ran| ran.clone()), expected);
            settle(&rt);
            let metrics = rt.metrics();
            assert_eq!(metrics.total(|w| w.panics), 34);
            assert_eq!(
                metrics.events.run, 201,
                "what a panicked event posted is run"
            );
            let faulty = metrics.handler(FAULTY.name()).expect("it has run");
            assert!(faulty.events >= 100 && faulty.panics >= 34);
            holds(conserved(&metrics.events));
        }
    });
}

#[test]
fn poison_sheds_the_later_events_of_that_color_only() {
    bounded("poison", || {
        for workers in [1, 2, 8] {
            let rt = Runtime::builder()
                .workers(workers)
                .on_panic(OnPanic::PoisonColor);
            let rt = rt.build().expect("a runtime");
            let (sick, well) = (rt.colored(0), rt.colored(0));
            let start = rt
                .color_options()
                .start_on(0)
                .new_color()
                .expect("worker 0");
            let (to_sick, to_well) = (sick.clone(), well.clone());
            start.post_or_shed(move |_, _| {
                for n in 0..20 {
                    to_well.post_or_shed(|n, _| *n += 1);
                    to_sick.post_or_shed(move |ran, _| {
                        *ran += 1;
                        if n == 9 {
                            silent_panic();
                        }
                    });
                }
            });
            settle(&rt);
            assert_eq!(rt.metrics().events.shed, 10);
            assert_eq!(well.blocking_with(|n| *n), 20);
            assert_eq!(sick.try_blocking_with(|n| *n), Err(CallError::Poisoned));
            assert_eq!(sick.call(|n, _| *n).wait(), Err(CallError::Poisoned));
            drop(sick.post_after(std::time::Duration::ZERO, |_, _| ()));
            settle(&rt);
            assert_eq!(rt.metrics().events.shed, 13);
            holds(conserved(&rt.metrics().events));
        }
    });
}

/// Panics again when it is dropped.
struct Bomb(Arc<AtomicU64>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        if !std::thread::panicking() {
            silent_panic();
        }
    }
}

#[test]
fn a_payload_that_panics_when_dropped_is_survived() {
    bounded("payload", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let (color, dropped) = (rt.new_color(), Arc::new(AtomicU64::new(0)));
        for _ in 0..3 {
            let bomb = Bomb(Arc::clone(&dropped));
            color.post_or_shed(move |_, _| std::panic::resume_unwind(Box::new(bomb)));
        }
        assert_eq!(color.call(|_, _| 1).wait(), Ok(1));
        assert_eq!(dropped.load(Relaxed), 3);
    });
}

#[test]
fn a_state_that_panics_when_dropped_is_survived() {
    bounded("state", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let dropped = Arc::new(AtomicU64::new(0));
        for _ in 0..3 {
            // The event has the last reference, so the state ends on the worker.
            let color = rt.colored(Bomb(Arc::clone(&dropped)));
            let last = color.clone();
            let gate = crate::support::Gate::default();
            let wait = gate.clone();
            color.post_or_shed(move |_, _| {
                wait.pass("the test has dropped its reference");
                drop(last);
            });
            drop(color);
            gate.arrive();
        }
        eventually("the states are dropped", || dropped.load(Relaxed) == 3);
        settle(&rt);
        assert_eq!(
            rt.new_color().call(|_, _| 1).wait(),
            Ok(1),
            "the worker lives"
        );
        assert!(rt.shutdown(crate::support::LIMIT).is_ok());
    });
}

#[test]
fn a_cancelled_event_that_panics_when_dropped_is_survived() {
    bounded("cancelled", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let dropped = Arc::new(AtomicU64::new(0));
        let (color, bomb) = (rt.new_color(), Bomb(Arc::clone(&dropped)));
        let pause = std::time::Duration::from_millis(1);
        let timer = color.post_after(pause, move |_, _| drop(bomb));
        let cancelled = timer.cancel();
        eventually("the event is dropped", || dropped.load(Relaxed) == 1);
        assert_eq!(color.call(|_, _| 1).wait(), Ok(1), "the worker lives");
        settle(&rt);
        assert_eq!(rt.metrics().events.cancelled, u64::from(cancelled));
        assert!(rt.shutdown(crate::support::LIMIT).is_ok());
    });
}

#[test]
fn poisoned_events_that_panic_when_dropped_are_survived() {
    bounded("poisoned bombs", || {
        let rt = Runtime::builder().workers(1).on_panic(OnPanic::PoisonColor);
        let rt = rt.build().expect("a runtime");
        let (color, dropped) = (rt.new_color(), Arc::new(AtomicU64::new(0)));
        color.post_or_shed(|_, _| silent_panic());
        for _ in 0..5 {
            let bomb = Bomb(Arc::clone(&dropped));
            color.post_or_shed(move |_, _| drop(bomb));
        }
        settle(&rt);
        assert_eq!(dropped.load(Relaxed), 5);
        assert_eq!(rt.new_color().call(|_, _| 1).wait(), Ok(1));
    });
}

#[test]
fn abort_ends_the_process() {
    const NAME: &str = "panics::abort_ends_the_process";
    if std::env::var_os("MELY_ALONE").is_some() {
        let rt = Runtime::builder()
            .workers(1)
            .on_panic(OnPanic::Abort)
            .build();
        let rt = rt.expect("a runtime");
        rt.new_color().post_or_shed(|_, _| silent_panic());
        settle(&rt);
        return;
    }
    let status = child(NAME).output().expect("the test starts itself").status;
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(6), "{status}");
}
