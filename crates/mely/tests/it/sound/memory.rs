//! What must not stay in memory.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{alone, bounded, runtime};

/// Resident memory of this process, in kilobytes.
fn resident_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|kb| kb.parse().ok()).expect("a size in kB")
}

#[test]
fn threads_that_post_once_leave_no_memory() {
    alone(
        "sound::memory::threads_that_post_once_leave_no_memory",
        || {
            let rt = runtime(2);
            let color = rt.colored(0u32);
            let post_from_threads = |threads| {
                for _ in 0..threads {
                    let color = color.clone();
                    std::thread::spawn(move || color.post_or_shed(|n, _| *n += 1))
                        .join()
                        .expect("it posts");
                }
            };
            post_from_threads(500);
            let before = resident_kb();
            post_from_threads(4_000);
            assert_eq!(color.blocking_with(|n| *n), 4_500);
            let more = resident_kb().saturating_sub(before);
            // ThreadSanitizer keeps some 5 kB of each thread that has ended.
            let most = match std::env::var_os("TSAN_OPTIONS") {
                Some(_) => 40 << 10,
                None => 8 << 10,
            };
            assert!(more < most, "{more} kB stay of 4 000 threads");
        },
    );
}

#[test]
fn what_a_cancelled_timer_holds_is_dropped_at_once() {
    bounded("cancelled timers", || {
        let rt = runtime(1);
        let (color, token) = (rt.new_color(), Arc::new(()));
        let timers: Vec<_> = (0..1_000)
            .map(|_| {
                let token = Arc::clone(&token);
                color.post_after(Duration::from_secs(3_600), move |(), _| drop(token))
            })
            .collect();
        assert_eq!(Arc::strong_count(&token), 1_001);
        assert!(timers.iter().all(mely::Timer::cancel));
        assert_eq!(Arc::strong_count(&token), 1);
    });
}
