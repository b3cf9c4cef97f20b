//! How long events wait and run, as the metrics tell.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use mely::{
    Context, Handle, Handler, Histogram, OnPanic, Pending, Policy, PostError, Runtime, Snapshot,
};

use crate::support::{Gate, alone, bounded, eventually, runtime, settle, silent_panic};

/// How long a worker is held at the least.
const HOLD: Duration = Duration::from_millis(20);

fn run_and_wait<'a>(metrics: &'a Snapshot, handler: &str) -> (&'a Histogram, &'a Histogram) {
    let found = metrics.handler(handler);
    let found = found.unwrap_or_else(|| panic!("{handler} has not run: {metrics:?}"));
    (&found.run, &found.wait)
}

/// Holds a worker until the gate opens; entered when this returns.
fn hold(color: &mely::Color, handler: &'static Handler) -> Gate {
    let (entered, open) = (Gate::default(), Gate::default());
    let (enters, opens) = (entered.clone(), open.clone());
    let held = color.with_handler(handler).post(move |(), _| {
        enters.arrive();
        opens.pass("the test goes on");
    });
    held.expect("the color takes it");
    entered.pass("the worker is held");
    open
}

#[test]
fn what_waits_behind_a_long_event_says_so() {
    static HELD: Handler = Handler::new("waits::Held");
    static OWN: Handler = Handler::new("waits::Own");
    static OTHER: Handler = Handler::new("waits::Other");
    static OUTSIDE: Handler = Handler::new("waits::Outside");
    for policy in [Policy::Adaptive, Policy::Mely, Policy::LibasyncSmp] {
        bounded("waits", move || {
            let rt = Runtime::builder().workers(1).policy(policy).build();
            let rt = rt.expect("a runtime");
            let (color, other) = (rt.new_color(), rt.new_color());
            let behind = color.clone();
            let posted = color.with_handler(&HELD).post(move |(), cx| {
                for _ in 0..500 {
                    cx.with_handler(&OWN).post_or_shed(|(), _| ());
                    other.with_handler(&OTHER).post_or_shed(|(), _| ());
                }
                let outside = std::thread::spawn(move || {
                    for _ in 0..500 {
                        behind.with_handler(&OUTSIDE).post_or_shed(|(), _| ());
                    }
                });
                outside.join().expect("it posts");
                std::thread::sleep(HOLD);
            });
            posted.expect("it takes events");
            settle(&rt);
            let metrics = rt.metrics();
            for handler in ["waits::Own", "waits::Other", "waits::Outside"] {
                let (run, wait) = run_and_wait(&metrics, handler);
                assert!(wait.samples() > 0, "{policy}, {handler}: {wait:?}");
                assert!(wait.quantile(0.0) >= Some(HOLD), "{handler}: {wait:?}");
                assert!(run.quantile(0.0) < Some(HOLD), "{handler}: {run:?}");
            }
            let (run, wait) = run_and_wait(&metrics, "waits::Held");
            assert_eq!((run.samples(), wait.samples()), (1, 1));
            assert!(run.mean() >= Some(HOLD) && run.sum() >= HOLD, "{run:?}");
            let text = metrics.to_prometheus();
            for line in [
                "# TYPE mely_handler_wait_seconds histogram",
                "mely_handler_run_seconds_bucket{handler=\"waits::Held\",le=\"0.000000256\"} 0",
                "mely_handler_run_seconds_bucket{handler=\"waits::Held\",le=\"+Inf\"} 1",
                "mely_handler_run_seconds_count{handler=\"waits::Held\"} 1",
                "mely_handler_wait_samples_total{handler=\"waits::Held\"} 1",
            ] {
                assert!(text.lines().any(|found| found == line), "{line}: {text}");
            }
        });
    }
}

/// Those that are noted stand for the others, of two that come in turns.
#[test]
fn samples_stand_for_all() {
    static EVEN: Handler = Handler::new("waits::Even");
    static ODD: Handler = Handler::new("waits::Odd");
    const EVENTS: u32 = 1_000_000;
    fn step(left: u32, cx: &mut Context<'_>) {
        if left > 0 {
            let handler = if left.is_multiple_of(2) { &EVEN } else { &ODD };
            let posts = &mut cx.with_handler(handler);
            posts.post_or_shed(move |(), cx| step(left - 1, cx));
        }
    }
    bounded("samples", || {
        let rt = runtime(1);
        rt.new_color().post_or_shed(|(), cx| step(EVENTS, cx));
        settle(&rt);
        let metrics = rt.metrics();
        for handler in ["waits::Even", "waits::Odd"] {
            let (run, wait) = run_and_wait(&metrics, handler);
            assert_eq!(run.count(), wait.count());
            let share = run.count() as f64 / f64::from(EVENTS / 2);
            // Some 500 samples on a fast machine, more on a slow one.
            assert!((0.6..1.4).contains(&share), "{share}: {run:?}");
        }
    });
}

/// An event that was to be noted is given back as it was, too.
#[test]
fn a_refused_event_comes_back_whole() {
    static HELD: Handler = Handler::new("waits::Refuses");
    bounded("refused", || {
        let rt = runtime(1);
        let full = rt.color_options().capacity(1).new_color();
        let full = full.expect("a worker");
        let stopped = rt.new_color();
        stopped.stop(Pending::Drop);
        let open = hold(&full, &HELD);
        let captured = Arc::new(7);
        let inside = Arc::clone(&captured);
        // There is room for one behind the one that runs.
        full.post(move |_, _| assert_eq!(*inside, 7))
            .expect("there is room");
        let from_inside = rt.new_color();
        let tried = move |captured: &Arc<i32>, color: &mely::Color| {
            let inside = Arc::clone(captured);
            let refused = color.post(move |_, _| assert_eq!(*inside, 7));
            let event = refused.map_err(PostError::into_event).unwrap_err();
            assert!(Arc::strong_count(captured) > 2, "it is here");
            drop(event);
            assert_eq!(Arc::strong_count(captured), 2);
        };
        for _ in 0..1_000 {
            tried(&captured, &full);
            tried(&captured, &stopped);
        }
        open.arrive();
        settle(&rt);
        assert_eq!(Arc::strong_count(&captured), 1);
        let (full, held) = (full.clone(), Arc::clone(&captured));
        let inside = from_inside.call(move |_, _| {
            (0..1_000).for_each(|_| tried(&held, &stopped));
            drop(full);
        });
        assert_eq!(inside.wait(), Ok(()));
        assert_eq!(rt.metrics().events.pending(), 0);
        assert_eq!(rt.metrics().waiting, []);
    });
}

#[test]
fn what_waits_now_is_seen_with_its_color_until_it_goes() {
    static HELD: Handler = Handler::new("waits::Blocks");
    static PINNED: Handler = Handler::new("waits::Pinned");
    static QUEUED: Handler = Handler::new("waits::Queued");
    bounded("waiting", || {
        let rt = runtime(1);
        let holding = rt.numbered_color(3);
        let open = hold(&holding, &HELD);
        let pinned = rt.color_options().pin_to(0).new_color();
        let pinned = pinned.expect("worker 0");
        // A thread that has posted nothing yet notes its first posts.
        let (first, queued) = (pinned.clone(), rt.new_color());
        let queue = queued.clone();
        let posts = std::thread::spawn(move || {
            first.with_handler(&PINNED).post_or_shed(|_, _| ());
            std::thread::sleep(Duration::from_millis(1));
            for _ in 0..3 {
                queue.with_handler(&QUEUED).post_or_shed(|_, _| ());
            }
        });
        posts.join().expect("it posts");
        let waiting = rt.metrics().waiting;
        let seen: Vec<_> = waiting
            .iter()
            .map(|one| (one.color, one.handler, one.is_pinned))
            .collect();
        let expected = [
            (Some(pinned.id()), "waits::Pinned", true),
            (Some(queued.id()), "waits::Queued", false),
        ];
        assert_eq!(seen, expected, "once each, the longest first");
        assert!(waiting[0].age > waiting[1].age);
        let text = rt.metrics().to_prometheus();
        let rank = "mely_waiting_seconds{rank=\"0\",handler=\"waits::Pinned\",pinned=\"1\"} ";
        assert!(text.contains(rank), "{text}");
        let color = format!("mely_waiting_color{{rank=\"0\"}} {}\n", pinned.id());
        assert!(text.contains(&color), "{text}");
        // One goes unrun, the other is run.
        pinned.stop(Pending::Drop);
        open.arrive();
        settle(&rt);
        let metrics = rt.metrics();
        assert_eq!(metrics.waiting, []);
        let events = |handler: &str| metrics.handler(handler).map(|h| h.events);
        assert_eq!(
            (events("waits::Pinned"), events("waits::Queued")),
            (None, Some(3))
        );
    });
}

/// Destructors of captured values post, panic and drop the last handle, of noted events, too.
#[test]
fn noted_events_go_whatever_their_destructors_do() {
    static HELD: Handler = Handler::new("waits::Drops");
    struct Worst(mely::Color, Option<Handle>, bool);
    impl Drop for Worst {
        fn drop(&mut self) {
            self.0.post_or_shed(|_, _| ());
            drop(self.1.take());
            if self.2 && !std::thread::panicking() {
                silent_panic();
            }
        }
    }
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        bounded("destructors", move || {
            let rt = Runtime::builder()
                .workers(1)
                .policy(policy)
                .on_panic(OnPanic::Continue)
                .build();
            let rt = rt.expect("a runtime");
            for end in [Pending::Drop, Pending::Run] {
                let (other, open) = (rt.new_color(), hold(&rt.new_color(), &HELD));
                let dropped = rt.new_color();
                let posts = {
                    let (handle, dropped) = (Handle::clone(&rt), dropped.clone());
                    move || {
                        for n in 0..50 {
                            let worst = Worst(other.clone(), Some(handle.clone()), n % 3 == 0);
                            dropped.post_or_shed(move |_, _| drop(worst));
                        }
                    }
                };
                std::thread::spawn(posts).join().expect("it posts");
                dropped.stop(end);
                open.arrive();
                settle(&rt);
                eventually("nothing is seen", || rt.metrics().waiting.is_empty());
            }
            let metrics = rt.metrics();
            let run = metrics.handlers.iter().filter(|h| h.panics > 0);
            assert!(run.map(|h| h.run.samples()).sum::<u64>() > 0, "panics, too");
        });
    }
}

/// What a shutdown leaves unrun is not seen waiting in the process for ever, nor does it hold
/// what it was posted with.
#[test]
fn a_shutdown_takes_noted_events_along() {
    static HELD: Handler = Handler::new("waits::Left");
    bounded("shutdown", || {
        let captured = Arc::new(());
        let rt = runtime(1);
        let open = hold(&rt.new_color(), &HELD);
        let (color, handle) = (rt.new_color(), Handle::clone(&rt));
        for _ in 0..100 {
            let captured = Arc::clone(&captured);
            color.post_or_shed(move |_, _| drop(captured));
        }
        assert!(rt.shutdown(Duration::from_millis(1)).is_err());
        open.arrive();
        eventually("all is dropped", || Arc::strong_count(&captured) == 1);
        eventually("nothing is seen", || handle.metrics().waiting.is_empty());
    });
}

#[test]
fn what_a_recording_runtime_notes_is_in_its_trace_too() {
    static NOTED: Handler = Handler::new("waits::Traced");
    bounded("traced", || {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("waits.trace");
        let rt = Runtime::builder().workers(1).trace(&path).build();
        let rt = rt.expect("a runtime");
        let color = rt.new_color();
        let posted = color.post(|_, cx| {
            (0..20).for_each(|_| cx.with_handler(&NOTED).post_or_shed(|_, _| ()));
        });
        posted.expect("it takes events");
        settle(&rt);
        let (run, wait) = (rt.metrics(), rt.metrics());
        assert!(run_and_wait(&run, "waits::Traced").0.samples() > 0);
        assert!(run_and_wait(&wait, "waits::Traced").1.samples() > 0);
        let report = rt.shutdown(Duration::from_secs(5)).expect("it ends");
        assert_eq!(report.trace.map(|trace| trace.lost), Some(0));
        let file = std::fs::File::open(&path).expect("the trace");
        let mut reader = mely_trace::Reader::new(file).expect("a header");
        let graph = mely_trace::Graph::read(&mut reader).expect("a graph");
        let names: std::collections::HashMap<_, _> = reader.handlers().iter().collect();
        let is_noted = |event: &&mely_trace::Event| names[&event.handler] == NOTED.name();
        let noted = graph.events.iter().filter(is_noted).count();
        assert_eq!(noted, 20, "each by its own name");
    });
}

/// Each thread notes its first posts, and one that ends posts from its destructors.
#[test]
fn threads_that_come_and_go_note_what_they_post() {
    static BRIEF: Handler = Handler::new("waits::Brief");
    struct PostsAtEnd(std::cell::RefCell<Option<mely::Color>>);
    impl Drop for PostsAtEnd {
        fn drop(&mut self) {
            if let Some(color) = self.0.take() {
                color.with_handler(&BRIEF).post_or_shed(|_, _| ());
            }
        }
    }
    thread_local! {
        static AT_END: PostsAtEnd = const { PostsAtEnd(std::cell::RefCell::new(None)) };
    }
    bounded("threads", || {
        let rt = runtime(2);
        let color = rt.new_color();
        for _ in 0..20 {
            let color = color.clone();
            let thread = std::thread::spawn(move || {
                AT_END.with(|at_end| at_end.0.replace(Some(color.clone())));
                color.with_handler(&BRIEF).post_or_shed(|_, _| ());
            });
            thread.join().expect("it posts");
        }
        settle(&rt);
        let metrics = rt.metrics();
        let (run, _) = run_and_wait(&metrics, "waits::Brief");
        assert!(run.samples() >= 20, "{run:?}");
        assert_eq!(metrics.handler("waits::Brief").map(|h| h.events), Some(40));
    });
}

#[test]
fn a_worker_that_sleeps_is_seen_asleep() {
    bounded("sleep", || {
        let rt = runtime(1);
        eventually("it lies down", || rt.metrics().workers[0].sleeps);
        let before = rt.metrics().workers[0].slept;
        eventually("its sleep grows while it lasts", || {
            rt.metrics().workers[0].slept > before
        });
        let (asked, answer) = mpsc::channel();
        let handle = Handle::clone(&rt);
        rt.new_color().post_or_shed(move |_, _| {
            let metrics = &handle.metrics().workers[0];
            asked.send((metrics.sleeps, metrics.slept)).ok();
        });
        let (sleeps, slept) = answer.recv().expect("it runs");
        assert!(!sleeps && slept >= before);
        let text = rt.metrics().to_prometheus();
        assert!(text.contains("mely_worker_slept_seconds_total{worker=\"0\"} "));
    });
}

/// Memory for histograms is there only for handlers that have run, and stays as it is.
#[test]
fn memory_for_histograms_is_bounded() {
    alone("waits::memory_for_histograms_is_bounded", || {
        static MANY: Handler = Handler::new("waits::Many");
        let rt = runtime(1);
        let rounds = |count: u32| {
            for _ in 0..count {
                let color = rt.new_color();
                (0..1_000).for_each(|_| color.with_handler(&MANY).post_or_shed(|_, _| ()));
                settle(&rt);
            }
            resident_kib()
        };
        rounds(50);
        let before = rounds(50);
        let after = rounds(500);
        assert!(after < before + 4 * 1024, "{before} KiB, {after} KiB");
    });
}

/// Memory of this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).expect("a number")
}
