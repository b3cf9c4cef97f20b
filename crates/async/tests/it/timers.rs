//! Sleeping, in order.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{Either, select};
use mely_async::{
    Error, MissedTickBehavior, interval, interval_at, sleep, sleep_until, timeout, timeout_at,
};

use crate::support::{Wakes, bounded, colored, eventually, runtime};

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn sleeps_end_in_the_order_of_their_times() {
    let order = colored(|_| async {
        let color = mely::Color::current().expect("a color");
        let order = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let sleeps: Vec<_> = [30, 10, 20, 0]
            .map(|ms| {
                let order = Arc::clone(&order);
                color.spawn(async move {
                    sleep_until(start + Duration::from_millis(ms)).await?;
                    assert!(start.elapsed() >= Duration::from_millis(ms), "never early");
                    order.lock().expect("no panic").push(ms);
                    drop(order);
                    Ok::<_, Error>(())
                })
            })
            .into();
        for sleep in sleeps {
            sleep.await.expect("it ends").expect("a timer");
        }
        Arc::into_inner(order).and_then(|order| order.into_inner().ok())
    });
    // The tasks are over, and have let go of it.
    assert_eq!(order, Some(vec![0, 10, 20, 30]));
}

#[test]
fn a_sleep_that_is_dropped_cancels_its_event() {
    bounded(|| {
        let rt = runtime(1);
        let before = rt.metrics().events;
        let polled = rt.new_color().spawn(async {
            for _ in 0..100 {
                assert!(sleep(LONG).now_or_never().is_none());
            }
        });
        polled.wait().expect("it ends");
        rt.wait_idle();
        let after = rt.metrics().events;
        assert_eq!(after.cancelled - before.cancelled, 100);
        assert_eq!(after.pending(), 0);
    });
}

#[test]
fn a_dropped_sleep_wakes_nobody() {
    colored(|_| async {
        let (wakes, waker) = Wakes::waker();
        let mut cx = std::task::Context::from_waker(&waker);
        let mut nap = Box::pin(sleep(LONG));
        assert!(nap.poll_unpin(&mut cx).is_pending());
        drop(nap);
        assert_eq!(wakes.count(), 0);
        assert_eq!(Arc::strong_count(&wakes), 2, "nobody keeps the waker");
    });
}

#[test]
fn what_is_late_is_dropped_and_what_is_in_time_is_not() {
    colored(|_| async {
        let pending = futures::future::pending::<()>;
        let late = timeout(Duration::from_millis(1), pending()).await;
        assert_eq!(late, Err(Error::Elapsed));
        let late = timeout_at(Instant::now(), pending()).await;
        assert_eq!(late, Err(Error::Elapsed));
        let in_time = timeout(LONG, sleep(Duration::from_millis(1))).await;
        assert_eq!(in_time, Ok(Ok(())));
        let endless = timeout(Duration::MAX, sleep(Duration::from_millis(1))).await;
        assert_eq!(endless, Ok(Ok(())));
        assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
    });
}

#[test]
fn a_sleep_can_be_put_off_and_brought_forward() {
    colored(|_| async {
        let mut nap = sleep(Duration::from_millis(1));
        assert!(futures::poll!(&mut nap).is_pending() || nap.is_elapsed());
        let later = Instant::now() + Duration::from_millis(20);
        nap.reset(later);
        (&mut nap).await.expect("a timer");
        assert!(Instant::now() >= later);
        nap.reset(Instant::now() + LONG);
        assert!(futures::poll!(&mut nap).is_pending());
        nap.reset(Instant::now());
        (&mut nap).await.expect("a timer");
        assert!(nap.is_elapsed());
    });
}

#[test]
fn the_first_of_two_wins() {
    let first = colored(|_| async {
        let (short, long) = (sleep(Duration::from_millis(1)), sleep(LONG));
        matches!(select(short, long).await, Either::Left(_))
    });
    assert!(first);
}

#[test]
fn ticks_are_due_at_equal_distances() {
    colored(|_| async {
        let (period, start) = (Duration::from_millis(2), Instant::now());
        let mut ticks = interval_at(start, period);
        for number in 0..10 {
            let due = ticks.tick().await.expect("a timer");
            assert_eq!(due, start + period * number);
            assert!(Instant::now() >= due);
        }
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let first = ticks.tick().await.expect("a timer");
        ticks.reset();
        assert!(ticks.tick().await.expect("a timer") >= first + period);
    });
}

#[test]
fn who_sleeps_again_and_again_does_not_hold_a_shutdown_up() {
    bounded(|| {
        let rt = runtime(1);
        let naps = rt.new_color().spawn(async {
            let (begun, mut first) = (Instant::now(), true);
            loop {
                // Whatever it says: the next one.
                let slept = sleep(if first { Duration::ZERO } else { LONG }).await;
                first = false;
                assert!(slept.is_err() || begun.elapsed() < LONG);
            }
        });
        rt.shutdown(Duration::from_secs(10))
            .expect("it ends in order");
        assert!(naps.wait().is_err());
    });
}

#[test]
fn too_many_timers_are_told() {
    bounded(|| {
        let rt = mely::Runtime::builder()
            .workers(1)
            .timers_max(10)
            .build()
            .expect("a runtime");
        let slept = rt.new_color().spawn(async {
            let mut naps: Vec<_> = (0..11).map(|_| Box::pin(sleep(LONG))).collect();
            let mut polls = Vec::new();
            for _ in 0..2 {
                // A refusal is told by the second poll.
                let each = naps.iter_mut().map(|nap| nap.as_mut().now_or_never());
                polls = each.collect();
            }
            polls
        });
        let polls = slept.wait().expect("it ends");
        let refused = |poll: &&Option<_>| **poll == Some(Err(Error::Refused));
        assert_eq!(polls.iter().filter(refused).count(), 1);
        assert!(polls[10] == Some(Err(Error::Refused)));
        eventually("all are cancelled", || rt.metrics().events.pending() == 0);
    });
}

/// Timers ask for no room, so that a color that is full has them too.
#[test]
fn what_waits_under_a_full_color_is_woken() {
    bounded(|| {
        let rt = runtime(1);
        let color = rt.color_options().capacity(1).colored(0).expect("no home");
        let woken = color.spawn_with(async |own: mely::TaskState<u32>| {
            let full = own.colored().clone();
            let fill = || while full.post(|n, _| *n += 1).is_ok() {};
            fill();
            sleep(Duration::from_millis(1)).await.expect("it ends");
            fill();
            let late = timeout(Duration::from_millis(1), std::future::pending::<()>());
            assert_eq!(late.await, Err(Error::Elapsed));
            fill();
            let in_time = timeout(Duration::from_secs(3600), mely_async::yield_now());
            assert_eq!(in_time.await, Ok(()));
        });
        assert_eq!(woken.wait(), Ok(()));
    });
}
