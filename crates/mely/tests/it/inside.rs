//! Calls whose answer is awaited where they are made: the called color runs inside.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::{Context, Poll, Waker};

use mely::{CallError, Colored, Handler, OnPanic, Pending, Reply, Runtime};

use crate::support::{bounded, panicked, runtime, silent_panic};

/// So many attempts: what runs inside must first be known to be short, and nobody else may
/// have taken it.
const ATTEMPTS: usize = 100_000;

/// The answer, if it is there when it is asked for.
fn at_once<R>(reply: Reply<R>) -> Option<Result<R, CallError>> {
    let mut reply = pin!(reply);
    match reply.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Runs `attempt` in handlers of a color until it says that what it called ran inside.
fn until_inside<T, F>(rt: &Runtime, caller: &Colored<T>, attempt: F)
where
    T: Send + 'static,
    F: Fn(&mut T, &mut mely::Context<'_, T>) -> bool + Send + Sync + 'static,
{
    let attempt = Arc::new(attempt);
    for _ in 0..ATTEMPTS {
        let attempt = Arc::clone(&attempt);
        let done = caller.call(move |state, cx| attempt(state, cx)).wait();
        if done == Ok(true) {
            return;
        }
        rt.wait_idle();
    }
    panic!("nothing has run inside");
}

/// A called color whose events are known to be short.
fn known<T: Send + 'static>(rt: &Runtime, state: T) -> Colored<T> {
    let color = rt.colored(state);
    for _ in 0..100 {
        color.blocking_with(|_| ());
    }
    color
}

#[test]
fn an_answer_may_be_there_when_it_is_asked_for() {
    bounded("at once", || {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let (caller, counter) = (rt.colored(()), known(&rt, 0u64));
            until_inside(&rt, &caller, move |(), cx| {
                let (me, other) = (cx.colored(), counter.clone());
                let call = counter.call(move |n, cx| {
                    *n += 1;
                    (cx.colored() == other, *n)
                });
                let answer = at_once(call);
                // Whatever ran inside, this is the color around it again.
                assert!(me == cx.colored());
                answer.is_some_and(|answer| matches!(answer, Ok((true, 1..))))
            });
        }
    });
}

#[test]
fn what_runs_inside_posts_behind_what_was_posted_before() {
    bounded("order", || {
        let rt = runtime(1);
        let called = known(&rt, ());
        for _ in 0..ATTEMPTS {
            let (caller, called) = (rt.colored(Vec::new()), called.clone());
            let inside = caller.call(move |_, cx| {
                cx.post_or_shed(|said, _| said.push(1));
                let me = cx.colored();
                let call = called.call(move |(), _| me.post_or_shed(|said, _| said.push(2)));
                let inside = at_once(call).is_some();
                cx.post_or_shed(|said, _| said.push(3));
                inside
            });
            let inside = inside.wait() == Ok(true);
            rt.wait_idle();
            let said = caller.blocking_with(std::mem::take);
            match inside {
                true => return assert_eq!(said, [1, 2, 3]),
                false => assert_eq!(said, [1, 3, 2]),
            }
        }
        panic!("nothing has run inside");
    });
}

#[test]
fn a_color_that_waits_for_its_turn_runs_inside_as_well() {
    bounded("waits", || {
        let rt = runtime(1);
        let (caller, called) = (rt.colored(()), known(&rt, Vec::new()));
        let between = rt.colored(());
        let said = caller.call(move |(), _| {
            called.post_or_shed(|said, _| said.push(1));
            between.post_or_shed(|(), _| ());
            at_once(called.call(|said, _| {
                said.push(2);
                said.clone()
            }))
        });
        assert_eq!(said.wait(), Ok(Some(Ok(vec![1, 2]))));
    });
}

#[test]
fn what_others_post_to_it_meanwhile_runs_inside_as_well() {
    bounded("meanwhile", || {
        let rt = runtime(1);
        let (caller, called) = (rt.colored(()), known(&rt, 0));
        let reads = called.clone();
        let seen = caller.call(move |(), _| {
            let other = called.clone();
            let call = called.call(move |n, _| {
                let post = move || other.post_or_shed(|n, _| *n += 10);
                std::thread::spawn(post).join().expect("it posts");
                *n += 1;
            });
            let inside = at_once(call).is_some();
            // Nothing of it waits, so this is not behind anything.
            (inside, at_once(reads.call(|n, _| *n)))
        });
        assert_eq!(seen.wait(), Ok((true, Some(Ok(11)))));
    });
}

#[test]
fn what_it_posts_to_itself_waits_for_a_turn_of_its_own() {
    bounded("to itself", || {
        for posts in [1, 2] {
            let rt = runtime(1);
            let (caller, called) = (rt.colored(()), known(&rt, ()));
            let later = Arc::new(AtomicBool::new(false));
            let seen = caller.call(move |(), _| {
                let ran = Arc::clone(&later);
                let call = called.call(move |(), cx| {
                    for _ in 0..posts {
                        let ran = Arc::clone(&ran);
                        cx.post_or_shed(move |(), _| ran.store(true, SeqCst));
                    }
                });
                (at_once(call).is_some(), later.load(SeqCst))
            });
            assert_eq!(seen.wait(), Ok((true, false)));
        }
    });
}

#[test]
fn only_who_awaits_it_has_a_call_run_inside() {
    bounded("whose", || {
        let rt = runtime(1);
        let (caller, called, other) = (rt.colored(()), known(&rt, false), known(&rt, 0));
        let seen = caller.call(move |(), _| {
            let answered = other.call(|n, _| *n + 1);
            let mut answered = pin!(answered);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(answered.as_mut().poll(&mut cx).is_ready());
            let ran = Arc::new(AtomicBool::new(false));
            let runs = Arc::clone(&ran);
            // Under a lock that the caller takes now, say.
            called.call(move |_, _| runs.store(true, SeqCst)).detach();
            let task = other.spawn(async {});
            drop((answered.as_mut().poll(&mut cx), at_once(task)));
            ran.load(SeqCst)
        });
        assert_eq!(seen.wait(), Ok(false));
    });
}

#[test]
fn what_is_long_does_not_run_inside_behind_what_is_short() {
    static LONG: Handler = Handler::new("inside::Long").penalty(1_000);
    bounded("long", || {
        let rt = runtime(1);
        let (caller, called) = (rt.colored(()), known(&rt, false));
        let long = || std::thread::sleep(std::time::Duration::from_millis(1));
        for _ in 0..10 {
            let named = called.with_handler(&LONG);
            assert!(named.post(move |_, _| long()).is_ok());
        }
        rt.wait_idle();
        let seen = caller.call(move |(), _| {
            called.post_or_shed(|_, _| ());
            let ran = Arc::new(AtomicBool::new(false));
            let runs = Arc::clone(&ran);
            let named = called.with_handler(&LONG);
            assert!(named.post(move |_, _| runs.store(true, SeqCst)).is_ok());
            (at_once(called.call(|_, _| ())).is_some(), ran.load(SeqCst))
        });
        assert_eq!(seen.wait(), Ok((false, false)));
    });
}

#[test]
fn nothing_runs_inside_a_thread_that_unwinds() {
    struct Calls(Colored<bool>);
    impl Drop for Calls {
        fn drop(&mut self) {
            drop(at_once(
                self.0.call(|saw, _| *saw |= std::thread::panicking()),
            ));
        }
    }
    bounded("unwinds", || {
        let rt = runtime(1);
        let (caller, called) = (rt.colored(()), known(&rt, false));
        let calls = Calls(called.clone());
        let failed = caller.call(move |(), _| {
            let _calls = calls;
            silent_panic();
        });
        assert_eq!(Some(failed.wait()), Some(panicked()));
        rt.wait_idle();
        assert!(!called.blocking_with(|saw| *saw));
    });
}

#[test]
fn who_waits_does_so_for_a_batch_inside_and_no_more() {
    const BATCH: u64 = 10;
    bounded("fair", || {
        let rt = Runtime::builder().workers(1).batch_threshold(BATCH as u32);
        let rt = rt.build().expect("a runtime");
        let (caller, flooded, polite) = (rt.colored(()), known(&rt, ()), rt.colored(()));
        let before = caller.call(move |(), _| {
            let ran = Arc::new(AtomicU64::new(0));
            for _ in 0..100 * BATCH {
                let ran = Arc::clone(&ran);
                flooded.post_or_shed(move |(), _| _ = ran.fetch_add(1, SeqCst));
            }
            let waits = polite.call(move |(), _| ran.load(SeqCst));
            for _ in 0..100 {
                drop(at_once(flooded.call(|(), _| ())));
            }
            waits
        });
        let before = before.wait().and_then(Reply::wait);
        // One inside, and that of a turn of its own.
        assert!(matches!(before, Ok(1..=20)), "{before:?}");
    });
}

#[test]
fn a_panic_inside_is_the_called_colors_own() {
    bounded("panics", || {
        let rt = Runtime::builder().workers(1).on_panic(OnPanic::Continue);
        let rt = rt.build().expect("a runtime");
        let (caller, called) = (rt.colored(0), known(&rt, 0));
        until_inside(&rt, &caller, move |goes_on, _| {
            let call = called.call(|n, _| match *n < 200 {
                true => *n += 1,
                false => silent_panic(),
            });
            let answer = at_once(call);
            *goes_on += 1;
            answer == Some(panicked())
        });
        assert!(caller.blocking_with(|goes_on| *goes_on) > 0);
    });
}

#[test]
fn what_runs_inside_may_stop_the_color_around_it() {
    bounded("stops", || {
        let rt = runtime(1);
        let called = known(&rt, ());
        for _ in 0..ATTEMPTS {
            let ran = Arc::new(AtomicBool::new(false));
            let (caller, late, called) = (rt.colored(()), Arc::clone(&ran), called.clone());
            let inside = caller.call(move |(), cx| {
                cx.post_or_shed(move |(), _| late.store(true, SeqCst));
                let me = cx.colored();
                let call = called.call(move |(), _| me.stop(Pending::Drop));
                at_once(call).is_some()
            });
            let inside = inside.wait() == Ok(true);
            rt.wait_idle();
            if inside {
                assert!(!ran.load(SeqCst), "it began after the color was stopped");
                return;
            }
        }
        panic!("nothing has run inside");
    });
}

#[test]
fn one_deep_and_no_deeper() {
    bounded("depth", || {
        let rt = runtime(1);
        let colors: Vec<_> = (0..4).map(|_| known(&rt, 0u64)).collect();
        // Each handler asks the next color, as deep as there are colors.
        fn ask(colors: &[Colored<u64>]) -> Vec<bool> {
            let Some((first, rest)) = colors.split_first() else {
                return Vec::new();
            };
            let rest: Arc<[_]> = rest.into();
            let answer = at_once(first.call(move |_, _| ask(&rest)));
            match answer {
                Some(Ok(mut below)) => {
                    below.insert(0, true);
                    below
                }
                _ => vec![false],
            }
        }
        let caller = rt.colored(());
        until_inside(&rt, &caller, move |(), _| match &*ask(&colors) {
            [true, deeper @ ..] => {
                assert_eq!(deeper, [false], "one is inside, and what that calls waits");
                true
            }
            _ => false,
        });
    });
}

#[test]
fn who_awaits_one_answer_after_the_other_lets_others_run() {
    bounded("fairness", || {
        let rt = runtime(1);
        let (counter, stop) = (known(&rt, 0u64), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let endless = rt.new_color().spawn(async move {
            while !stopped.load(SeqCst) {
                counter.call(|n, _| *n += 1).await?;
            }
            Ok::<_, CallError>(())
        });
        for _ in 0..100 {
            rt.new_color().blocking_with(|()| ());
        }
        stop.store(true, SeqCst);
        assert_eq!(endless.wait(), Ok(Ok(())));
    });
}

#[test]
fn a_pinned_color_runs_where_it_is_pinned() {
    bounded("pinned", || {
        let rt = runtime(2);
        let pinned = rt.color_options().pin_to(1).colored(()).expect("a worker");
        for _ in 0..100 {
            pinned.blocking_with(|()| ());
        }
        let tasks = (0..50).map(|_| {
            let pinned = pinned.clone();
            rt.new_color().spawn(async move {
                for _ in 0..20 {
                    let ran_on = pinned.call(|(), cx| cx.worker()).await;
                    assert_eq!(ran_on, Ok(1));
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert_eq!(task.wait(), Ok(()));
        }
    });
}

#[test]
fn many_callers_exclude_each_other_and_all_is_counted() {
    bounded("exclusion", || {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            let counters: Vec<_> = (0..3).map(|_| rt.colored((false, 0u64))).collect();
            let tasks = (0..40usize).map(|number| {
                let counters = counters.clone();
                rt.new_color().spawn(async move {
                    for round in 0..250 {
                        let counter = &counters[(number + round) % counters.len()];
                        let call = counter.call(|(busy, n), cx| {
                            assert!(!std::mem::replace(busy, true), "two at a time");
                            *n += 1;
                            cx.post_or_shed(|(_, n), _| *n += 1);
                            *busy = false;
                        });
                        call.await.expect("an answer");
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                assert_eq!(task.wait(), Ok(()));
            }
            rt.wait_idle();
            let sum: u64 = counters.iter().map(|c| c.blocking_with(|(_, n)| *n)).sum();
            assert_eq!(sum, 2 * 40 * 250);
            rt.wait_idle();
            let events = rt.metrics().events;
            assert_eq!(events.posted, events.run, "{events:?}");
        }
    });
}
