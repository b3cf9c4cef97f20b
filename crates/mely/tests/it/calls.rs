//! Calls and critical sections.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mely::{CallError, OnPanic, PostError};

use crate::support::{
    Gate, LIMIT, OpenOnDrop, block_on, bounded, panicked, runtime, settle, silent_panic,
};

#[test]
fn a_section_may_borrow_from_its_caller() {
    bounded("borrowing", || {
        let rt = runtime(2);
        let words = rt.colored(String::new());
        let (said, mut lengths) = (String::from("hello"), Vec::new());
        for _ in 0..100 {
            let length = words.blocking_with(|text| {
                text.push_str(&said);
                lengths.push(text.len());
                text.len()
            });
            assert_eq!(Some(&length), lengths.last());
        }
        assert_eq!(lengths.len(), 100);
        // A result that borrows.
        let part: &str = words.blocking_with(|_| &said[1..3]);
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
                            counter.blocking_with(|n| *n += 1);
                        }
                    });
                }
            });
            assert_eq!(counter.blocking_with(|n| *n), 2_400);
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
                (own.try_blocking_with(|_| ()), to.try_blocking_with(|_| ()))
            });
            let inside = Err(CallError::InsideHandler);
            assert_eq!(seen.wait(), Ok((inside.clone(), inside)));
            let panicked = own.call(move |_, _| other.blocking_with(|_| ()));
            let said = format!("Colored::blocking_with: {}", CallError::InsideHandler);
            assert_eq!(panicked.wait(), Err(CallError::Panicked(said.into())));
        }
    });
}

#[test]
fn settling_inside_a_handler_panics_and_does_not_hang() {
    bounded("settle inside", || {
        let rt = runtime(1);
        let settled = rt.new_color().call(|_, cx| cx.handle().wait_idle());
        assert!(matches!(settled.wait(), Err(CallError::Panicked(_))));
    });
}

#[test]
fn a_section_of_another_runtime_is_allowed_inside_a_handler() {
    bounded("two runtimes", || {
        let (a, b) = (runtime(1), runtime(1));
        let there = b.colored(41);
        let here = a.new_color().call(move |_, _| {
            there.blocking_with(|n| {
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
        assert_eq!(counter.blocking_with(|n| *n), 50);
    });
}

#[test]
fn a_result_that_nobody_takes_is_dropped() {
    bounded("result dropped", || {
        let rt = runtime(1);
        let token = Arc::new(());
        let given = Arc::clone(&token);
        drop(rt.new_color().call(move |_, _| given));
        settle(&rt);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn a_call_that_panics_says_so() {
    bounded("panics", || {
        let rt = runtime(2);
        let color = rt
            .color_options()
            .on_panic(OnPanic::Continue)
            .colored(5)
            .expect("no home was chosen");
        let reply = color.call(|_, _| -> u8 { silent_panic() });
        assert_eq!(reply.wait(), panicked());
        let awaited = color.call(|_, _| -> u8 { silent_panic() });
        assert_eq!(block_on(awaited), panicked());
        assert_eq!(
            color.try_blocking_with(|_| -> u8 { silent_panic() }),
            panicked()
        );
        assert_eq!(color.blocking_with(|n| *n), 5, "the color goes on");
        assert_eq!(rt.metrics().total(|w| w.panics), 3);
    });
}

#[test]
fn what_has_answered_is_counted_and_named() {
    bounded("counted", || {
        let rt = runtime(2);
        for n in 0..200 {
            let color = rt.colored(0u64);
            color.post_or_shed(|n, _| *n += 1);
            match n % 3 {
                0 => assert_eq!(color.blocking_with(|n| *n), 1),
                1 => assert_eq!(color.call(|n, _| *n).wait(), Ok(1)),
                _ => assert_eq!(
                    color.spawn_with(async |mut own| own.with(|n| *n)).wait(),
                    Ok(1)
                ),
            }
            let events = rt.metrics().events;
            assert!(events.run >= 2 * (n + 1), "{n}: {events:?}");
        }
        settle(&rt);
        let metrics = rt.metrics();
        assert_eq!(metrics.events.run, 400);
        let ours = "calls::what_has_answered_is_counted_and_named::";
        let named = |handler: &&mely::HandlerMetrics| handler.name.contains(ours);
        let named = metrics.handlers.iter().filter(named);
        let events: u64 = named.map(|handler| handler.events).sum();
        assert_eq!(events, 400, "{:#?}", metrics.handlers);
    });
}

#[test]
fn a_section_panics_at_its_callers_line() {
    use std::panic::{set_hook, take_hook};
    const NAME: &str = "calls::a_section_panics_at_its_callers_line";
    crate::support::alone(NAME, || {
        let (tell, told) = std::sync::mpsc::channel();
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let place = panic.location().map(|place| place.file().to_owned());
            let _ = tell.send(place);
        }));
        let rt = runtime(1);
        let color = rt.new_color();
        rt.shutdown(LIMIT).expect("nothing is pending");
        let section = std::panic::AssertUnwindSafe(|| color.blocking_with(|_| ()));
        assert!(std::panic::catch_unwind(section).is_err());
        set_hook(before);
        assert_eq!(told.recv(), Ok(Some(file!().to_owned())));
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
        let refused = color.post(move |_, _| drop(held)).unwrap_err();
        assert!(matches!(refused, PostError::Closed(_)), "{refused}");
        assert_eq!(Arc::strong_count(&token), 2);
        drop(refused.into_event());
        assert_eq!(Arc::strong_count(&token), 1);
        color.post_or_shed(|_, _| ());
        assert_eq!(color.try_blocking_with(|n| *n), Err(CallError::Closed));
        assert_eq!(color.call(|n, _| *n).wait(), Err(CallError::Closed));
        assert_eq!(color.spawn(async { 1 }).wait(), Err(CallError::Dropped));
        let timer = color.post_after(Duration::ZERO, |_, _| ());
        assert!(!timer.is_pending());
        handle.wait_idle();
        crate::support::holds(crate::checkers::conserved(&handle.metrics().events));
        assert_eq!(handle.metrics().events.shed, 6);
    });
}

#[test]
fn a_call_that_the_shutdown_drops_says_so() {
    bounded("dropped", || {
        let rt = runtime(1);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let color = rt.new_color();
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the shutdown is over");
        });
        begun.pass("the handler begins");
        let reply = color.call(|_, _| ());
        let awaited = color.call(|_, _| ());
        let section = thread::spawn(move || color.try_blocking_with(|_| ()));
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

#[test]
fn a_call_that_was_cancelled_in_time_is_not_run() {
    bounded("cancelled", || {
        let rt = runtime(2);
        let (color, token) = (rt.colored(0), Arc::new(()));
        let mut cancelled = 0;
        for _ in 0..300 {
            let held = Arc::clone(&token);
            let reply = color.call(move |n, _| {
                *n += 1;
                drop(held);
            });
            cancelled += i32::from(reply.cancel());
        }
        assert_eq!(color.blocking_with(|n| *n), 300 - cancelled);
        settle(&rt);
        assert_eq!(
            Arc::strong_count(&token),
            1,
            "closures are dropped, run or not"
        );
        assert!(!color.call(|_, _| ()).cancel() || cancelled >= 0);
    });
}

#[test]
fn a_wait_gives_its_reply_back_in_time() {
    bounded("timeouts", || {
        let rt = runtime(1);
        let color = rt.new_color();
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        let reply = color.call(move |_, _| {
            begin.arrive();
            wait.pass("the waits are over");
            5
        });
        begun.pass("it begins");
        let reply = reply
            .wait_timeout(Duration::ZERO)
            .expect_err("it cannot be there");
        let reply = reply
            .wait_timeout(Duration::from_millis(1))
            .expect_err("it is held");
        drop(release);
        assert_eq!(reply.wait_timeout(Duration::MAX).ok(), Some(Ok(5)));
        let inside = color.call(|(), cx| {
            let reply = cx.color().call(|(), _| ());
            reply.wait_timeout(Duration::ZERO).ok()
        });
        assert_eq!(inside.wait(), Ok(Some(Err(CallError::InsideHandler))));
    });
}

#[test]
fn a_task_that_is_cancelled_drops_its_future() {
    bounded("aborted", || {
        let rt = runtime(2);
        let (color, token) = (rt.new_color(), Arc::new(()));
        let held = Arc::clone(&token);
        // Who could wake it: without that it would be given up at once.
        let wakers = Arc::new(std::sync::Mutex::new(Vec::new()));
        let keep = Arc::clone(&wakers);
        let task = color.spawn(std::future::poll_fn(move |cx| {
            let _held = &held;
            keep.lock().expect("wakers").push(cx.waker().clone());
            std::task::Poll::<()>::Pending
        }));
        settle(&rt);
        assert!(task.cancel());
        assert_eq!(Arc::strong_count(&token), 1);
        let over = color.spawn(async { 1 });
        settle(&rt);
        assert!(!over.cancel());
        // By itself, while it is polled.
        let (own, aborted) = (Arc::new(std::sync::Mutex::new(None)), Gate::default());
        let (inside, gate, held) = (Arc::clone(&own), aborted.clone(), Arc::clone(&token));
        let (put, is_put) = (Gate::default(), Gate::default());
        let wait = put.clone();
        let task = color.spawn(async move {
            is_put.arrive();
            wait.pass("the reply is put there");
            let own: Option<mely::Reply<()>> = inside.lock().expect("no panic").take();
            assert!(own.is_some_and(mely::Reply::cancel));
            gate.arrive();
            std::future::pending::<()>().await;
            drop(held);
        });
        *own.lock().expect("no panic") = Some(task);
        put.arrive();
        aborted.pass("it cancels itself");
        settle(&rt);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}
