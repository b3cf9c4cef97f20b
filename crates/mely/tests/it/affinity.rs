//! Where workers run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mely::topology::{CpuSet, allowed_cpus, pin_current_thread};
use mely::{Affinity, Runtime};

use crate::support::bounded;

/// What the first worker says: its core, and where the system lets it run.
fn seen(rt: &Runtime) -> (Option<usize>, CpuSet) {
    let color = rt.color_options().pinned(0).fresh().expect("a worker");
    let seen = color.call(|_, cx| (cx.core(), allowed_cpus()));
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
                Affinity::Auto | Affinity::Pinned => (Some(first), only.clone()),
                Affinity::Free => (None, allowed.clone()),
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

/// Runs events of a millisecond each until a pin is let go, or as many as were given:
/// whether it was.
fn works_until_let_go(rt: &Runtime, events: usize) -> bool {
    let color = rt.color_options().pinned(0).fresh().expect("a worker");
    (0..events).any(|_| {
        let work = color.call(|_, _| {
            let end = Instant::now() + Duration::from_millis(1);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        });
        work.wait().expect("it is run");
        rt.metrics().total(|worker| worker.pins_let_go) > 0
    })
}

#[test]
fn auto_lets_go_of_a_core_that_another_thread_wants() {
    bounded("crowded", || {
        let allowed = allowed_cpus();
        let first = allowed.iter().next().expect("a core");
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let _spinner = Spinner::on(first);
        assert!(works_until_let_go(&rt, 30_000));
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
        assert!(!works_until_let_go(&rt, 700));
        assert_eq!(seen(&rt).0, Some(first));
    });
}
