//! Stages that are scheduled late.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use mely_sched::GovernorOptions;
use mely_stage::{Ending, Manager, Schedule, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

fn one_thread() -> GovernorOptions {
    GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    }
}

#[test]
fn a_shorter_delay_holds_for_what_waits_already() {
    let rt = runtime();
    for options in [
        StageOptions::new().colors(1),
        StageOptions::new().threads(one_thread()),
    ] {
        let (tell, told) = channel();
        let late = |after| Schedule::Delayed { events: 10, after };
        let options = options.schedule(late(LONG * 1000));
        let stage = Manager::new(&rt).create("late", options, move |_| {
            let tell = tell.clone();
            each(move |n: u32| tell.send(n).expect("heard"))
        });
        let stage = stage.expect("created");
        stage.sink().offer(7).expect("room");
        stage.set_schedule(late(Duration::from_millis(50)));
        assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(7));
        stage.destroy(Ending::Drain, LONG).expect("drained");
    }
}

#[test]
fn the_delay_is_that_of_the_event_that_waits_longest() {
    let rt = runtime();
    let late = Schedule::Delayed {
        events: usize::MAX,
        after: Duration::from_millis(100),
    };
    for options in [
        StageOptions::new().colors(1),
        StageOptions::new().threads(one_thread()),
    ] {
        let (tell, told) = channel();
        let options = options.schedule(late).urgency(|n: &u32| i64::from(*n));
        let stage = Manager::new(&rt).create("late", options, move |_| {
            let tell = tell.clone();
            each(move |n: u32| tell.send(n).expect("heard"))
        });
        let stage = stage.expect("created");
        let mut handled = false;
        for n in 0..100 {
            stage.sink().offer(n).expect("room");
            handled = told.recv_timeout(Duration::from_millis(20)).is_ok();
            if handled {
                break;
            }
        }
        assert!(handled, "after two seconds");
        stage.destroy(Ending::Drain, LONG).expect("drained");
    }
}

#[test]
fn a_full_stage_waits_for_no_more() {
    let rt = runtime();
    for options in [
        StageOptions::new().colors(2),
        StageOptions::new().threads(one_thread()),
    ] {
        let never = Schedule::Delayed {
            events: 100,
            after: LONG * 1000,
        };
        let options = options.schedule(never).capacity(10);
        let stage = Manager::new(&rt).create("full", options, |_| each(|_: u32| ()));
        let stage = stage.expect("created");
        (0..10).for_each(|n| stage.sink().offer(n).expect("room"));
        let until = Instant::now() + Duration::from_secs(5);
        while stage.sink().offer(10).is_err() {
            assert!(Instant::now() < until, "{:?}", stage.snapshot());
            std::thread::yield_now();
        }
        stage.destroy(Ending::HandBack, LONG).expect("ended");
    }
}

#[test]
fn the_longest_delay_ends_with_the_stage() {
    let rt = runtime();
    let never = Schedule::Delayed {
        events: usize::MAX,
        after: Duration::MAX,
    };
    for options in [
        StageOptions::new().colors(1),
        StageOptions::new().threads(one_thread()),
    ] {
        let options = options.schedule(never).capacity(usize::MAX);
        let stage = Manager::new(&rt)
            .create("never", options, |_| each(|_: u32| ()))
            .expect("created");
        (0..1000).for_each(|n| stage.sink().offer(n).expect("room"));
        stage.wait_ended(Duration::ZERO).expect_err("open");
        stage.end(Ending::Drain);
        stage.wait_ended(Duration::MAX).expect("ended");
        assert_eq!(assert_accounted(&stage.snapshot()).handled, 1000);
    }
}

/// Handled, or reported: a timer that has not reached its worker ends where no event is taken
/// any more.
#[test]
fn a_shutdown_accounts_for_what_accumulates() {
    let rt = runtime();
    let never = Schedule::Delayed {
        events: 100,
        after: LONG * 1000,
    };
    let options = StageOptions::new().colors(1).schedule(never);
    let stage = Manager::new(&rt)
        .create("late", options, |_| each(|_: u32| ()))
        .expect("created");
    (0..10).for_each(|n| stage.sink().offer(n).expect("room"));
    rt.shutdown(LONG).expect("drained");
    let counts = assert_accounted(&stage.snapshot()).clone();
    assert_eq!(counts.handled + counts.ended, 10, "{counts:?}");
}
