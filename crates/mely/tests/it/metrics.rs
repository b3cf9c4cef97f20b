//! What the metrics show.

use std::future::Future;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use mely::{Handler, Runtime, StallReport};

use crate::support::{LIMIT, bounded, eventually, settle};

static NAMED: Handler = Handler::new("metrics::Named");

#[test]
fn handlers_are_shown_by_name_and_closures_by_type() {
    bounded("names", || {
        let rt = Runtime::builder().workers(2).build().expect("a runtime");
        let color = rt.colored(0);
        for _ in 0..30 {
            color.with_handler(&NAMED).post_or_shed(|n, cx| {
                *n += 1;
                cx.with_handler(&NAMED).post_or_shed(|n, _| *n += 1);
            });
            color.post_or_shed(|n, _| *n += 1);
        }
        settle(&rt);
        let metrics = rt.metrics();
        let named = metrics.handler("metrics::Named").expect("it has run");
        assert_eq!((named.events, named.panics), (60, 0));
        assert!(named.cost_cycles > 0);
        let here = concat!(module_path!(), "::handlers_are_shown_by_name");
        let closure = metrics.handlers.iter().find(|h| h.name.starts_with(here));
        assert_eq!(
            closure.map(|h| h.events),
            Some(30),
            "{:?}",
            metrics.handlers
        );
        assert!(metrics.handler("metrics::Unknown").is_none());
        let text = metrics.to_prometheus();
        assert!(text.contains("mely_handler_events_total{handler=\"metrics::Named\"} 60"));
        assert!(text.contains("mely_events_run_total 90"));
    });
}

#[test]
fn every_line_of_the_text_format_is_well_formed() {
    bounded("text", || {
        static ODD: Handler = Handler::new("odd \"name\"\\\nof two lines");
        let rt = Runtime::builder().workers(3).build().expect("a runtime");
        rt.new_color().with_handler(&ODD).post_or_shed(|_, _| ());
        settle(&rt);
        let text = rt.metrics().to_prometheus();
        let mut families = std::collections::HashMap::new();
        let mut buckets = Vec::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let name = help.split(' ').next().unwrap_or_default();
                assert!(families.insert(name, "").is_none(), "twice: {name}");
            } else if let Some(of) = line.strip_prefix("# TYPE ") {
                let (name, kind) = of.rsplit_once(' ').expect("a name and a type");
                families.insert(name, kind).expect("its help comes first");
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a name and a value");
                let name = series.split('{').next().unwrap_or_default();
                let (of, part) = name.rsplit_once('_').unwrap_or_default();
                let is_part = families.get(of) == Some(&"histogram");
                assert!(families.contains_key(name) != is_part, "no help: {line}");
                let value = value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
                match (is_part, part) {
                    (true, "bucket") => buckets.push((value, series.contains("le=\"+Inf\""))),
                    (true, "count") => {
                        let rising = std::mem::take(&mut buckets);
                        assert!(rising.is_sorted_by_key(|(count, _)| *count), "{rising:?}");
                        assert_eq!(rising.last(), Some(&(value, true)), "{line}");
                    }
                    (true, part) => assert_eq!(part, "sum", "{line}"),
                    (false, _) => {}
                }
            }
        }
        assert_eq!(families["mely_handler_run_seconds"], "histogram");
        assert!(text.ends_with('\n'));
    });
}

#[test]
fn the_workers_counts_add_up() {
    bounded("sums", || {
        let rt = Runtime::builder().workers(4).build().expect("a runtime");
        for _ in 0..200 {
            rt.new_color()
                .post_or_shed(|_, cx| cx.handle().new_color().post_or_shed(|_, _| ()));
        }
        settle(&rt);
        let metrics = rt.metrics();
        assert_eq!(metrics.workers.len(), 4);
        assert_eq!(metrics.events.run, 400);
        assert_eq!(metrics.total(|w| w.events.run), 400);
        assert_eq!(metrics.total(|w| w.events.posted), 200);
        let by_handler: u64 = metrics.handlers.iter().map(|h| h.events).sum();
        assert_eq!(by_handler, 400);
        assert_eq!(
            metrics.cycles_per_steal().is_some(),
            metrics.total(|w| w.steals) > 0
        );
        assert!(metrics.cycles_per_second > 0.0 && metrics.steal_cost_cycles > 0);
    });
}

#[test]
fn nothing_is_ever_accounted_for_before_it_is_posted() {
    bounded("at any moment", || {
        let rt = Runtime::builder().workers(2).build().expect("a runtime");
        let handle = rt.clone();
        let reader = std::thread::spawn(move || {
            for _ in 0..3_000 {
                let e = handle.metrics().events;
                assert!(
                    e.posted >= e.run + e.shed + e.cancelled + e.abandoned,
                    "{e:?}"
                );
            }
        });
        while !reader.is_finished() {
            for _ in 0..50 {
                rt.new_color()
                    .post_or_shed(|_, cx| cx.post_or_shed(|_, _| ()));
            }
            settle(&rt);
        }
        reader.join().expect("the sums are consistent");
    });
}

#[test]
fn a_handler_that_holds_the_core_is_told_of() {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    static SLOW: Handler = Handler::new("metrics::Slow");
    fn tell(report: &StallReport) {
        let right = report.handler == "metrics::Slow"
            && report.worker == 1
            && report.held >= Duration::from_millis(4)
            && report.to_string().contains("metrics::Slow");
        TOLD.fetch_add(if right { 1 } else { 1 << 32 }, Release);
    }
    bounded("stall", || {
        let rt = Runtime::builder()
            .workers(2)
            .warn_after(Duration::from_millis(4))
            .on_stall(tell)
            .build()
            .expect("a runtime");
        let slow = rt.color_options().pin_to(1).new_color().expect("worker 1");
        for told in 1..=2 {
            slow.with_handler(&SLOW).post_or_shed(move |_, _| {
                let end = std::time::Instant::now() + LIMIT / 2;
                while TOLD.load(Acquire) < told && std::time::Instant::now() < end {
                    std::hint::spin_loop();
                }
            });
            settle(&rt);
            // Once for each event that holds the core.
            assert_eq!(TOLD.load(Acquire), told);
        }
    });
}

/// A handler that blocks for a reply of its own runtime waits for ever; what it does is told.
#[test]
fn a_handler_that_blocks_for_a_reply_is_told_of() {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    fn tell(report: &StallReport) {
        let right = report.awaits && report.to_string().contains("block_on");
        TOLD.fetch_add(if right { 1 } else { 1 << 32 }, Release);
    }
    bounded("blocks", || {
        for workers in [1, 2] {
            let rt = Runtime::builder().workers(workers).on_stall(tell);
            let rt = rt.build().expect("a runtime");
            let told = TOLD.load(Acquire) + 1;
            let color = rt.new_color();
            let own = color.clone();
            let blocks = color.call(move |_, _| {
                let mut reply = std::pin::pin!(own.call(|_, _| ()));
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(reply.as_mut().poll(&mut cx).is_pending());
                eventually("it is told of", || TOLD.load(Acquire) == told);
            });
            assert_eq!(blocks.wait(), Ok(()));
        }
    });
}
