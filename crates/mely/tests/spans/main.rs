//! Events run inside the span that they were posted in.

mod recorder;
mod ways;

use std::future::poll_fn;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use mely::{CallError, Color, Context, OnPanic, Pending, Policy, Runtime};
use recorder::{Told, here, hook, open};
use tracing::{Span, trace_span as span};

/// A test fails by it, and never waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

fn runtime(workers: usize) -> Runtime {
    recorder::start();
    let rt = Runtime::builder()
        .workers(workers)
        .on_panic(OnPanic::Continue);
    rt.build().expect("a runtime")
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never came true: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Nothing is pending, every event has one end, and no worker is in a span.
fn is_in_order(rt: &Runtime) {
    rt.wait_idle();
    let e = rt.metrics().events;
    assert_eq!(e.posted, e.run + e.shed + e.cancelled + e.abandoned);
    for worker in 0..rt.workers() {
        let color = rt.color_options().pin_to(worker).new_color();
        let there = color.expect("a worker").call(|_, _| here());
        assert_eq!(there.wait(), Ok(None), "worker {worker} is left in a span");
    }
}

type Seen = Arc<Mutex<Vec<(&'static str, Option<&'static str>)>>>;

fn note(seen: &Seen, what: &'static str) {
    seen.lock().expect("no panic").push((what, here()));
}

/// Each way to post, from a thread outside and from a handler.
#[test]
fn an_event_runs_inside_the_span_that_it_was_posted_in() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        recorder::start();
        let rt = Runtime::builder().workers(2).policy(policy).build();
        let rt = rt.expect("a runtime");
        let seen = Seen::default();
        let (color, other) = (rt.new_color(), rt.new_color());
        let from_inside = {
            let seen = Arc::clone(&seen);
            move |cx: &mut Context<'_>| {
                note(&seen, "from outside");
                let s = [(); 4].map(|()| Arc::clone(&seen));
                let [own, to_other, parallel, timer] = s;
                cx.post_or_shed(move |_, _| note(&own, "to its own color"));
                other.post_or_shed(move |_, _| note(&to_other, "to another color"));
                cx.post_parallel(move |_, _| note(&parallel, "to a new color"));
                let delay = Duration::from_micros(50);
                other.post_after(delay, move |_, _| note(&timer, "after a while"));
            }
        };
        span!("posts").in_scope(|| color.post_or_shed(move |_, cx| from_inside(cx)));
        let (seen_by_call, seen_by_wait) = (Arc::clone(&seen), Arc::clone(&seen));
        let called = span!("posts").in_scope(|| {
            let called = color.call(move |_, _| note(&seen_by_call, "a call"));
            color.blocking_with(|_| note(&seen_by_wait, "a section"));
            called
        });
        assert_eq!(called.wait(), Ok(()));
        is_in_order(&rt);
        let seen = seen.lock().expect("no panic");
        assert_eq!(seen.len(), 7, "{seen:?}");
        for (what, inside) in &*seen {
            assert_eq!(*inside, Some("posts"), "{what}");
        }
        assert_eq!(open("posts"), 0);
    }
}

#[test]
fn what_is_posted_in_no_span_runs_in_none() {
    let rt = runtime(1);
    let (color, seen) = (rt.new_color(), Seen::default());
    for what in ["first", "second"] {
        let (inside, outside) = (Arc::clone(&seen), Arc::clone(&seen));
        span!("beside").in_scope(|| color.post_or_shed(move |_, _| note(&inside, what)));
        color.post_or_shed(move |_, _| note(&outside, "outside"));
        let none = Arc::clone(&seen);
        let nowhere = move |_: &mut (), _: &mut Context<'_>| note(&none, "outside");
        span!("beside").in_scope(|| Span::none().in_scope(|| ()));
        color.post_or_shed(nowhere);
    }
    is_in_order(&rt);
    for (what, inside) in &*seen.lock().expect("no panic") {
        let expected = (*what != "outside").then_some("beside");
        assert_eq!(*inside, expected, "{what}");
    }
}

#[test]
fn a_task_is_in_its_own_span_whoever_wakes_it() {
    let rt = runtime(2);
    let (color, other) = (rt.new_color(), rt.new_color());
    let (wakers, woken) = mpsc::channel::<std::task::Waker>();
    let waits_once = move || {
        let (wakers, mut polled) = (wakers.clone(), false);
        poll_fn(move |cx| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(());
            }
            wakers.send(cx.waker().clone()).ok();
            Poll::Pending
        })
    };
    let steps = |wait| async move {
        let mut seen = vec![here()];
        wait.await;
        seen.push(here());
        seen
    };
    let inside = span!("task").in_scope(|| color.spawn(steps(waits_once())));
    let with_state = span!("task").in_scope(|| {
        let wait = waits_once();
        other.spawn_with(async move |_own| {
            let before = here();
            wait.await;
            vec![before, here()]
        })
    });
    let group = rt.group();
    let in_group = span!("task").in_scope(|| group.spawn(steps(waits_once())));
    let outside = color.spawn(steps(waits_once()));
    for _ in 0..4 {
        let waker = woken.recv_timeout(PATIENCE).expect("each waits once");
        let wakes = move |_: &mut (), _: &mut Context<'_>| waker.wake();
        span!("waker").in_scope(|| rt.new_color().post_or_shed(wakes));
    }
    let both = Ok(vec![Some("task"); 2]);
    assert_eq!(inside.wait(), both);
    assert_eq!(with_state.wait(), both);
    assert_eq!(in_group.wait(), both);
    assert_eq!(outside.wait(), Ok(vec![None; 2]));
    is_in_order(&rt);
    eventually("all are closed", || open("task") + open("waker") == 0);
}

#[test]
fn a_repeating_timer_is_in_the_span_that_it_was_made_in() {
    let rt = runtime(1);
    let (seen, sees) = mpsc::channel();
    let color = rt.new_color();
    let timer = span!("every").in_scope(|| {
        color.post_every(Duration::from_micros(100), move |_, _| {
            seen.send(here()).ok();
        })
    });
    for _ in 0..3 {
        assert_eq!(sees.recv_timeout(PATIENCE), Ok(Some("every")));
    }
    timer.cancel();
    is_in_order(&rt);
    drop(timer);
    eventually("it is closed", || open("every") == 0);
}

/// A span is open until the last event that was posted in it has run, however long the chain,
/// and a chain keeps one span only.
#[test]
fn a_span_closes_when_its_last_event_is_over() {
    fn chain(left: u32, cx: &mut Context<'_>) {
        assert_eq!((here(), open("chain")), (Some("chain"), 1));
        if left > 0 {
            cx.post_or_shed(move |_, cx| chain(left - 1, cx));
        }
    }
    let rt = runtime(1);
    let (enter, entered) = mpsc::channel::<()>();
    let color = rt.new_color();
    span!("chain").in_scope(|| {
        color.post_or_shed(move |_, cx| {
            entered.recv_timeout(PATIENCE).ok();
            chain(100, cx);
        });
    });
    assert_eq!(open("chain"), 1, "the event keeps it");
    enter.send(()).expect("it waits");
    is_in_order(&rt);
    assert_eq!(open("chain"), 0);
    assert_eq!(rt.metrics().total(|w| w.panics), 0);
}

#[test]
fn what_goes_unrun_leaves_its_span() {
    let rt = runtime(1);
    let (full, stopped) = (
        rt.color_options().capacity(1).new_color(),
        rt.color_options().new_color(),
    );
    let (full, stopped) = (full.expect("a worker"), stopped.expect("a worker"));
    let (leave, left) = mpsc::channel::<()>();
    let (enter, entered) = mpsc::channel();
    full.post_or_shed(move |_, _| {
        enter.send(()).ok();
        left.recv_timeout(PATIENCE).ok();
    });
    entered.recv_timeout(PATIENCE).expect("it runs");
    span!("unrun").in_scope(|| {
        assert!(full.post(|_, _| ()).is_ok(), "there is room for one");
        let captured = Arc::new(());
        let inside = Arc::clone(&captured);
        let refused = full.post(move |_, _| drop(inside)).expect_err("full");
        assert_eq!(Arc::strong_count(&captured), 2, "it was given back whole");
        drop(refused);
        for _ in 0..3 {
            stopped.post_or_shed(|_, _| unreachable!("it is stopped"));
        }
        let late = Duration::from_secs(3_600);
        let timer = stopped.post_after(late, |_, _| unreachable!("it is cancelled"));
        timer.cancel();
        stopped.post_after(late, |_, _| unreachable!("its color is stopped"));
        drop(stopped.spawn(std::future::pending::<()>()));
        stopped.stop(Pending::Drop);
        assert!(stopped.post(|_, _| ()).is_err());
    });
    leave.send(()).expect("it waits");
    is_in_order(&rt);
    eventually("all have left it", || open("unrun") == 0);
    let after = rt.new_color();
    let last = after.clone();
    span!("unrun").in_scope(|| {
        after.post_after(Duration::from_secs(3_600), move |_, _| drop(last));
    });
    rt.shutdown(PATIENCE).expect("it ends");
    drop(after);
    eventually("the shutdown, too", || open("unrun") == 0);
}

/// What a subscriber's author did not think of: it panics where it is told of a span.
#[test]
fn a_subscriber_that_panics_loses_that_event_only() {
    static PANICS_WHERE: AtomicU32 = AtomicU32::new(0);
    hook("faulty", |told| {
        let faulty = match told {
            Told::Cloned => 1,
            Told::Entered => 2,
            Told::Left => 3,
            Told::Dropped => 4,
        };
        if PANICS_WHERE.load(Acquire) == faulty && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new("planted by a test"));
        }
    });
    for place in 1..=4 {
        let rt = runtime(1);
        let color = rt.new_color();
        let (ran, runs) = mpsc::channel();
        let in_span = span!("faulty");
        let inside = in_span.enter();
        PANICS_WHERE.store(place, Release);
        let post = || {
            let ran = ran.clone();
            color.post_or_shed(move |_, _| _ = ran.send(()));
        };
        let posted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(post));
        assert_eq!(posted.is_err(), place == 1, "{place}");
        rt.wait_idle();
        PANICS_WHERE.store(0, Release);
        drop(inside);
        drop(ran);
        let expected = u64::from(place > 1);
        assert_eq!(rt.metrics().total(|w| w.panics), expected, "{place}");
        assert_eq!(runs.try_recv().is_ok(), place > 2, "{place}");
        assert_eq!(color.call(|_, _| 7).wait(), Ok(7));
        is_in_order(&rt);
    }
}

/// Where it is told of a span it posts, and drops the last handle of what runs there.
#[test]
fn a_subscriber_may_post() {
    static COLOR: Mutex<Option<Color>> = Mutex::new(None);
    static POSTED: AtomicU32 = AtomicU32::new(0);
    hook("posting", |_| {
        let color = COLOR.lock().expect("no panic").clone();
        if let Some(color) = color {
            POSTED.fetch_add(1, Relaxed);
            color.post_or_shed(|_, _| ());
        }
    });
    let rt = runtime(2);
    *COLOR.lock().expect("no panic") = Some(rt.new_color());
    let own = COLOR
        .lock()
        .expect("no panic")
        .clone()
        .expect("it is there");
    span!("posting").in_scope(|| {
        for _ in 0..50 {
            rt.new_color()
                .post_or_shed(|_, cx| cx.post_or_shed(|_, _| ()));
            own.post_or_shed(|_, cx| cx.post_parallel(|_, _| ()));
            own.spawn(async {}).wait().expect("it runs");
        }
    });
    is_in_order(&rt);
    *COLOR.lock().expect("no panic") = None;
    assert!(POSTED.load(Relaxed) >= 50 * 4 * 3, "{POSTED:?}");
    assert_eq!(open("posting"), 0);
}

/// A worker that panics in an event is not left in its span.
#[test]
fn a_panic_leaves_the_span() {
    let rt = runtime(1);
    let failed = span!("panics").in_scope(|| {
        let call = rt.new_color().call(|_, _| -> u8 {
            std::panic::resume_unwind(Box::new("planted by a test"));
        });
        call.wait()
    });
    assert!(matches!(failed, Err(CallError::Panicked(_))));
    is_in_order(&rt);
    assert_eq!(open("panics"), 0);
}
