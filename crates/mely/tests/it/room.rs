//! Bounded colors: room for control beside data, and those who wait for room.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mely::{CallError, Colored, Handle, OnPanic, Pending, Policy, PostError, Runtime};

use crate::checkers::conserved;
use crate::support::{
    Gate, OpenOnDrop, WAIT, block_on, bounded, eventually, holds, runtime, settle, silent_panic,
};

/// A color with this capacity whose worker waits in an event until the gate opens.
fn held(rt: &Handle, capacity: usize) -> (Colored<Vec<u32>>, OpenOnDrop) {
    let options = rt.color_options().capacity(capacity).control_capacity(2);
    let color = options.colored(Vec::new()).expect("no home was chosen");
    let (begun, goes_on) = (Gate::default(), Gate::default());
    let (begins, waits) = (begun.clone(), goes_on.clone());
    color.post_or_shed(move |_, _| {
        begins.arrive();
        waits.pass("the test lets it go on");
    });
    begun.pass("it is held");
    (color, OpenOnDrop(goes_on))
}

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(woken));
    pin!(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn control_comes_through_where_data_is_shed() {
    bounded("control", || {
        let rt = runtime(1);
        let (color, open) = held(&rt, 1);
        assert!(color.post(|log, _| log.push(1)).is_ok());
        assert!(matches!(color.post(|_, _| ()), Err(PostError::Full(_))));
        for n in [2, 3] {
            assert!(color.post_control(move |log, _| log.push(n)).is_ok());
        }
        let full = color.post_control(|log, _| log.push(4));
        assert!(matches!(full, Err(PostError::Full(_))));
        drop((full, open));
        settle(&rt);
        // Both have all their room again.
        assert_eq!(color.blocking_with(|log| log.clone()), [1, 2, 3]);
        assert!(color.post_control(|log, _| log.push(5)).is_ok());
        settle(&rt);
        color.stop(Pending::Drop);
        let closed = color.post_control(|_, _| ());
        assert!(matches!(closed, Err(PostError::Closed(_))));
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn who_waits_for_room_is_woken_in_turn() {
    bounded("in turn", || {
        let rt = runtime(1);
        let (color, open) = held(&rt, 2);
        for n in [0, 1] {
            assert!(color.post(move |log, _| log.push(n)).is_ok());
        }
        let woken: Vec<_> = (0..4).map(|_| Arc::new(Woken::default())).collect();
        let mut waiting: Vec<_> = (10..14)
            .map(|n| color.post_when_room(move |log, _| log.push(n)))
            .collect();
        for (future, woken) in waiting.iter_mut().zip(&woken) {
            assert!(poll(future, woken).is_pending());
        }
        assert_eq!(rt.metrics().events.shed, 0, "who waits is not shed");
        // The first gives up; what is woken in its place is the next one.
        drop(waiting.remove(0));
        drop(open);
        settle(&rt);
        let counts = || {
            woken
                .iter()
                .map(|woken| woken.0.load(SeqCst))
                .collect::<Vec<_>>()
        };
        assert_eq!(counts(), [0, 1, 1, 0]);
        // Woken, and gone: the next one takes its turn.
        drop(waiting.remove(0));
        assert_eq!(counts(), [0, 1, 1, 1]);
        for (future, woken) in waiting.iter_mut().zip(&woken[2..]) {
            assert!(matches!(poll(future, woken), Poll::Ready(Ok(()))));
        }
        settle(&rt);
        assert_eq!(color.blocking_with(|log| log.clone()), [0, 1, 12, 13]);
    });
}

/// Room that a stop, a panic or a shutdown takes away for good is told to all who wait.
#[test]
fn who_waits_for_what_ends_is_told() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        for ends in 0..4 {
            bounded("told", move || {
                let rt = Runtime::builder().workers(1).policy(policy);
                let rt = rt
                    .on_panic(OnPanic::PoisonColor)
                    .build()
                    .expect("a runtime");
                let (color, open) = held(&rt, 1);
                if ends == 1 {
                    color.post_or_shed(|_, _| silent_panic());
                } else {
                    color.post_or_shed(|_, _| ());
                }
                let threads: Vec<_> = (0..3)
                    .map(|_| {
                        let (color, started) = (color.clone(), Gate::default());
                        let begun = started.clone();
                        let thread = std::thread::spawn(move || {
                            let mut waiting = color.post_when_room(|_, _| std::hint::spin_loop());
                            let woken = Arc::default();
                            assert!(poll(&mut waiting, &woken).is_pending());
                            begun.arrive();
                            block_on(waiting)
                        });
                        started.pass("it waits");
                        thread
                    })
                    .collect();
                match ends {
                    0 => color.stop(Pending::Drop),
                    1 => drop(open),
                    2 => {
                        drop(open);
                        drop(rt.shutdown(WAIT));
                    }
                    _ => _ = rt.shutdown(Duration::ZERO).is_err(),
                }
                for thread in threads {
                    let posted = thread.join().expect("no panic");
                    // Room may have come before the end.
                    assert!(matches!(
                        (ends, posted),
                        (_, Err(PostError::Closed(_)))
                            | (1, Err(PostError::Poisoned(_)))
                            | (1 | 2, Ok(()))
                    ));
                }
            });
        }
    }
}

#[test]
fn a_call_waits_for_room_and_then_for_its_answer() {
    bounded("a call", || {
        let rt = runtime(1);
        let (color, open) = held(&rt, 1);
        assert!(color.post(|log, _| log.push(1)).is_ok());
        let woken = [(); 2].map(|()| Arc::new(Woken::default()));
        let count = |log: &mut Vec<u32>, _: &mut mely::Context<'_, _>| {
            log.push(2);
            log.len()
        };
        let mut call = color.call_when_room(count);
        // Both wait in one line.
        let mut post = color.post_when_room(|log, _| log.push(3));
        assert!(poll(&mut call, &woken[0]).is_pending());
        assert!(poll(&mut post, &woken[1]).is_pending());
        // Who gives up has called nobody.
        let dropped = color.call_when_room(|_, _| unreachable!("nobody waits for it"));
        drop(dropped);
        assert_eq!(rt.metrics().events.shed, 0, "who waits is not shed");
        drop(open);
        eventually("it is its turn", || woken[0].0.load(SeqCst) == 1);
        assert_eq!(woken[1].0.load(SeqCst), 0);
        assert_eq!(block_on(call), Ok(2));
        assert!(block_on(post).is_ok());
        settle(&rt);
        assert_eq!(color.blocking_with(|log| log.clone()), [1, 2, 3]);
        holds(conserved(&rt.metrics().events));
    });
}

/// Why there will be no answer, whether it waits for room, in the queue or not at all.
#[test]
fn a_call_that_waits_for_what_ends_is_told() {
    bounded("told", || {
        let rt = runtime(1);
        let (color, open) = held(&rt, 1);
        assert!(color.post(|_, _| ()).is_ok());
        let mut waits = color.call_when_room(|_, _| 5);
        assert!(poll(&mut waits, &Arc::default()).is_pending());
        color.stop(Pending::Drop);
        assert_eq!(block_on(waits), Err(CallError::Closed));
        drop(open);
        let (color, open) = held(&rt, 1);
        let mut queued = color.call_when_room(|_, _| 5);
        assert!(poll(&mut queued, &Arc::default()).is_pending());
        color.stop(Pending::Drop);
        drop(open);
        assert_eq!(block_on(queued), Err(CallError::Dropped));
        let none = rt.color_options().capacity(0).new_color().expect("no home");
        assert_eq!(
            block_on(none.call_when_room(|(), _| 5)),
            Err(CallError::Full)
        );
        let poisoned = rt.color_options().on_panic(OnPanic::PoisonColor);
        let poisoned = poisoned.new_color().expect("no home");
        let panics = poisoned.call_when_room(|(), _| silent_panic());
        assert!(matches!(block_on(panics), Err(CallError::Panicked(_))));
        let late = poisoned.call_when_room(|(), _| 5);
        assert_eq!(block_on(late), Err(CallError::Poisoned));
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}

/// Tasks on many workers call through one place, and each call is answered once.
#[test]
fn a_narrow_color_answers_all_who_call() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        bounded("narrow", move || {
            let rt = Runtime::builder().workers(2).policy(policy).build();
            let rt = rt.expect("a runtime");
            let options = rt.color_options().capacity(1);
            let store = options.colored(0_u64).expect("no home");
            let count = if cfg!(miri) { 5 } else { 300 };
            let callers: Vec<_> = (0..4)
                .map(|_| {
                    let store = store.clone();
                    rt.new_color().spawn(async move {
                        let mut got = Vec::new();
                        for _ in 0..count {
                            let called = store.call_when_room(|sum, _| {
                                *sum += 1;
                                *sum
                            });
                            got.push(called.await.expect("it goes on"));
                        }
                        got
                    })
                })
                .collect();
            let got = callers.into_iter().map(|caller| caller.wait());
            let mut got: Vec<_> = got.flat_map(|got| got.expect("it ends")).collect();
            got.sort_unstable();
            assert!(got.into_iter().eq(1..=4 * count));
            settle(&rt);
            holds(conserved(&rt.metrics().events));
        });
    }
}

#[test]
fn tasks_of_a_full_color_do_not_take_its_room_from_each_other() {
    bounded("tasks that wait", || {
        const TASKS: u32 = 5;
        let rt = runtime(1);
        // Polls take no place: each that began would give its own to the next who waits, whose
        // poll would take it, and so on without an end.
        for capacity in [1, 2] {
            let colors = [(); 2].map(|()| {
                let color = rt.color_options().capacity(capacity).colored(0u32);
                color.expect("no home was chosen")
            });
            let tasks = |at: usize, to: usize| {
                let (color, to) = (&colors[at], colors[to].clone());
                [(); TASKS as usize].map(|()| {
                    let to = to.clone();
                    let posts = async move { to.post_when_room(|n, _| *n += 1).await.is_ok() };
                    color.spawn(posts)
                })
            };
            // Of their own color, and two that wait for each other.
            let all = [tasks(0, 0), tasks(0, 1), tasks(1, 0)];
            for task in all.into_iter().flatten() {
                assert_eq!(task.wait(), Ok(true));
            }
            settle(&rt);
            let posted = colors.map(|color| color.blocking_with(|n| *n));
            assert_eq!(posted, [2 * TASKS, TASKS]);
        }
    });
}

#[test]
fn no_room_at_all_is_said_at_once() {
    bounded("no room", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(0).new_color().expect("no home");
        let posted = block_on(color.post_when_room(|(), _| ()));
        assert!(matches!(posted, Err(PostError::Full(_))));
        let unbounded = rt.new_color();
        assert!(block_on(unbounded.post_when_room(|(), _| ())).is_ok());
    });
}

/// An event of a color of its own has its place, though that color has room for no other.
#[test]
fn what_runs_in_parallel_has_its_place() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        bounded("in parallel", move || {
            let rt = Runtime::builder().workers(1).policy(policy);
            let rt = rt.color_capacity(0).build().expect("a runtime");
            let color = rt
                .color_options()
                .capacity(10)
                .new_color()
                .expect("no home");
            let (tell, told) = mpsc::channel();
            color.post_or_shed(move |(), cx| {
                // The second one may follow in the turn of the first.
                for _ in 0..2 {
                    let tell = tell.clone();
                    cx.post_parallel(move |(), cx| {
                        let own = cx.color();
                        let control = own.post_control(|(), _| ()).is_ok();
                        let data = own.post(|(), _| ());
                        let is_full = matches!(data, Err(PostError::Full(_)));
                        _ = tell.send((control, is_full));
                    });
                }
            });
            settle(&rt);
            assert_eq!(told.iter().collect::<Vec<_>>(), [(true, true); 2]);
            holds(conserved(&rt.metrics().events));
        });
    }
}

fn add(sum: &mut u64, _: &mut mely::Context<'_, u64>) {
    *sum += 1;
}

/// Many post through a narrow color, some give up halfway: whoever does not comes through.
#[test]
fn a_narrow_color_takes_all_who_wait() {
    for (policy, workers) in [
        (Policy::Adaptive, 2),
        (Policy::LibasyncSmp, 2),
        (Policy::Mely, 1),
    ] {
        bounded("narrow", move || {
            let rt = Runtime::builder().workers(workers).policy(policy).build();
            let rt = rt.expect("a runtime");
            let count: u32 = if cfg!(miri) { 5 } else { 300 };
            let log = rt
                .color_options()
                .capacity(2)
                .colored(0_u64)
                .expect("no home");
            let posters: Vec<_> = (0..4)
                .map(|poster| {
                    let log = log.clone();
                    rt.new_color().spawn(async move {
                        for n in 0..count {
                            let again = || log.post_when_room(add);
                            let mut waiting = again();
                            if n % 3 == poster % 3 {
                                // Waits a little, and gives up.
                                let woken = Arc::default();
                                if poll(&mut waiting, &woken).is_pending() {
                                    drop(waiting);
                                    waiting = again();
                                } else {
                                    continue;
                                }
                            }
                            waiting.await.expect("it goes on");
                        }
                    })
                })
                .collect();
            for poster in posters {
                poster.wait().expect("it comes to its end");
            }
            settle(&rt);
            assert_eq!(log.blocking_with(|log| *log), 4 * u64::from(count));
            holds(conserved(&rt.metrics().events));
        });
    }
}

#[test]
fn what_is_dispatched_runs_now_or_later() {
    bounded("dispatch", || {
        let rt = runtime(1);
        let (own, other) = (rt.colored(vec![]), rt.colored(vec![]));
        // The same color with another state: there the event cannot run now.
        let beside = own.color().attach(vec![]);
        let targets = [own.clone(), other.clone(), beside.clone()];
        own.post_or_shed(move |log, cx| {
            cx.post_or_shed(|log, _| log.push(3));
            for target in &targets {
                let posted = target.dispatch(log, cx, |log: &mut Vec<_>, cx| {
                    log.push(1);
                    cx.post_or_shed(|log, _| log.push(4));
                });
                assert!(posted.is_ok());
            }
            log.push(2);
        });
        eventually("all has run", || rt.metrics().events.run == 7);
        assert_eq!(own.blocking_with(|log| log.clone()), [1, 2, 3, 4]);
        assert_eq!(other.blocking_with(|log| log.clone()), [1, 4]);
        assert_eq!(beside.blocking_with(|log| log.clone()), [1, 4]);
    });
}
