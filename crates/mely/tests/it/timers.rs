//! Delayed events.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mely::{Policy, PostError, Runtime};

use crate::checkers::conserved;
use crate::support::{Gate, LIMIT, OpenOnDrop, bounded, eventually, holds, runtime, settle};

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn events_come_in_the_order_of_their_times_and_never_early() {
    bounded("order", || {
        let rt = runtime(1);
        let color = rt.colored(Vec::new());
        let begin = Instant::now();
        for ms in [5u64, 1, 3, 2, 4, 0] {
            let at = begin + Duration::from_millis(ms);
            drop(color.post_at(at, move |seen: &mut Vec<_>, cx| {
                seen.push((ms, cx.now() >= at))
            }));
        }
        settle(&rt);
        let seen = color.blocking_with(|seen| seen.clone());
        assert!(seen.iter().all(|&(_, in_time)| in_time), "{seen:?}");
        assert_eq!(seen.len(), 6);
        assert_eq!(rt.metrics().total(|w| w.timers_fired), 6);
    });
}

#[test]
fn equal_times_keep_their_order_and_others_theirs() {
    bounded("equal", || {
        let rt = runtime(1);
        let color = rt.colored(Vec::new());
        color.post_or_shed(|_: &mut Vec<u32>, cx| {
            // Set in one handler: all of them wait before the first is due.
            let (this, at) = (cx.colored(), cx.now() + Duration::from_millis(20));
            for n in 0..50 {
                drop(this.post_at(at, move |seen, _| seen.push(1_000 + n)));
                let sooner = at - Duration::from_micros(u64::from(n) * 100);
                drop(this.post_at(sooner, move |seen, _| seen.push(50 - n)));
            }
        });
        settle(&rt);
        let seen = color.blocking_with(|seen| seen.clone());
        let of = |late: bool| seen.iter().copied().filter(move |&n| (n >= 1_000) == late);
        assert!(of(true).is_sorted() && of(true).count() == 50, "{seen:?}");
        assert!(of(false).is_sorted() && of(false).count() == 50, "{seen:?}");
    });
}

#[test]
fn a_cancelled_event_does_not_run_and_is_counted() {
    bounded("cancel", || {
        let rt = runtime(2);
        let color = rt.colored(0);
        let timers: Vec<_> = (0..200)
            .map(|_| color.post_after(Duration::from_millis(2), |n, _| *n += 1))
            .collect();
        let threads: Vec<_> = timers
            .iter()
            .cloned()
            .map(|timer| thread::spawn(move || timer.cancel()))
            .collect();
        let in_time = threads.into_iter().map(|t| t.join().expect("it ends"));
        let cancelled = in_time.filter(|&c| c).count() as u64;
        settle(&rt);
        assert_eq!(color.blocking_with(|n| *n), 200 - cancelled);
        settle(&rt);
        assert_eq!(rt.metrics().events.cancelled, cancelled);
        for timer in timers {
            assert!(!timer.is_pending() && !timer.cancel());
        }
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn cancelled_events_do_not_pile_up() {
    bounded("pile", || {
        let rt = runtime(1);
        let (color, token) = (rt.colored(0), Arc::new(()));
        // As a server does for every request: a timeout, and then an answer.
        for _ in 0..20_000 {
            let held = Arc::clone(&token);
            color.post_or_shed(move |_, cx| {
                let timer = cx.colored().post_after(HOUR, move |_, _| drop(held));
                assert!(timer.is_pending() && timer.cancel());
            });
        }
        color.blocking_with(|_| ());
        assert!(
            Arc::strong_count(&token) < 1_000,
            "{}",
            Arc::strong_count(&token)
        );
    });
}

#[test]
fn a_cancelled_event_is_not_waited_for() {
    bounded("settle", || {
        let rt = runtime(1);
        let timer = rt.new_color().post_after(HOUR, |_, _| ());
        assert!(timer.cancel());
        settle(&rt);
    });
}

#[test]
fn a_cancelled_event_leaves_room_in_its_color() {
    bounded("room", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(2).new_color().expect("no home");
        for _ in 0..2 {
            let timer = color.post_after(Duration::from_millis(1), |_, _| ());
            timer.cancel();
        }
        settle(&rt);
        let posted = color.post(|_, _| ());
        assert!(
            !matches!(posted, Err(PostError::Full(_))),
            "nothing is pending"
        );
    });
}

#[test]
fn an_event_of_a_timer_too_many_leaves_room_in_its_color() {
    bounded("shed timer", || {
        let rt = Runtime::builder().workers(1).timers_max(0).build();
        let rt = rt.expect("a runtime");
        let color = rt.color_options().capacity(1).new_color().expect("no home");
        drop(color.post_after(HOUR, |_, _| ()));
        settle(&rt);
        assert_eq!(rt.metrics().events.shed, 1);
        assert!(color.post(|_, _| ()).is_ok(), "nothing is pending");
    });
}

/// A color that is full, or has no room at all, has timers as any other.
#[test]
fn a_timer_asks_for_no_room() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        bounded("no room asked", move || {
            let rt = Runtime::builder().workers(1).policy(policy).build();
            let rt = rt.expect("a runtime");
            for capacity in [0, 1] {
                let options = rt.color_options().capacity(capacity);
                let color = options.colored(Vec::new()).expect("no home");
                let (begun, goes_on) = (Gate::default(), OpenOnDrop(Gate::default()));
                let (begins, waits) = (begun.clone(), goes_on.0.clone());
                drop(color.post_after(Duration::ZERO, move |_, _| {
                    begins.arrive();
                    waits.pass("the timers are set");
                }));
                begun.pass("its event begins");
                while color.post(|seen, _| seen.push(0)).is_ok() {}
                let own = color.clone();
                let timers = [
                    color.post_after(Duration::ZERO, move |seen, _| {
                        seen.push(1);
                        while own.post(|_, _| ()).is_ok() {}
                        drop(own.post_after(Duration::ZERO, |seen, _| seen.push(3)));
                    }),
                    color.post_after(HOUR, |seen, _| seen.push(4)),
                    color.post_after(HOUR, |seen, _| seen.push(5)),
                ];
                assert!(timers.iter().all(mely::Timer::is_pending), "{timers:?}");
                let ticks = Gate::default();
                let ticked = ticks.clone();
                let often =
                    color.post_every(Duration::from_micros(50), move |_, _| ticked.arrive());
                assert!(timers[1].reset_after(Duration::ZERO) && timers[2].cancel());
                drop(goes_on);
                assert!(ticks.wait_for(3, LIMIT), "it comes again");
                often.cancel();
                settle(&rt);
                let (tell, told) = mpsc::channel();
                drop(color.post_after(Duration::ZERO, move |seen, _| {
                    drop(tell.send(std::mem::take(seen)))
                }));
                let mut ran = told.recv().expect("it ran");
                ran.sort_unstable();
                let expected: &[_] = if capacity == 0 {
                    &[1, 3, 4]
                } else {
                    &[0, 1, 3, 4]
                };
                assert_eq!(ran, expected);
            }
            settle(&rt); // The event that told is not counted before it has ended.
            holds(conserved(&rt.metrics().events));
        });
    }
}

#[test]
fn a_shutdown_cancels_what_is_still_to_come() {
    bounded("shutdown", || {
        for workers in [1, 8] {
            let rt = runtime(workers);
            let (handle, token) = (rt.clone(), Arc::new(()));
            let colors: Vec<_> = (0..16).map(|_| rt.new_color()).collect();
            let timers: Vec<_> = colors
                .iter()
                .map(|color| {
                    let held = Arc::clone(&token);
                    color.post_after(HOUR, move |_, _| drop(held))
                })
                .collect();
            rt.shutdown(LIMIT).expect("nothing but timers is pending");
            let events = handle.metrics().events;
            assert_eq!(events.cancelled, 16);
            holds(conserved(&events));
            assert_eq!(Arc::strong_count(&token), 1);
            assert!(timers.iter().all(|t| !t.is_pending() && !t.cancel()));
        }
    });
}

#[test]
fn timers_that_never_reached_their_worker_are_accounted_for() {
    bounded("on the way", || {
        let rt = runtime(1);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        rt.new_color().post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the runtime has stopped");
        });
        begun.pass("the handler begins");
        let timers: Vec<_> = (0..5)
            .map(|_| rt.new_color().post_after(HOUR, |_, _| ()))
            .collect();
        let handle = rt.clone();
        assert!(rt.shutdown(Duration::ZERO).is_err());
        drop(release);
        eventually("every event is accounted for", || {
            handle.metrics().events.pending() == 0
        });
        holds(conserved(&handle.metrics().events));
        assert!(
            timers.iter().all(|t| !t.is_pending()),
            "they will never fire"
        );
    });
}

#[test]
fn the_farthest_times_are_taken() {
    bounded("far", || {
        let rt = runtime(1);
        let color = rt.colored(0);
        let far = color.post_after(Duration::MAX, |n, _| *n += 1);
        let past = Instant::now().checked_sub(Duration::from_millis(1));
        drop(color.post_at(past.unwrap_or_else(Instant::now), |n, _| *n += 10));
        eventually("the past is due at once", || {
            color.blocking_with(|n| *n) == 10
        });
        assert!(far.is_pending() && far.cancel());
    });
}

#[test]
fn more_timers_than_allowed_are_shed() {
    bounded("too many", || {
        let rt = Runtime::builder().workers(1).timers_max(10).build();
        let rt = rt.expect("a runtime");
        let color = rt.new_color();
        let timers: Vec<_> = (0..15).map(|_| color.post_after(HOUR, |_, _| ())).collect();
        eventually("all have been set or shed", || {
            rt.metrics().events.shed == 5
        });
        assert_eq!(timers.iter().filter(|t| t.is_pending()).count(), 10);
        assert!(rt.shutdown(LIMIT).is_ok());
    });
}

#[test]
fn timers_set_by_sleeping_and_busy_workers_fire() {
    bounded("periodic", || {
        let rt = runtime(4);
        let ticks: Vec<_> = (0..8).map(|_| rt.colored(0u32)).collect();
        fn tick(n: &mut u32, cx: &mut mely::Context<'_, u32>) {
            *n += 1;
            if *n < 20 {
                drop(cx.colored().post_after(Duration::from_micros(300), tick));
            }
        }
        for color in &ticks {
            drop(color.post_after(Duration::ZERO, tick));
        }
        settle(&rt);
        assert!(ticks.iter().all(|color| color.blocking_with(|n| *n) == 20));
    });
}

#[test]
fn a_timer_that_is_put_off_fires_once_at_its_last_time() {
    bounded("put off", || {
        let rt = runtime(2);
        let color = rt.colored(0);
        let (soon, late) = (Duration::from_millis(2), Duration::from_secs(3_600));
        let timers: Vec<_> = (0..50)
            .map(|_| color.post_after(soon, |n, _| *n += 1))
            .collect();
        let in_time = timers
            .iter()
            .filter(|timer| timer.reset_after(late))
            .count();
        let fired = 50 - in_time;
        eventually("the others fire", || color.blocking_with(|n| *n) == fired);
        // To and fro, at the end earlier than its place in the heap says.
        for timer in &timers {
            for n in 0..20 {
                timer.reset_after(late * (1 + n % 3));
            }
        }
        assert_eq!(color.blocking_with(|n| *n), fired);
        let brought = timers
            .iter()
            .filter(|timer| timer.reset_after(Duration::ZERO))
            .count();
        assert_eq!(brought, in_time);
        eventually("all fire", || color.blocking_with(|n| *n) == 50);
        assert!(
            timers
                .iter()
                .all(|t| !t.is_pending() && !t.cancel() && !t.reset_after(soon))
        );
        settle(&rt);
        let events = rt.metrics().events;
        assert_eq!((events.cancelled, events.shed), (0, 0));
        holds(conserved(&events));
    });
}

#[test]
fn a_timer_that_was_brought_forward_and_cancelled_does_not_fire() {
    bounded("forward and cancelled", || {
        let rt = runtime(1);
        let color = rt.colored(0);
        let late = Duration::from_secs(3_600);
        for n in 0..200 {
            let timer = color.post_after(late, |n, _| *n += 1);
            assert!(timer.reset_after(late / 2));
            if n % 2 == 0 {
                assert!(timer.reset_after(late * 2));
            }
            assert!(timer.cancel() && !timer.reset_after(Duration::ZERO));
        }
        settle(&rt);
        assert_eq!(color.blocking_with(|n| *n), 0);
        assert_eq!(rt.metrics().events.cancelled, 200);
    });
}

#[test]
fn threads_reset_cancel_and_fire_the_same_timers() {
    bounded("all at once", || {
        let rt = runtime(2);
        let (color, rounds) = (rt.colored(0_u64), if cfg!(miri) { 5 } else { 400 });
        let mut cancelled = 0;
        for n in 0..rounds {
            let timer = color.post_after(Duration::from_micros(n % 40), |n, _| *n += 1);
            let stopped = std::thread::scope(|scope| {
                let resets = scope.spawn(|| {
                    for micros in [500, 3, 0, 200, 1] {
                        timer.reset_after(Duration::from_micros(micros));
                    }
                });
                let stopped = n % 3 == 0 && timer.cancel();
                resets.join().expect("no panic");
                stopped
            });
            cancelled += u64::from(stopped);
        }
        settle(&rt);
        assert_eq!(color.blocking_with(|n| *n) + cancelled, rounds);
        holds(conserved(&rt.metrics().events));
    });
}
