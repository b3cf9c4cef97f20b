//! How long colors live: weak references, timers that come again, fresh states.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mely::{CallError, Colored, OnPanic, Policy, Runtime, WeakColored};

use crate::checkers::conserved;
use crate::support::{
    Gate, LIMIT, OpenOnDrop, bounded, eventually, holds, panicked, runtime, settle, silent_panic,
};

const SOON: Duration = Duration::from_micros(50);
const LATE: Duration = Duration::from_secs(3_600);

/// Notes that it was dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_weak_reference_keeps_nothing_alive() {
    bounded("weak", || {
        for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
            let rt = Runtime::builder().workers(2).policy(policy).build();
            let (rt, dropped) = (rt.expect("a runtime"), Arc::new(AtomicUsize::new(0)));
            for n in 0..100 {
                let color = rt.colored((n, Counted(Arc::clone(&dropped))));
                let weak = [color.downgrade(), color.downgrade().clone()];
                let again = weak
                    .each_ref()
                    .map(|weak| weak.upgrade().expect("it lives"));
                drop(color);
                assert_eq!(again[0].blocking_with(|state| state.0), n);
                drop(again);
                eventually("it ends", || dropped.load(SeqCst) == n + 1);
                // Its memory is another one's by now.
                let other = rt.colored(Box::new(7));
                assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
                assert_eq!(other.blocking_with(|n| **n), 7);
            }
        }
    });
}

/// Threads make counted references of weak ones while the last of those are dropped and
/// events of the color run.
#[test]
fn a_color_is_found_again_or_has_ended() {
    bounded("races", || {
        let rt = runtime(2);
        let rounds = if cfg!(miri) { 10 } else { 2_000 };
        let dropped = Arc::new(AtomicUsize::new(0));
        let ran = Arc::new(AtomicUsize::new(0));
        let mut posted = 0;
        for _ in 0..rounds {
            let color = rt.colored((0_usize, Counted(Arc::clone(&dropped))));
            let weak = color.downgrade();
            let found: usize = std::thread::scope(|scope| {
                let threads = [(); 2].map(|()| {
                    let (weak, ran) = (weak.clone(), Arc::clone(&ran));
                    scope.spawn(move || {
                        let mut found = 0;
                        while let Some(color) = weak.upgrade().filter(|_| found < 20) {
                            found += 1;
                            let ran = Arc::clone(&ran);
                            color.post_or_shed(move |state, _| {
                                state.0 += 1;
                                ran.fetch_add(1, SeqCst);
                            });
                        }
                        found
                    })
                });
                drop(color);
                threads
                    .map(|thread| thread.join().expect("no panic"))
                    .iter()
                    .sum()
            });
            posted += found;
        }
        settle(&rt);
        eventually("all end", || dropped.load(SeqCst) == rounds);
        assert_eq!(ran.load(SeqCst), posted);
        holds(conserved(&rt.metrics().events));
    });
}

/// Finds itself again by a weak reference while it is dropped.
struct Clings(Arc<Mutex<Option<WeakColored<Clings>>>>, Arc<AtomicUsize>);

impl Drop for Clings {
    fn drop(&mut self) {
        let weak = self.0.lock().expect("no panic under it").take();
        let found = weak.and_then(|weak| weak.upgrade());
        assert!(found.is_none(), "a color that ends is not found");
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_destructor_does_not_find_its_own_color() {
    bounded("clings", || {
        let (rt, dropped) = (runtime(1), Arc::new(AtomicUsize::new(0)));
        let own = Arc::new(Mutex::new(None));
        let color = rt.colored(Clings(Arc::clone(&own), Arc::clone(&dropped)));
        *own.lock().expect("no panic under it") = Some(color.downgrade());
        drop(color);
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

#[test]
fn a_color_with_its_own_repeating_timer_ends() {
    bounded("every", || {
        let (rt, dropped) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let ticked = Gate::default();
        let color = rt.colored((0, Counted(Arc::clone(&dropped))));
        let (gate, captured) = (ticked.clone(), Counted(Arc::clone(&dropped)));
        let timer = color.post_every(SOON, move |(n, _), _| {
            let _kept = &captured;
            *n += 1;
            gate.arrive();
        });
        assert!(ticked.wait_for(5, LIMIT), "it comes again");
        drop(color);
        eventually("its state and the closure go", || dropped.load(SeqCst) == 2);
        eventually("it says so", || !timer.is_pending());
        assert!(!timer.cancel() && !timer.reset_after(SOON));
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn a_repeating_timer_is_cancelled_by_its_own_event_and_goes_on_after_a_panic() {
    bounded("cancelled within", || {
        let rt = runtime(2);
        let color = rt
            .color_options()
            .on_panic(OnPanic::Continue)
            .colored(0)
            .expect("no home was chosen");
        let dropped = Arc::new(AtomicUsize::new(0));
        let (own, done) = (Arc::new(Mutex::new(None::<mely::Timer>)), Gate::default());
        let (inside, gate) = (Arc::clone(&own), done.clone());
        let captured = Counted(Arc::clone(&dropped));
        let timer = color.post_every(SOON, move |n, _| {
            let _kept = &captured;
            *n += 1;
            if *n == 3 {
                silent_panic();
            }
            if *n > 5
                && inside
                    .lock()
                    .expect("no panic under it")
                    .as_ref()
                    .is_some_and(|own| own.cancel())
            {
                gate.arrive();
            }
        });
        *own.lock().expect("no panic under it") = Some(timer.clone());
        done.pass("it cancels itself");
        settle(&rt);
        eventually("the closure goes", || dropped.load(SeqCst) == 1);
        assert!(!timer.is_pending());
        let ran = color.blocking_with(|n| *n);
        assert!(ran >= 6, "{ran}");
        assert_eq!(color.blocking_with(|n| *n), ran, "no more of them");
    });
}

#[test]
fn an_event_of_a_repeating_timer_that_is_cancelled_while_it_waits_does_not_begin() {
    bounded("waits", || {
        let rt = runtime(1);
        let (color, held) = (rt.colored(0), rt.new_color());
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        let timer = color.post_every(Duration::ZERO, |n, _| *n += 1);
        held.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the timer is cancelled");
        });
        begun.pass("the worker is held");
        assert!(timer.cancel());
        drop(release);
        settle(&rt);
        let ran = color.blocking_with(|n| *n);
        settle(&rt);
        assert_eq!(color.blocking_with(|n| *n), ran);
    });
}

#[test]
fn a_repeating_timer_ends_with_its_runtime() {
    bounded("shutdown", || {
        let (rt, dropped) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let color = rt.colored(0);
        let timers: Vec<_> = [SOON, LATE, Duration::ZERO, Duration::MAX]
            .into_iter()
            .map(|period| {
                let captured = Counted(Arc::clone(&dropped));
                color.post_every(period, move |n, _| {
                    let _kept = &captured;
                    *n += 1;
                })
            })
            .collect();
        let handle = rt.clone();
        rt.shutdown(LIMIT)
            .expect("none of them is pending for ever");
        assert_eq!(dropped.load(SeqCst), 4);
        assert!(timers.iter().all(|timer| !timer.is_pending()));
        let late = Counted(Arc::clone(&dropped));
        assert!(
            !color
                .post_every(SOON, move |_, _| drop(late.0.clone()))
                .is_pending()
        );
        assert_eq!(dropped.load(SeqCst), 5);
        holds(conserved(&handle.metrics().events));
    });
}

#[test]
fn a_color_says_what_its_panics_do() {
    bounded("by color", || {
        for of_runtime in [OnPanic::Continue, OnPanic::PoisonColor] {
            let rt = Runtime::builder().workers(1).on_panic(of_runtime).build();
            let rt = rt.expect("a runtime");
            let made = |on_panic| rt.color_options().on_panic(on_panic).colored(1);
            let [plain, goes_on, poisoned] = [
                Ok(rt.colored(1)),
                made(OnPanic::Continue),
                made(OnPanic::PoisonColor),
            ]
            .map(|color| color.expect("no home was chosen"));
            let after = |color: &Colored<i32>| {
                assert_eq!(
                    color.try_blocking_with(|_| -> () { silent_panic() }),
                    panicked()
                );
                color.try_blocking_with(|n| *n)
            };
            let expected = match of_runtime {
                OnPanic::Continue => Ok(1),
                _ => Err(CallError::Poisoned),
            };
            assert_eq!(after(&plain), expected);
            assert_eq!(after(&goes_on), Ok(1));
            assert_eq!(after(&poisoned), Err(CallError::Poisoned));
        }
    });
}

#[test]
fn a_color_restarts_with_a_fresh_state() {
    bounded("restarts", || {
        let rt = Runtime::builder()
            .workers(2)
            .on_panic(OnPanic::PoisonColor)
            .build();
        let rt = rt.expect("a runtime");
        let (made, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (makes, drops) = (Arc::clone(&made), Arc::clone(&dropped));
        let make = move || {
            let n = makes.fetch_add(1, SeqCst);
            (vec![n], Counted(Arc::clone(&drops)))
        };
        let color = rt.color_options().restarting(make).expect("no home");
        let beside = color.attach(vec![0]);
        for n in 0..20 {
            beside.post_or_shed(move |list, _| list.push(n));
            assert_eq!(color.blocking_with(|(list, _)| list.clone()), [n]);
            let left = color.try_blocking_with(|(list, _)| -> () {
                list.clear();
                silent_panic()
            });
            assert_eq!(left, panicked());
        }
        // By a task, too, which finds the fresh state after.
        let task = color.spawn_with(async |mut own: mely::TaskState<(Vec<usize>, Counted)>| {
            own.with(|(list, _)| list.push(99));
        });
        assert_eq!(task.wait(), Ok(()));
        assert_eq!(color.blocking_with(|(list, _)| list.clone()), [20, 99]);
        assert_eq!(
            beside.blocking_with(|list| list.len()),
            21,
            "other states stay"
        );
        drop((color, beside));
        eventually("all states go", || dropped.load(SeqCst) == 21);
        assert_eq!(made.load(SeqCst), 21);
    });
}

/// A factory that posts, attaches, drops the last handle, and then panics.
#[test]
fn a_factory_may_do_what_it_likes() {
    bounded("factory", || {
        let rt = runtime(1);
        let own = Arc::new(Mutex::new(None::<Colored<u32>>));
        let (inside, runs) = (Arc::clone(&own), Gate::default());
        let (mut left, gate) = (3, runs.clone());
        let make = move || {
            left -= 1;
            if let Some(color) = &*inside.lock().expect("no panic under it") {
                let gate = gate.clone();
                drop(color.attach(Box::new(left)));
                color.post_or_shed(move |_, _| gate.arrive());
            }
            if left == 0 {
                drop(inside.lock().expect("no panic under it").take());
                silent_panic();
            }
            left
        };
        let color = rt.color_options().restarting(make).expect("no home");
        *own.lock().expect("no panic under it") = Some(color.clone());
        assert_eq!(color.blocking_with(|n| *n), 2);
        assert_eq!(
            color.try_blocking_with(|_| -> () { silent_panic() }),
            panicked()
        );
        assert_eq!(color.blocking_with(|n| *n), 1);
        assert_eq!(
            color.try_blocking_with(|_| -> () { silent_panic() }),
            panicked()
        );
        // The factory itself panicked: the color is poisoned, and the worker lives.
        assert_eq!(color.try_blocking_with(|n| *n), Err(CallError::Poisoned));
        assert!(runs.wait_for(1, LIMIT));
        assert_eq!(rt.new_color().call(|_, _| 1).wait(), Ok(1));
    });
}
