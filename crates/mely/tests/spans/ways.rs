//! The other ways to post, which are in the span of their post, too.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use mely::{CallError, Context, Handler};
use tracing::trace_span as span;

use crate::recorder::{here, open};
use crate::{Seen, eventually, is_in_order, note, runtime};

const LONG: Duration = Duration::from_secs(3_600);

fn notes(seen: &Seen, what: &'static str) -> impl FnOnce(&mut (), &mut Context<'_>) + Send + use<> {
    let seen = Arc::clone(seen);
    move |(), _| note(&seen, what)
}

fn assert_all_in(seen: &Seen, count: usize, span: &str) {
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.len(), count, "{seen:?}");
    for (what, inside) in &*seen {
        assert_eq!(*inside, Some(span), "{what}");
    }
}

#[test]
fn named_events_control_and_timers_run_inside_the_span_of_their_post() {
    static NAMED: Handler = Handler::new("spans::Named");
    let rt = runtime(2);
    let (color, seen) = (rt.new_color(), Seen::default());
    let line = rt.color_options().capacity(0).control_capacity(1);
    let line = line.new_color().expect("a worker");
    let timer = span!("ways").in_scope(|| {
        rt.post(notes(&seen, "under color 0")).expect("it runs");
        let named = color.with_handler(&NAMED);
        named.post(notes(&seen, "named")).expect("it is taken");
        for _ in 0..2 {
            let posted = line.post_control(notes(&seen, "control"));
            posted.map_err(drop).expect("there is room for control");
            rt.wait_idle();
        }
        color.post_after(LONG, notes(&seen, "a timer"))
    });
    assert_eq!(open("ways"), 1, "the timer keeps it");
    assert!(span!("resets").in_scope(|| timer.reset_after(Duration::ZERO)));
    is_in_order(&rt);
    assert_all_in(&seen, 5, "ways");
    assert_eq!((open("ways"), open("resets")), (0, 0));
    assert_eq!(
        rt.metrics().handler("spans::Named").map(|h| h.events),
        Some(1)
    );
}

#[test]
fn what_waits_for_room_keeps_the_span_that_it_was_made_in() {
    let rt = runtime(2);
    let seen = Seen::default();
    let full = rt.color_options().capacity(1).new_color();
    let full = full.expect("a worker");
    let (leave, left) = mpsc::channel::<()>();
    let (enter, entered) = mpsc::channel();
    full.post_or_shed(move |_, _| {
        enter.send(()).ok();
        left.recv().ok();
    });
    entered.recv().expect("it runs");
    full.post(|_, _| ()).expect("there is room for one");
    let (waits, dropped) = span!("room").in_scope(|| {
        let dropped = full.post_when_room(|_, _| unreachable!("nobody polls it"));
        (
            full.post_when_room(notes(&seen, "when there was room")),
            dropped,
        )
    });
    let calls = span!("room").in_scope(|| full.call_when_room(notes(&seen, "the same")));
    let (posted, called) =
        span!("polls").in_scope(|| (rt.new_color().spawn(waits), rt.new_color().spawn(calls)));
    drop(dropped);
    leave.send(()).expect("it waits");
    assert!(matches!(posted.wait(), Ok(Ok(()))));
    assert!(matches!(called.wait(), Ok(Ok(()))));
    is_in_order(&rt);
    assert_all_in(&seen, 2, "room");
    eventually("all are closed", || open("room") + open("polls") == 0);
}

/// What is dispatched to its own color is a part of the event that runs, and in its span.
#[test]
fn what_runs_at_once_is_in_the_span_that_is_there() {
    let rt = runtime(1);
    let (color, other, seen) = (rt.new_color(), rt.new_color(), Seen::default());
    let own = Arc::clone(&seen);
    span!("outer").in_scope(|| {
        color.post_or_shed(move |(), cx| {
            let here = cx.color();
            let inner = span!("inner");
            inner.in_scope(|| {
                here.dispatch(&mut (), cx, notes(&own, "elsewhere")).ok();
                other.dispatch(&mut (), cx, notes(&own, "posted")).ok();
            });
            note(&own, "after");
        });
    });
    is_in_order(&rt);
    let seen = seen.lock().expect("no panic");
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    let expected = [
        ("after", Some("outer")),
        ("elsewhere", Some("inner")),
        ("posted", Some("inner")),
    ];
    assert_eq!(sorted, expected);
    assert_eq!((open("outer"), open("inner")), (0, 0));
}

/// A color that a panic restarts is in no span after it, and what comes next in its own.
#[test]
fn a_color_that_restarts_is_in_no_span() {
    let rt = runtime(1);
    let made_in = Arc::new(std::sync::Mutex::new(Vec::new()));
    let makes = Arc::clone(&made_in);
    let counter = rt.color_options().restarting(move || {
        makes.lock().expect("no panic").push(here());
        0
    });
    let counter = counter.expect("a worker");
    let failed = span!("fails").in_scope(|| {
        counter.try_blocking_with(|_| std::panic::resume_unwind(Box::new("planted by a test")))
    });
    assert!(
        matches!(failed, Err(CallError::Panicked(_))),
        "{:?}",
        failed.map(|()| 0)
    );
    let next = span!("next").in_scope(|| counter.call(|n, _| (*n, here())));
    assert_eq!(next.wait(), Ok((0, Some("next"))));
    is_in_order(&rt);
    assert_eq!(*made_in.lock().expect("no panic"), [None, None]);
    eventually("all are closed", || open("fails") + open("next") == 0);
}
