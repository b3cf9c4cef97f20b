//! Colors: posting, order, bounds, places.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use mely::{Color, Handle, NoSuchWorker, PostError, Runtime};

use crate::checkers::conserved;
use crate::support::{Gate, OpenOnDrop, WAIT, bounded, holds, runtime, settle};

#[test]
fn a_worker_that_does_not_exist_is_refused_and_named() {
    let rt = runtime(2);
    let refused = NoSuchWorker {
        worker: 2,
        workers: 2,
    };
    assert_eq!(
        rt.color_options().pin_to(2).new_color().err(),
        Some(refused.clone())
    );
    assert_eq!(
        rt.color_options().start_on(2).colored(1).err(),
        Some(refused.clone())
    );
    assert!(refused.to_string().contains("0 to 1"), "{refused}");
    assert!(rt.color_options().start_on(usize::MAX).new_color().is_err());
}

#[test]
fn a_full_color_gives_the_event_back_and_counts_it_as_shed() {
    bounded("full", || {
        let rt = runtime(1);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let color = rt.color_options().capacity(2).colored(Vec::new());
        let color = color.expect("no home was asked for");
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the test goes on");
        });
        begun.pass("the first event begins");
        // The running event is not pending any more: there is room for two.
        color.post_or_shed(|ran: &mut Vec<u8>, _| ran.push(1));
        assert!(color.post(|ran, _| ran.push(2)).is_ok());
        let token = Arc::new(());
        let held = Arc::clone(&token);
        let refused = color.post(move |_, _| drop(held)).unwrap_err();
        assert!(matches!(refused, PostError::Full(_)), "{refused}");
        assert_eq!(Arc::strong_count(&token), 2, "the event is given back");
        let event = refused.into_event();
        let held = Arc::clone(&token);
        color.post_or_shed(move |_, _| drop(held));
        assert_eq!(Arc::strong_count(&token), 2, "a shed event is dropped");
        assert_eq!(rt.metrics().events.shed, 2);
        drop(release);
        settle(&rt);
        assert!(color.post(event).is_ok(), "there is room again");
        assert_eq!(color.blocking_with(|ran| ran.clone()), [1, 2]);
        settle(&rt);
        assert_eq!(Arc::strong_count(&token), 1);
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn a_full_color_sheds_what_its_own_handler_posts() {
    bounded("full of itself", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(3).colored(0);
        let color = color.expect("no home was asked for");
        color.post_or_shed(|_, cx| (0..10).for_each(|_| cx.post_or_shed(|n, _| *n += 1)));
        settle(&rt);
        assert_eq!(color.blocking_with(|n| *n), 3);
        // A section is counted a moment after its caller goes on.
        settle(&rt);
        let events = rt.metrics().events;
        assert_eq!(events.shed, 7);
        holds(conserved(&events));
    });
}

#[test]
fn a_capacity_of_none_refuses_all_but_timers() {
    bounded("no capacity", || {
        let rt = Runtime::builder().workers(1).color_capacity(0).build();
        let rt = rt.expect("a runtime");
        let color = rt.new_color();
        assert!(matches!(color.post(|_, _| ()), Err(PostError::Full(_))));
        assert_eq!(color.try_blocking_with(|_| ()), Err(mely::CallError::Full));
        assert_eq!(color.call(|_, _| ()).wait(), Err(mely::CallError::Full));
        let shed = rt.metrics().events.shed;
        let timer = color.post_after(std::time::Duration::ZERO, |_, _| ());
        settle(&rt);
        assert!(!timer.is_pending() && !timer.cancel());
        assert_eq!((shed, rt.metrics().events.shed), (3, 3));
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn a_pinned_color_stays_on_its_worker() {
    bounded("pinned", || {
        let rt = runtime(4);
        let strangers = Arc::new(AtomicU64::new(0));
        for worker in 0..4 {
            // All of worker 0's load could be stolen, but for what is pinned.
            for _ in 0..100 {
                let home = rt
                    .color_options()
                    .start_on(0)
                    .new_color()
                    .expect("worker 0");
                (0..20).for_each(|_| home.post_or_shed(|_, _| std::hint::spin_loop()));
            }
            let color = rt
                .color_options()
                .pin_to(worker)
                .new_color()
                .expect("a worker");
            for _ in 0..500 {
                let strangers = Arc::clone(&strangers);
                color.post_or_shed(move |_, cx| {
                    strangers.fetch_add(u64::from(cx.worker() != worker), Relaxed);
                });
            }
        }
        settle(&rt);
        assert_eq!(strangers.load(Relaxed), 0);
    });
}

#[test]
fn the_same_number_is_the_same_color() {
    let rt = runtime(2);
    let (a, b, c) = (
        rt.numbered_color(7),
        rt.numbered_color(7),
        rt.numbered_color(8),
    );
    assert!(a == b && a != c && a != rt.new_color());
    assert_eq!((a.id(), c.id()), (7, 8));
    assert!(rt.new_color().id() > u64::from(u16::MAX));
    assert!(a.attach(1) == b.attach("x"));
    assert_eq!(rt.numbered_color(u16::MAX).id(), u64::from(u16::MAX));
}

#[test]
fn the_states_of_one_color_are_never_reached_at_once() {
    bounded("attached", || {
        let rt = runtime(4);
        let inside = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let parts: Vec<_> = (0..4)
            .map(|_| {
                rt.numbered_color(3)
                    .attach((Arc::clone(&inside), 0u64, 0u64))
            })
            .collect();
        for _ in 0..500 {
            for part in &parts {
                part.post_or_shed(|(inside, ran, at_once), _| {
                    *at_once += u64::from(inside.swap(true, Relaxed));
                    *ran += 1;
                    inside.store(false, Relaxed);
                });
            }
        }
        for part in &parts {
            assert_eq!(
                part.blocking_with(|(_, ran, at_once)| (*ran, *at_once)),
                (500, 0)
            );
        }
    });
}

#[test]
fn what_a_handler_posts_to_itself_runs_after_what_it_posted_before() {
    bounded("own order", || {
        let rt = runtime(1);
        let color = rt.colored(Vec::new());
        color.post_or_shed(|seen: &mut Vec<u32>, cx| {
            let this = cx.colored();
            // Three ways to the same color, one order.
            this.post_or_shed(|seen, _| seen.push(1));
            cx.post_or_shed(|seen, _| seen.push(2));
            drop(this.call(|seen, _| seen.push(3)));
            cx.color().post_or_shed(|_, _| ());
            cx.post_or_shed(|seen, _| seen.push(4));
            this.post_or_shed(|seen, _| seen.push(5));
            seen.push(0);
        });
        settle(&rt);
        assert_eq!(color.blocking_with(|seen| seen.clone()), [0, 1, 2, 3, 4, 5]);
    });
}

#[test]
fn every_thread_keeps_its_order() {
    bounded("orders", || {
        const EACH: u64 = 3_000;
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            let color = rt.colored(vec![0u64; 4]);
            let start = Barrier::new(4);
            thread::scope(|scope| {
                for thread in 0..4 {
                    let (color, start) = (&color, &start);
                    scope.spawn(move || {
                        start.wait();
                        for n in 0..EACH {
                            color.post_or_shed(move |next, _| {
                                assert_eq!(next[thread], n);
                                next[thread] += 1;
                            });
                        }
                    });
                }
            });
            assert_eq!(color.blocking_with(|next| next.clone()), [EACH; 4]);
            assert_eq!(rt.metrics().total(|w| w.panics), 0);
        }
    });
}

#[test]
fn large_aligned_and_empty_closures_and_states_arrive_whole() {
    bounded("sizes", || {
        #[repr(align(128))]
        struct Aligned(u8);
        let rt = runtime(2);
        let state = rt.colored(Aligned(1));
        let (large, aligned) = ([7u64; 100], Aligned(2));
        state.post_or_shed(move |state, _| {
            state.0 += u8::try_from(large.iter().sum::<u64>() / 100).unwrap_or(0)
        });
        state.post_or_shed(move |state, _| {
            let whole = aligned;
            assert_eq!((&raw const whole).addr() % 128, 0);
            state.0 += whole.0;
        });
        state.post_or_shed(|_, _| ());
        assert_eq!(
            state.blocking_with(|s| (s.0, (&raw const *s).addr() % 128)),
            (10, 0)
        );
        assert_eq!(rt.metrics().total(|w| w.panics), 0);
    });
}

#[test]
fn a_color_is_shown_by_its_number_and_a_handler_by_its_place() {
    bounded("shown", || {
        let rt = runtime(1);
        assert_eq!(format!("{:?}", rt.numbered_color(5)), "Colored(5)");
        let shown = rt
            .numbered_color(5)
            .call(|_, cx| format!("{cx:?} {:?}", cx.handle()));
        let shown = shown.wait().expect("an answer");
        assert!(
            shown.contains("color: 5") && shown.contains("workers: 1"),
            "{shown}"
        );
        assert!(
            rt.numbered_color(5)
                .call(|_, cx| cx.now() <= std::time::Instant::now())
                .wait()
                == Ok(true)
        );
    });
}

#[test]
fn an_event_knows_its_color_without_its_context() {
    bounded("current", || {
        let rt = runtime(2);
        let colors: Vec<_> = (0..50).map(|_| rt.new_color()).collect();
        let wrong = Arc::new(AtomicU64::new(0));
        for (color, other) in colors.iter().zip(colors.iter().skip(1)) {
            let (own, other, wrong) = (color.clone(), other.clone(), Arc::clone(&wrong));
            color.post_or_shed(move |_, cx| {
                let right = Color::current().as_ref() == Some(&own)
                    && own.is_current()
                    && !other.is_current();
                wrong.fetch_add(u64::from(!right), Relaxed);
                // A color that is made for one event has no other name.
                let wrong = Arc::clone(&wrong);
                cx.post_parallel(move |_, cx| {
                    let right = Color::current() == Some(cx.color());
                    wrong.fetch_add(u64::from(!right), Relaxed);
                });
            });
        }
        settle(&rt);
        assert_eq!(wrong.load(Relaxed), 0);
        assert_eq!(Color::current(), None);
        assert!(!colors[0].is_current());
    });
}

/// Tells when it is dropped whether that is where it should be.
struct Tells<F: Fn() -> bool>(F, mpsc::Sender<bool>);

impl<F: Fn() -> bool> Drop for Tells<F> {
    fn drop(&mut self) {
        _ = self.1.send((self.0)());
    }
}

/// Each of a test has another number of workers.
fn is_current(rt: &Handle) -> impl Fn() -> bool + Clone + Send + 'static {
    let workers = rt.workers();
    move || Handle::current().is_some_and(|handle| handle.workers() == workers)
}

#[test]
fn what_a_worker_calls_knows_its_runtime() {
    bounded("its runtime", || {
        let runtimes = [runtime(1), runtime(2)];
        for (rt, other) in [(0, 1), (1, 0)] {
            let (rt, other) = (&runtimes[rt], &runtimes[other]);
            let (is_here, is_there) = (is_current(rt), is_current(other));
            let (color, far) = (rt.new_color(), other.new_color());
            let (tell, told) = mpsc::channel();
            let tells = || Tells(is_here.clone(), tell.clone());
            // Where one waits for the other, each has its own.
            let (here, captured) = (is_here.clone(), tells());
            let both = color.call(move |(), _| {
                let _captured = captured;
                (far.blocking_with(|()| is_there()), here())
            });
            assert_eq!(both.wait(), Ok((true, true)));
            let here = is_here.clone();
            let task = color.spawn(async move { here() });
            assert_eq!(task.wait(), Ok(true));
            // Outside of any event: the last handle goes with an event of another color.
            let state = rt.colored(tells());
            assert_eq!(color.call(move |(), _| drop(state)).wait(), Ok(()));
            for _ in 0..2 {
                assert_eq!(told.recv(), Ok(true));
            }
        }
        assert!(Handle::current().is_none());
        let outside = thread::spawn(|| Handle::current().is_none());
        assert!(outside.join().expect("no panic"));
        let (tell, told) = mpsc::channel();
        let kept = runtimes.each_ref().map(|rt| {
            let tells = Tells(is_current(rt), tell.clone());
            rt.colored(tells)
        });
        for rt in runtimes {
            rt.shutdown(WAIT).expect("it ends");
            assert_eq!(told.recv(), Ok(true), "the last worker drops the states");
        }
        drop(kept);
    });
}
