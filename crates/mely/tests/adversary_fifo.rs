//! Colors stopped while their events are popped from the queue of a core.
use mely::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

static PANICS: AtomicU64 = AtomicU64::new(0);

#[test]
fn stop_while_popped() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, SeqCst);
        default(info)
    }));
    let rt = Runtime::builder()
        .workers(1)
        .policy(Policy::LibasyncSmp)
        .build()
        .unwrap();
    let rounds = if cfg!(miri) { 3 } else { 3_000_000 };
    let begin = Instant::now();
    let mut done = 0;
    for i in 0..rounds {
        let color = rt.fresh_color();
        let c2 = color.clone();
        color.post(|_, _| ());
        color.post(|_, _| ());
        color.post(|_, _| ());
        for _ in 0..i % 100 {
            std::hint::spin_loop();
        }
        c2.stop(Pending::Drop);
        done += 1;
        if PANICS.load(SeqCst) > 0 || begin.elapsed() > Duration::from_secs(25) {
            break;
        }
    }
    thread::sleep(Duration::from_millis(100));
    let events = rt.metrics().events;
    let report = rt
        .shutdown(Duration::from_secs(1))
        .map_err(|e| e.to_string())
        .map(|r| r.events_run);
    assert_eq!(
        PANICS.load(SeqCst),
        0,
        "after {done} rounds the worker panicked: pending {}, {report:?}",
        events.pending()
    );
    let _ = (Arc::new(AtomicBool::new(false)),);
}
