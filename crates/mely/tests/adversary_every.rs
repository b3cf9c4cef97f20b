//! Repeating timers that nobody cancels, in an ordinary runtime with some load.
use mely::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

fn run(policy: Policy, workers: usize, load: bool) -> (usize, usize) {
    let rt = Runtime::builder()
        .workers(workers)
        .policy(policy)
        .build()
        .unwrap();
    let n = 64;
    let mut timers = vec![];
    let mut colors = vec![];
    for _ in 0..n {
        let color = rt.colored(0u64);
        timers.push(color.post_every(Duration::from_millis(2), |n, _| {
            *n += 1;
            let end = Instant::now() + Duration::from_micros(20);
            while Instant::now() < end {}
        }));
        colors.push(color);
    }
    let busy: Vec<_> = (0..8).map(|_| rt.colored(0u64)).collect();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(2) {
        if load {
            for b in &busy {
                b.post(|n, _| {
                    *n += 1;
                    let end = Instant::now() + Duration::from_micros(100);
                    while Instant::now() < end {}
                });
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    let dead = timers.iter().filter(|t| !t.is_pending()).count();
    drop(colors);
    drop(rt);
    (dead, n)
}

#[test]
fn ordinary() {
    let mut bad = vec![];
    for policy in [
        Policy::Adaptive,
        Policy::Mely,
        Policy::MelyBase,
        Policy::LibasyncSmp,
        Policy::Cfse,
    ] {
        for workers in [1, 2, 8] {
            let (dead, n) = run(policy, workers, true);
            if dead > 0 {
                bad.push(format!("{policy}/{workers}: {dead} of {n}"));
            }
        }
    }
    assert!(bad.is_empty(), "timers dead after 2 s: {bad:?}");
    let _ = Arc::new(AtomicU64::new(0)).load(Relaxed);
}
