//! Where workers run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mely::topology::{CpuSet, allowed_cpus, pin_current_thread};
use mely::{Affinity, Runtime, WorkerMetrics};

use crate::support::bounded;

/// What the first worker says: its core, and where the system lets it run.
fn seen(rt: &Runtime) -> (Option<usize>, CpuSet) {
    let color = rt.color_options().pin_to(0).new_color().expect("a worker");
    let seen = color.call(|_, cx| (cx.cpu(), allowed_cpus()));
    seen.wait().expect("an answer")
}

#[test]
fn the_system_is_told_what_the_policy_says() {
    bounded("affinity", || {
        let allowed = allowed_cpus();
        let first = allowed.iter().next().expect("a core");
        let only = CpuSet::of([first]).expect("a core");
        for affinity in Affinity::ALL {
            let builder = Runtime::builder().workers(1).affinity(affinity);
            let rt = builder.build().expect("a runtime");
            let expected = match affinity {
                Affinity::Pinned => (Some(first), only.clone()),
                // It has not worked yet.
                Affinity::Auto | Affinity::Free => (None, allowed.clone()),
            };
            assert_eq!(seen(&rt), expected, "{affinity}");
            let worker = rt.metrics().workers[0];
            assert_eq!((worker.core, worker.pins_let_go), (expected.0, 0));
        }
    });
}

#[test]
fn a_free_worker_keeps_to_the_cores_that_were_named() {
    bounded("free", || {
        let last = allowed_cpus().iter().last().expect("a core");
        let builder = Runtime::builder().cores([last]).affinity(Affinity::Free);
        let rt = builder.workers(2).build().expect("a runtime");
        assert_eq!(seen(&rt), (None, CpuSet::of([last]).expect("a core")));
    });
}

/// A thread that keeps a core busy until it is dropped.
struct Spinner(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Spinner {
    fn on(core: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let spins = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            pin_current_thread(core).expect("a core");
            while !spins.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(ends, Some(thread))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().expect("it only spins");
        }
    }
}

/// Keeps the first worker at work, by events of a millisecond each, until `is_over` or as
/// many as were given have been run: whether it was.
fn works_until(rt: &Runtime, events: usize, is_over: impl Fn(&WorkerMetrics) -> bool) -> bool {
    let color = rt.color_options().pin_to(0).new_color().expect("a worker");
    let ends = Arc::new(AtomicBool::new(false));
    for _ in 0..events {
        let ends = Arc::clone(&ends);
        color.post_or_shed(move |_, _| {
            let end = Instant::now() + Duration::from_millis(1);
            while Instant::now() < end && !ends.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    loop {
        let metrics = rt.metrics();
        let (is_over, pending) = (is_over(&metrics.workers[0]), metrics.events.pending());
        if is_over || pending == 0 {
            ends.store(true, Relaxed);
            return is_over;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn auto_keeps_a_core_while_it_works() {
    bounded("at work", || {
        // Where other tests want the core at this moment, another runtime has to show it.
        let rt = loop {
            let rt = Runtime::builder().workers(1).build().expect("a runtime");
            assert!(works_until(&rt, 30_000, |w| w.core.is_some() || w.pins_let_go > 0));
            if rt.metrics().workers[0].pins_let_go == 0 {
                break rt;
            }
        };
        rt.wait_idle();
        // It is seen to sleep once it has let go.
        while rt.metrics().workers[0].core.is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(seen(&rt), (None, allowed_cpus()));
    });
}

#[test]
fn auto_lets_go_of_a_core_that_another_thread_wants() {
    bounded("crowded", || {
        let allowed = allowed_cpus();
        let first = allowed.iter().next().expect("a core");
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let _spinner = Spinner::on(first);
        assert!(works_until(&rt, 30_000, |worker| worker.pins_let_go > 0));
        assert_eq!(seen(&rt), (None, allowed));
        assert_eq!(rt.metrics().workers[0].core, None);
        let text = rt.metrics().to_prometheus();
        assert!(text.contains("mely_worker_pins_let_go_total{worker=\"0\"} 1"));
        assert!(text.contains("mely_worker_pinned{worker=\"0\"} 0"));
    });
}

#[test]
fn pinned_stays_whoever_else_wants_the_core() {
    bounded("stubborn", || {
        let first = allowed_cpus().iter().next().expect("a core");
        let builder = Runtime::builder().workers(1).affinity(Affinity::Pinned);
        let rt = builder.build().expect("a runtime");
        let _spinner = Spinner::on(first);
        // Twice what lets go of a pin otherwise.
        assert!(!works_until(&rt, 700, |worker| worker.pins_let_go > 0));
        assert_eq!(seen(&rt).0, Some(first));
    });
}
