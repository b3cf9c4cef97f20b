//! How long events wait and run, as the metrics tell.

use std::sync::Arc;
use std::time::Duration;

use mely::{Handler, PostError, Runtime};

use crate::support::{bounded, settle};

static HELD: Handler = Handler::new("waits::Held");
static BEHIND: Handler = Handler::new("waits::Behind");

/// How long the worker is held.
const HOLD: Duration = Duration::from_millis(20);

#[test]
fn what_waits_behind_a_long_event_says_so() {
    bounded("waits", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let color = rt.fresh_color();
        let behind = color.clone();
        color.via(&HELD).post(move |(), cx| {
            // From here, and from another thread.
            for _ in 0..64 * 8 {
                cx.post_via(&BEHIND, |(), _| ());
            }
            let outside = std::thread::spawn(move || {
                for _ in 0..64 * 8 {
                    behind.via(&BEHIND).post(|(), _| ());
                }
            });
            outside.join().expect("it posts");
            std::thread::sleep(HOLD);
        });
        settle(&rt);
        let metrics = rt.metrics();
        let behind = metrics.handler("waits::Behind").expect("it has run");
        assert_eq!(behind.events, 2 * 64 * 8);
        // One in 64, give or take one for each of the posters.
        assert!(
            (14..=18).contains(&behind.wait.count()),
            "{:?}",
            behind.wait
        );
        assert!(behind.wait.quantile(0.01) >= Some(HOLD));
        let held = metrics.handler("waits::Held").expect("it has run");
        assert!(held.run.quantile(1.0) >= Some(HOLD), "{:?}", held.run);
        let text = metrics.to_prometheus();
        for line in [
            "# TYPE mely_handler_wait_seconds histogram",
            "mely_handler_run_seconds_bucket{handler=\"waits::Held\",le=\"+Inf\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    });
}

/// An event that is noted is given back as it was, too.
#[test]
fn a_refused_event_comes_back_whole() {
    bounded("refused", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let full = rt.color_options().capacity(1);
        let full = full.fresh().expect("a worker");
        let stopped = rt.fresh_color();
        stopped.stop(mely::Pending::Drop);
        let (entered, held) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        full.post(move |(), _| {
            entered.0.send(()).expect("it is waited for");
            held.1.recv().ok();
        });
        entered.1.recv().expect("it runs");
        let captured = Arc::new(7);
        for n in 0..1000 {
            let inside = Arc::clone(&captured);
            let event = move |_: &mut (), _: &mut mely::Context<'_>| assert_eq!(*inside, 7);
            let refused = match n % 2 {
                0 => full.try_post(event),
                _ => stopped.try_post(event),
            };
            // There is room for one behind the one that runs.
            if n > 0 {
                let event = refused.map_err(PostError::into_event).unwrap_err();
                assert_eq!(Arc::strong_count(&captured), 3, "in the room, and here");
                drop(event);
            }
            assert_eq!(Arc::strong_count(&captured), 2);
        }
        held.0.send(()).expect("it waits");
        settle(&rt);
        assert_eq!(rt.metrics().events.pending(), 0);
    });
}
