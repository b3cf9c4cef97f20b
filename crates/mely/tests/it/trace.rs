//! Programs with known posts, recorded and read back.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use mely::{BuildError, Builder, Handler, Policy, Runtime, TraceReport};
use mely_trace::{Event, Graph, NO_CAUSE, Reader, Record};
use tempfile::TempDir;

static FIRST: Handler = Handler::new("trace::First");
static SECOND: Handler = Handler::new("trace::Second");
static FRESH: Handler = Handler::new("trace::Fresh");

const DEADLINE: Duration = Duration::from_secs(30);

/// A trace that has been read, with the names of its handlers.
struct Traced {
    graph: Graph,
    names: HashMap<u32, String>,
}

impl Traced {
    fn events<'a>(&'a self, handler: &'a Handler) -> Vec<&'a Event> {
        let is_of = |event: &&Event| self.names[&event.handler] == handler.name();
        self.graph.events.iter().filter(is_of).collect()
    }

    fn cause(&self, event: &Event) -> &Event {
        &self.graph.events[event.cause as usize]
    }
}

fn read(path: &Path) -> Traced {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let graph = Graph::read(&mut reader).unwrap();
    let named = reader.handlers().iter();
    let names = named.map(|(number, name)| (number, name.to_owned()));
    Traced {
        names: names.collect(),
        graph,
    }
}

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.trace");
    (dir, path)
}

/// Runs a program on a runtime that records, to its end.
fn record(builder: Builder, program: impl FnOnce(&Runtime)) -> (Traced, TraceReport) {
    let (_dir, path) = place();
    let rt = builder.trace(&path).build().unwrap();
    program(&rt);
    rt.wait_idle();
    let report = rt.shutdown(DEADLINE).unwrap();
    let written = *report.trace.unwrap();
    assert_eq!((&written.path, &written.error), (&path, &None));
    assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    let traced = read(&path);
    if written.lost == 0 {
        assert_eq!(traced.graph.events.len() as u64, report.events_run);
        assert_eq!((traced.graph.without_post, traced.graph.lost), (0, 0));
        assert_eq!(traced.graph.without_run, 0);
    }
    (traced, written)
}

/// Under each policy of another kind: queues of colors, and queues of events.
const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Mely, Policy::LibasyncSmp];

#[test]
fn a_chain_is_recorded_with_its_causes_in_order() {
    const LINKS: u64 = 500;
    fn link(left: &mut u64, cx: &mut mely::Context<'_, u64>) {
        if *left > 0 {
            *left -= 1;
            cx.with_handler(&FIRST).post_or_shed(link);
        }
    }
    for policy in POLICIES {
        let builder = Runtime::builder().workers(2).policy(policy);
        let (traced, report) = record(builder, |rt| {
            rt.colored(LINKS).with_handler(&FIRST).post_or_shed(link);
        });
        assert_eq!(report.lost, 0, "{policy}");
        let events = traced.events(&FIRST);
        assert_eq!(events.len() as u64, LINKS + 1, "{policy}");
        let roots: Vec<_> = events.iter().filter(|e| e.cause == NO_CAUSE).collect();
        assert_eq!(roots.len(), 1, "{policy}");
        assert!(roots[0].posted <= roots[0].start);
        for event in events.iter().filter(|e| e.cause != NO_CAUSE) {
            let cause = traced.cause(event);
            assert_eq!((cause.color, event.place), (event.color, 0));
            assert!(cause.start + cause.cost <= event.start, "{policy}");
        }
        assert!(events.iter().all(|event| event.cost > 0));
    }
}

#[test]
fn a_fan_keeps_colors_places_and_workers() {
    const FAN: u16 = 300;
    for policy in POLICIES {
        let builder = Runtime::builder().workers(2).policy(policy);
        let (traced, _) = record(builder, |rt| {
            let handle = (*rt).clone();
            rt.numbered_color(0)
                .with_handler(&FIRST)
                .post_or_shed(move |_, cx| {
                    for color in 1..=FAN {
                        handle
                            .numbered_color(color)
                            .with_handler(&SECOND)
                            .post_or_shed(|_, _| ());
                        cx.with_handler(&FRESH).post_parallel(|_, _| ());
                    }
                });
        });
        let (seconds, fresh) = (traced.events(&SECOND), traced.events(&FRESH));
        assert_eq!((seconds.len(), fresh.len()), (FAN.into(), FAN.into()));
        for event in &seconds {
            assert_eq!(u64::from(event.place), 2 * (event.color - 1), "{policy}");
        }
        let mut colors: Vec<_> = fresh.iter().map(|event| event.color).collect();
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), fresh.len(), "each has a color of its own");
        for event in seconds.iter().chain(&fresh) {
            assert_eq!(traced.names[&traced.cause(event).handler], FIRST.name());
            assert!(event.worker < 2);
        }
    }
}

#[test]
fn workers_that_post_to_one_color_are_told_apart() {
    const POSTS: u64 = 200;
    let (traced, _) = record(Runtime::builder().workers(2), |rt| {
        let shared = rt.colored(());
        for worker in 0..2 {
            let poster = rt.color_options().pin_to(worker).colored(()).unwrap();
            for _ in 0..POSTS {
                let shared = shared.clone();
                let post = move |(): &mut (), _: &mut mely::Context<'_>| {
                    shared.with_handler(&SECOND).post_or_shed(|_, _| ());
                };
                poster.with_handler(&FIRST).post_or_shed(post);
            }
        }
    });
    let seconds = traced.events(&SECOND);
    assert_eq!(seconds.len() as u64, 2 * POSTS);
    let mut causes: Vec<_> = seconds.iter().map(|event| event.cause).collect();
    causes.sort_unstable();
    causes.dedup();
    assert_eq!(causes.len(), seconds.len(), "each has a cause of its own");
    for event in seconds {
        let cause = traced.cause(event);
        assert_eq!(traced.names[&cause.handler], FIRST.name());
        assert!(cause.start <= event.start, "a cause comes first");
    }
}

#[test]
fn timers_and_outside_threads_are_roots() {
    let (traced, _) = record(Runtime::builder().workers(1), |rt| {
        let (fired, wait) = mpsc::channel();
        let color = rt.numbered_color(3);
        color.with_handler(&FIRST).post_or_shed(move |_, cx| {
            let color = cx.colored();
            color
                .with_handler(&SECOND)
                .post_after(Duration::from_millis(1), move |_, _| {
                    fired.send(()).unwrap();
                });
        });
        wait.recv_timeout(DEADLINE).unwrap();
    });
    for handler in [&FIRST, &SECOND] {
        let events = traced.events(handler);
        assert_eq!(events.len(), 1, "{}", handler.name());
        assert_eq!(events[0].cause, NO_CAUSE);
        assert!(events[0].posted > 0 && events[0].posted <= events[0].start);
    }
}

#[test]
fn an_event_that_panics_is_recorded_with_its_posts() {
    let (_dir, path) = place();
    let rt = Runtime::builder().workers(1).trace(&path).build().unwrap();
    rt.numbered_color(5)
        .with_handler(&FIRST)
        .post_or_shed(|_, cx| {
            cx.with_handler(&SECOND).post_or_shed(|_, _| ());
            std::panic::panic_any("on purpose");
        });
    rt.wait_idle();
    rt.shutdown(DEADLINE).unwrap();
    let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
    let mut panicked = Vec::new();
    while let Some(read) = reader.next_record().unwrap() {
        if let Record::Run(run) = read.record
            && run.panicked
        {
            panicked.push(run.handler);
        }
    }
    let names: Vec<_> = panicked
        .iter()
        .map(|&id| reader.handlers().name(id))
        .collect();
    assert_eq!(names, [Some(FIRST.name())]);
    let traced = read(&path);
    let seconds = traced.events(&SECOND);
    assert_eq!(
        traced.names[&traced.cause(seconds[0]).handler],
        FIRST.name()
    );
}

#[test]
fn what_a_shutdown_drops_has_no_run() {
    let (_dir, path) = place();
    let builder = Runtime::builder()
        .workers(1)
        .on_panic(mely::OnPanic::PoisonColor);
    let rt = builder.trace(&path).build().unwrap();
    rt.numbered_color(5)
        .with_handler(&FIRST)
        .post_or_shed(|_, cx| {
            (0..7).for_each(|_| cx.with_handler(&SECOND).post_or_shed(|_, _| ()));
            std::panic::panic_any("on purpose");
        });
    rt.wait_idle();
    rt.shutdown(DEADLINE).unwrap();
    let traced = read(&path);
    assert_eq!(traced.events(&FIRST).len(), 1);
    assert!(traced.events(&SECOND).is_empty());
    assert_eq!(traced.graph.without_run, 7);
}

#[test]
fn nothing_is_recorded_unless_asked_and_an_impossible_file_is_told() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    assert_eq!(rt.shutdown(DEADLINE).unwrap().trace, None);
    let (_dir, path) = place();
    let path = path.join("below");
    let error = Runtime::builder()
        .workers(1)
        .trace(&path)
        .build()
        .unwrap_err();
    assert!(matches!(error, BuildError::Trace { .. }));
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn the_header_tells_of_machine_and_runtime() {
    let (_dir, path) = place();
    let builder = Runtime::builder().workers(2).policy(Policy::MelyBase);
    drop(builder.trace(&path).build().unwrap());
    let reader = Reader::new(File::open(&path).unwrap()).unwrap();
    let header = reader.header();
    assert_eq!((header.workers(), &header.policy[..]), (2, "mely-base"));
    assert!(header.topology.contains("CPU") && header.cycles_per_second > 1e6);
}
