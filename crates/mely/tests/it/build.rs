//! Bad settings are error values that name what is wrong; good ones take effect.

use std::collections::HashSet;
use std::error::Error;
use std::time::Duration;

use mely::{Affinity, BuildError, Policy, ReactorKind, Runtime, topology};

use crate::support::{bounded, settle};

#[test]
fn no_workers_are_refused() {
    let error = Runtime::builder().workers(0).build().unwrap_err();
    assert!(matches!(error, BuildError::NoWorkers), "{error}");
    assert!(error.source().is_none());
}

#[test]
fn too_many_workers_are_refused() {
    for workers in [4097, usize::MAX] {
        let error = Runtime::builder().workers(workers).build().unwrap_err();
        let BuildError::TooManyWorkers { given, max } = error else {
            panic!("{error}");
        };
        assert_eq!((given, max), (workers, 4096));
    }
}

#[test]
fn a_core_that_does_not_exist_is_refused_and_named() {
    for missing in [4095, 1 << 20, usize::MAX] {
        let error = Runtime::builder().cores([missing]).build().unwrap_err();
        let said = error.to_string();
        let BuildError::NoSuchCore { core, allowed } = error else {
            panic!("{said}");
        };
        assert_eq!((core, &allowed), (missing, &topology::allowed_cpus()));
        assert!(said.contains(&missing.to_string()), "{said}");
    }
}

#[test]
fn no_cores_are_refused() {
    let error = Runtime::builder().cores([]).build().unwrap_err();
    assert!(matches!(error, BuildError::NoCores), "{error}");
    let error = Runtime::builder().cores([]).workers(2).build().unwrap_err();
    assert!(matches!(error, BuildError::NoCores), "{error}");
}

#[test]
fn a_batch_of_none_is_refused() {
    let error = Runtime::builder().batch_threshold(0).build().unwrap_err();
    assert!(matches!(error, BuildError::ZeroBatch), "{error}");
}

#[test]
fn a_name_that_no_thread_can_have_is_an_error_value() {
    let built = Runtime::builder().workers(1).worker_name("a\0b").build();
    assert!(
        matches!(built, Err(BuildError::BadWorkerName(_))),
        "{built:?}"
    );
}

#[test]
fn the_largest_settings_are_taken() {
    bounded("largest settings", || {
        let rt = Runtime::builder()
            .workers(1)
            .batch_threshold(u32::MAX)
            .color_capacity(usize::MAX)
            .timers_max(usize::MAX)
            .nodes_max(usize::MAX)
            .warn_after(Duration::MAX)
            .build()
            .expect("a runtime");
        let color = rt.colored(0);
        (0..100).for_each(|_| color.post_or_shed(|n, _| *n += 1));
        assert_eq!(color.blocking_with(|n| *n), 100);
    });
}

#[test]
fn the_smallest_settings_are_taken() {
    bounded("smallest settings", || {
        let rt = Runtime::builder()
            .workers(1)
            .batch_threshold(1)
            .color_capacity(1)
            .timers_max(0)
            .nodes_max(0)
            .warn_after(Duration::ZERO)
            .on_stall(|_| ())
            .worker_name("")
            .build()
            .expect("a runtime");
        let color = rt.colored(0);
        for _ in 0..100 {
            color.post_or_shed(|n, _| *n += 1);
            settle(&rt);
        }
        assert_eq!(color.blocking_with(|n| *n), 100);
        let refused = color.post_after(Duration::ZERO, |_, _| ());
        settle(&rt);
        assert!(!refused.is_pending());
        assert_eq!(rt.metrics().events.shed, 1);
    });
}

#[test]
fn workers_are_named() {
    bounded("names", || {
        let rt = Runtime::builder().workers(3).worker_name("bees").build();
        let rt = rt.expect("a runtime");
        for worker in 0..3 {
            let color = rt
                .color_options()
                .pin_to(worker)
                .new_color()
                .expect("a worker");
            let name = color.call(|_, _| std::thread::current().name().map(str::to_owned));
            assert_eq!(name.wait(), Ok(Some(format!("bees-{worker}"))));
        }
    });
}

#[test]
fn workers_are_pinned_to_the_cores_that_were_named() {
    bounded("pinned", || {
        let cores: Vec<usize> = topology::allowed_cpus().iter().collect();
        let builder = Runtime::builder().affinity(Affinity::Pinned);
        let rt = builder.cores(cores.clone()).build();
        let rt = rt.expect("a runtime");
        assert_eq!(rt.workers(), cores.len());
        for (worker, &core) in cores.iter().enumerate() {
            let color = rt
                .color_options()
                .pin_to(worker)
                .new_color()
                .expect("a worker");
            let seen = color.call(|_, cx| (cx.cpu(), topology::allowed_cpus()));
            let (named, allowed) = seen.wait().expect("an answer");
            assert_eq!(named, Some(core));
            assert_eq!(allowed.iter().collect::<Vec<_>>(), [core]);
            assert_eq!(rt.metrics().workers[worker].core, Some(core));
        }
    });
}

#[test]
fn workers_stay_unpinned_when_asked_or_when_they_are_too_many() {
    bounded("unpinned", || {
        let cores = topology::allowed_cpus().iter().count();
        let asked = Runtime::builder().workers(1).affinity(Affinity::Free);
        let many = Runtime::builder().workers(cores + 1);
        for builder in [asked, many] {
            let rt = builder.build().expect("a runtime");
            let seen = rt.new_color().call(|_, cx| cx.cpu());
            assert_eq!(seen.wait(), Ok(None));
        }
    });
}

#[test]
fn every_policy_and_reactor_runs() {
    bounded("all kinds", || {
        for policy in Policy::ALL {
            for kind in [ReactorKind::PerWorker, ReactorKind::Single] {
                let rt = Runtime::builder().workers(3).policy(policy).reactor(kind);
                let rt = rt.build().expect("a runtime");
                let color = rt.colored(HashSet::new());
                for n in 0..50 {
                    color.post_or_shed(move |set, _| assert!(set.insert(n)));
                }
                assert_eq!(
                    color.blocking_with(|set| set.len()),
                    50,
                    "{policy}, {kind:?}"
                );
            }
        }
    });
}
