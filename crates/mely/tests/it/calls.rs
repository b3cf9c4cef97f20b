//! Calls and critical sections.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mely::{CallError, PostError};

use crate::support::{Gate, LIMIT, OpenOnDrop, block_on, bounded, runtime, settle, silent_panic};

#[test]
fn a_section_may_borrow_from_its_caller() {
    bounded("borrowing", || {
        let rt = runtime(2);
        let words = rt.colored(String::new());
        let (said, mut lengths) = (String::from("hello"), Vec::new());
        for _ in 0..100 {
            let length = words.with(|text| {
                text.push_str(&said);
                lengths.push(text.len());
                text.len()
            });
            assert_eq!(Some(&length), lengths.last());
        }
        assert_eq!(lengths.len(), 100);
        // A result that borrows.
        let part: &str = words.with(|_| &said[1..3]);
        assert_eq!(part, "el");
    });
}

#[test]
fn sections_of_many_threads_exclude_each_other() {
    bounded("sections", || {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            let counter = rt.colored(0u64);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..300 {
                            counter.with(|n| *n += 1);
                        }
                    });
                }
            });
            assert_eq!(counter.with(|n| *n), 2_400);
        }
    });
}

#[test]
fn a_section_inside_a_handler_is_an_error_and_no_deadlock() {
    bounded("inside", || {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let (own, other) = (rt.colored(0), rt.colored(0));
            let to = other.clone();
            let seen = own.call(move |_, cx| {
                let own = cx.colored();
                (own.try_with(|_| ()), to.try_with(|_| ()))
            });
            let inside = Err(CallError::InsideHandler);
            assert_eq!(seen.wait(), Ok((inside, inside)));
            let panicked = own.call(move |_, _| other.with(|_| ()));
            assert_eq!(panicked.wait(), Err(CallError::Panicked));
        }
    });
}

#[test]
fn settling_inside_a_handler_panics_and_does_not_hang() {
    bounded("settle inside", || {
        let rt = runtime(1);
        let settled = rt.fresh_color().call(|_, cx| cx.handle().settle());
        assert_eq!(settled.wait(), Err(CallError::Panicked));
    });
}

#[test]
fn a_section_of_another_runtime_is_allowed_inside_a_handler() {
    bounded("two runtimes", || {
        let (a, b) = (runtime(1), runtime(1));
        let there = b.colored(41);
        let here = a.fresh_color().call(move |_, _| {
            there.with(|n| {
                *n += 1;
                *n
            })
        });
        assert_eq!(here.wait(), Ok(42));
    });
}

#[test]
fn a_call_is_a_future_for_any_executor() {
    bounded("await", || {
        let rt = runtime(2);
        let counter = rt.colored(1);
        let doubled = block_on(async {
            let n = counter.call(|n, _| *n).await?;
            counter
                .call(move |m, _| {
                    *m += n;
                    *m
                })
                .await
        });
        assert_eq!(doubled, Ok(2));
        // Many at once, awaited out of order.
        let mut replies: Vec<_> = (0..100).map(|i| counter.call(move |_, _| i)).collect();
        replies.reverse();
        for (reply, i) in replies.into_iter().zip((0..100).rev()) {
            assert_eq!(block_on(reply), Ok(i));
        }
    });
}

#[test]
fn a_dropped_reply_does_not_take_the_event_back() {
    bounded("dropped reply", || {
        let rt = runtime(1);
        let counter = rt.colored(0);
        for _ in 0..50 {
            drop(counter.call(|n, _| *n += 1));
        }
        assert_eq!(counter.with(|n| *n), 50);
    });
}

#[test]
fn a_result_that_nobody_takes_is_dropped() {
    bounded("result dropped", || {
        let rt = runtime(1);
        let token = Arc::new(());
        let given = Arc::clone(&token);
        drop(rt.fresh_color().call(move |_, _| given));
        settle(&rt);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn a_call_that_panics_says_so() {
    bounded("panics", || {
        let rt = runtime(2);
        let color = rt.colored(5);
        let reply = color.call(|_, _| -> u8 { silent_panic() });
        assert_eq!(reply.wait(), Err(CallError::Panicked));
        assert_eq!(
            block_on(color.call(|_, _| -> u8 { silent_panic() })),
            Err(CallError::Panicked)
        );
        assert_eq!(
            color.try_with(|_| -> u8 { silent_panic() }),
            Err(CallError::Panicked)
        );
        assert_eq!(color.with(|n| *n), 5, "the color goes on");
        assert_eq!(rt.metrics().total(|w| w.panics), 3);
    });
}

#[test]
fn everything_is_refused_after_a_shutdown_and_given_back() {
    bounded("closed", || {
        let rt = runtime(1);
        let color = rt.colored(1);
        let handle = rt.clone();
        rt.shutdown(LIMIT).expect("nothing is pending");
        let token = Arc::new(());
        let held = Arc::clone(&token);
        let refused = color.try_post(move |_, _| drop(held)).unwrap_err();
        assert!(matches!(refused, PostError::Closed(_)), "{refused}");
        assert_eq!(Arc::strong_count(&token), 2);
        drop(refused.into_event());
        assert_eq!(Arc::strong_count(&token), 1);
        color.post(|_, _| ());
        assert_eq!(color.try_with(|n| *n), Err(CallError::Closed));
        assert_eq!(color.call(|n, _| *n).wait(), Err(CallError::Closed));
        assert_eq!(color.spawn(async { 1 }).wait(), Err(CallError::Dropped));
        let timer = color.post_after(Duration::ZERO, |_, _| ());
        assert!(!timer.is_pending());
        handle.settle();
        crate::support::holds(crate::checkers::conserved(&handle.metrics().events));
        assert_eq!(handle.metrics().events.shed, 6);
    });
}

#[test]
fn a_call_that_the_shutdown_drops_says_so() {
    bounded("dropped", || {
        let rt = runtime(1);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let color = rt.fresh_color();
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post(move |_, _| {
            begin.arrive();
            wait.pass("the shutdown is over");
        });
        begun.pass("the handler begins");
        let reply = color.call(|_, _| ());
        let awaited = color.call(|_, _| ());
        let section = thread::spawn(move || color.try_with(|_| ()));
        // The section is posted once three events wait.
        crate::support::eventually("the section waits", || rt.metrics().events.pending() == 4);
        let error = rt.shutdown(Duration::ZERO).unwrap_err();
        assert_eq!(error.report.held.len(), 1);
        drop(release);
        assert_eq!(reply.wait(), Err(CallError::Dropped));
        assert_eq!(block_on(awaited), Err(CallError::Dropped));
        assert_eq!(section.join().ok(), Some(Err(CallError::Dropped)));
    });
}
