//! Stages that are served by threads of their own.

use std::sync::{Arc, Barrier};

use mely_sched::{GovernorOptions, Nanos};
use mely_stage::{Ending, Manager, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

/// Looks whenever it is asked, and adds threads as soon as anything waits.
fn eager(threads_max: u32) -> GovernorOptions {
    GovernorOptions {
        period: Nanos::new(1),
        queued_max: 1,
        threads_max,
        idle_periods: 1,
        ..GovernorOptions::default()
    }
}

#[test]
fn threads_are_added_while_the_queue_is_long_and_go_when_they_are_idle() {
    let rt = runtime();
    let meet = Arc::new(Barrier::new(3));
    let options = StageOptions::new().threads(eager(3));
    let stage = Manager::new(&rt).create("meets", options, move |_| {
        let meet = Arc::clone(&meet);
        each(move |n: u32| {
            if n < 3 {
                meet.wait();
            }
        })
    });
    let stage = stage.expect("created");
    assert_eq!(stage.snapshot().threads, 1);
    // Each waits for two others: one thread, or two, would wait for ever.
    (0..3).for_each(|n| stage.sink().offer(n).expect("room"));
    while stage.snapshot().counts.handled < 3 {
        stage.sink().offer_or_shed(7);
        assert!(stage.snapshot().threads <= 3);
    }
    while stage.snapshot().threads > 1 {
        std::thread::yield_now();
    }
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_accounted(&stage.snapshot());
}

#[test]
fn a_governor_that_changes_brings_threads_and_sends_them_away() {
    let rt = runtime();
    let options = StageOptions::new().threads(eager(1));
    let stage = Manager::new(&rt).create("governed", options, |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    let four = GovernorOptions {
        threads_min: 4,
        threads_max: 4,
        ..GovernorOptions::default()
    };
    assert!(stage.set_threads(four));
    while stage.snapshot().threads < 4 {
        stage.sink().offer_or_shed(7);
    }
    assert!(stage.set_threads(eager(1)));
    while stage.snapshot().threads > 1 {
        std::thread::yield_now();
    }
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(stage.snapshot().threads, 0);
    assert_accounted(&stage.snapshot());
}

#[test]
fn a_stage_of_threads_may_have_any_name() {
    let rt = runtime();
    let options = StageOptions::new().threads(eager(1));
    let stage = Manager::new(&rt).create("a\0b", options, |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    stage.sink().offer(7).expect("room");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(stage.snapshot().counts.handled, 1);
}
