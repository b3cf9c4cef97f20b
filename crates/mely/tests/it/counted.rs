//! What is counted by handler: page faults, which every kernel counts, and what cannot be.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use mely::{Counted, Handler, Runtime, Snapshot};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::support::{alone, bounded, settle, silent_panic};

static FILLS: Handler = Handler::new("counted::Fills");
static RESTS: Handler = Handler::new("counted::Rests");
static FAILS: Handler = Handler::new("counted::Fails");
static OUTER: Handler = Handler::new("counted::Outer");
static INNER: Handler = Handler::new("counted::Inner");

/// More than an allocator keeps, so that the kernel gives it anew each time.
const BYTES: usize = 64 << 20;

/// Apart by more than a huge page, so that each is a fault.
const TOUCHES: u64 = 16;

fn touch_fresh_memory() {
    let mut memory = vec![0_u8; BYTES];
    let touched = memory.iter_mut().step_by(BYTES / TOUCHES as usize);
    touched.for_each(|byte| *byte = 1);
    std::hint::black_box(memory);
}

fn run(counted: Counted, post: impl FnOnce(&Runtime)) -> Snapshot {
    let rt = Runtime::builder().workers(2).counted(counted).build();
    let rt = rt.expect("a runtime, whatever can be counted");
    post(&rt);
    settle(&rt);
    rt.metrics()
}

/// How many an event, and the same in the text for Prometheus.
fn per_event(metrics: &Snapshot, name: &str) -> (f64, f64) {
    let handler = metrics.handler(name).expect("it has run");
    assert!(handler.counted.samples > 0, "{name}: {handler:?}");
    let text = metrics.to_prometheus();
    let told = |what: &str| -> f64 {
        let begin = format!("mely_handler_{what}{{handler=\"{name}\",counter=\"page_faults\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&begin));
        line.expect(what).parse().expect("a number")
    };
    let in_text = told("counted_total") / told("counted_events_total");
    (
        handler.counted.per_event().expect("there are some"),
        in_text,
    )
}

#[test]
#[cfg_attr(not(feature = "counters"), ignore = "built without counters")]
fn handlers_that_touch_fresh_memory_are_told_from_others() {
    let metrics = bounded("page faults", || {
        run(Counted::PageFaults, |rt| {
            for _ in 0..20 {
                let color = rt.new_color();
                color
                    .with_handler(&FILLS)
                    .post_or_shed(|_, _| touch_fresh_memory());
                color.with_handler(&RESTS).post_or_shed(|_, _| ());
            }
        })
    });
    assert_eq!(metrics.counting.counter, Some("page_faults"));
    assert_eq!(
        (metrics.counting.workers, &metrics.counting.reason),
        (2, &None)
    );
    let (fills, fills_in_text) = per_event(&metrics, FILLS.name());
    let (rests, _) = per_event(&metrics, RESTS.name());
    // First calls take some, too.
    assert!(
        fills >= TOUCHES as f64 && fills > 2.0 * rests,
        "{fills}, {rests}"
    );
    assert!((fills - fills_in_text).abs() < 1e-6, "{fills_in_text}");
}

#[test]
#[cfg_attr(not(feature = "counters"), ignore = "built without counters")]
fn what_an_event_does_before_it_panics_is_counted() {
    let metrics = bounded("panics", || {
        run(Counted::PageFaults, |rt| {
            rt.new_color().with_handler(&FAILS).post_or_shed(|_, _| {
                touch_fresh_memory();
                silent_panic();
            });
        })
    });
    let fails = metrics.handler(FAILS.name()).expect("it has run");
    assert_eq!((fails.panics, fails.counted.samples), (1, 1));
    assert!(fails.counted.total >= TOUCHES, "{fails:?}");
}

/// The answer of a call that is awaited at once may be made within the event that awaits it.
#[test]
#[cfg_attr(not(feature = "counters"), ignore = "built without counters")]
fn what_runs_within_an_event_is_counted_with_it() {
    bounded("calls", || {
        let rt = Runtime::builder().workers(1).counted(Counted::PageFaults);
        let rt = rt.build().expect("a runtime");
        let (outer, inner) = (rt.new_color(), rt.new_color());
        for _ in 0..10_000 {
            // What runs within is known to be short.
            (0..100).for_each(|_| inner.with_handler(&INNER).post_or_shed(|_, _| ()));
            settle(&rt);
            let inner = inner.clone();
            outer.with_handler(&OUTER).post_or_shed(move |_, _| {
                let mut reply = pin!(inner.with_handler(&INNER).call(|_, _| touch_fresh_memory()));
                let mut cx = Context::from_waker(Waker::noop());
                drop(reply.as_mut().poll(&mut cx));
            });
            settle(&rt);
            let metrics = rt.metrics();
            let outer = metrics.handler(OUTER.name()).expect("it has run");
            if outer.counted.total >= TOUCHES {
                return;
            }
        }
        panic!("nothing that ran within was counted");
    });
}

/// Where descriptors run out, the workers that have no counter go on without, and say so.
#[test]
#[cfg_attr(not(feature = "counters"), ignore = "built without counters")]
fn without_descriptors_it_is_said_that_nothing_is_counted() {
    alone(
        "counted::without_descriptors_it_is_said_that_nothing_is_counted",
        || {
            bounded("EMFILE", || {
                let mut told = 0;
                for spare in 0..24 {
                    leave_descriptors(spare);
                    let rt = Runtime::builder().workers(2).counted(Counted::PageFaults);
                    let Ok(rt) = rt.build() else {
                        continue;
                    };
                    rt.new_color().blocking_with(|()| ());
                    let counting = rt.metrics().counting;
                    if let Some(reason) = &counting.reason {
                        assert!(reason.contains("open files"), "{reason}");
                        assert!(counting.workers < 2, "{counting:?}");
                        told += 1;
                    }
                }
                assert!(told > 0, "never too few for counters alone");
            });
        },
    );
}

/// Lowers the limit of descriptors so that `spare` can be opened.
fn leave_descriptors(spare: u64) {
    let open = std::fs::read_dir("/proc/self/fd").expect("/proc").count() as u64;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(open + spare);
    setrlimit(Resource::Nofile, limit).expect("a limit may be lowered");
}

/// Counted or refused, the program runs, and the metrics say which it is.
#[test]
fn cache_misses_are_counted_or_it_is_said_why_not() {
    let metrics = bounded("cache misses", || {
        run(Counted::CacheMisses, |rt| {
            (0..100).for_each(|_| rt.new_color().with_handler(&RESTS).post_or_shed(|_, _| ()));
        })
    });
    let (counting, text) = (&metrics.counting, metrics.to_prometheus());
    match counting.counter {
        Some(counter) => {
            assert!(counter.ends_with("cache_misses") && counting.workers > 0);
            let line = format!("mely_counter_workers{{counter=\"{counter}\"}} ");
            assert!(text.contains(&line), "{text}");
        }
        None => {
            let reason = counting.reason.as_deref().unwrap_or_default();
            let words = match cfg!(feature = "counters") {
                true => "cache_misses cannot be opened: ",
                false => "without its feature counters",
            };
            assert!(reason.contains(words), "{reason:?}");
            assert!(text.contains("mely_counter_refused{reason=\""), "{text}");
        }
    }
}

#[test]
fn nothing_is_said_of_counters_that_nobody_asked_for() {
    let metrics = bounded("nothing", || {
        run(Counted::Nothing, |rt| {
            rt.new_color().with_handler(&RESTS).post_or_shed(|_, _| ());
        })
    });
    assert_eq!(metrics.counting.counter, None);
    assert_eq!(
        (metrics.counting.workers, &metrics.counting.reason),
        (0, &None)
    );
    let rests = metrics.handler(RESTS.name()).expect("it has run");
    assert_eq!(rests.counted, mely::Tally::default());
    let text = metrics.to_prometheus();
    assert!(
        !text.contains("mely_counter") && !text.contains("_counted"),
        "{text}"
    );
}
