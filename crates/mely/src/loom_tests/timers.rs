//! Models of timers: one of those who fire and cancel gets the event.

use super::*;
use crate::shared::timers::{Delayed, Timer};

fn timer(shared: &Arc<Shared>, state: Counted) -> Timer {
    let traits = shared.default_traits(0);
    let id = shared.color_id();
    let color = Colored::new(ColorRef::new(None, shared, id, traits), ());
    let event = color.new_event(move |(), _cx| drop(state));
    let now = shared.clock.now();
    Timer::pending(0, now, color.color_ref().clone(), event)
}

/// A worker fires its timers while another one does it for it, and the program cancels one
/// of the two timers: each goes once, and what is posted is in order.
#[test]
fn loom_a_timer_fires_or_is_cancelled() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let set = [(); 2].map(|()| timer(&shared, drops.counted()));
        let now = shared.clock.now();
        let timers = &shared.remotes[0].timers;
        for timer in &set {
            timers.keep(Delayed::new(now, timer.clone()), 2);
        }
        let posted = Arc::new(Mutex::new(Vec::new()));
        let fire = |shared: &Arc<Shared>, posted: &Mutex<Vec<u64>>| {
            let post = |color: &ColorRef, event| {
                drop(event);
                lock(posted).push(color.id());
                Ok(())
            };
            let now = shared.clock.now();
            while shared.remotes[0].timers.fire(now, post).is_some() {}
        };
        let firing = {
            let (shared, posted) = (Arc::clone(&shared), Arc::clone(&posted));
            thread::spawn(move || fire(&shared, &posted))
        };
        let second = set[1].clone();
        let cancelling = thread::spawn(move || second.cancel());
        fire(&shared, &posted);
        let cancelled = [false, cancelling.join().unwrap()];
        firing.join().unwrap();
        let fired = lock(&posted).len();
        let count = shared.outside_counts.cancelled.get();
        assert_eq!((drops.count(), fired as u64 + count), (2, 2));
        assert_eq!(count, u64::from(cancelled[1]), "{cancelled:?}");
        assert!(lock(&posted).is_sorted());
        assert!(set.iter().all(|timer| !timer.is_pending()));
    });
}

/// The worker fires while the program cancels and the runtime ends.
#[test]
fn loom_a_timer_ends_once_beside_the_end() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let state = drops.counted();
        let timer = color.post_after(Duration::ZERO, move |list, _cx| {
            list.add(1);
            drop(state);
        });
        drop(color);
        let stopping = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.enter(Phase::Stopped);
            })
        };
        let cancelled = timer.cancel();
        stopping.join().unwrap();
        stop(&shared, vec![worker]);
        assert!(!timer.is_pending() && !timer.cancel());
        let counts = &shared.outside_counts;
        assert!(!cancelled || counts.cancelled.get() == 1);
        assert_eq!(drops.count(), 1);
    });
}

/// A drain cancels timers, whose captures post when they are dropped: that is run.
#[test]
fn loom_what_a_cancelled_timer_posts_is_run() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let (color, gate) = (colored(&shared, 0, Watched::new()), Gate::new());
        let posts = colors::PostsWhenDropped::new(&color, &gate);
        let late = Duration::from_secs(3_600);
        drop(color.post_after(late, move |_, _cx| drop(posts)));
        drop(color);
        shared.enter(Phase::Draining);
        gate.wait_for(2);
        stop(&shared, vec![worker]);
    });
}

/// A handler sets a timer that is due at once, and its worker falls asleep: what the timer
/// posts is run.
#[test]
fn loom_what_a_timer_posts_is_run() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let (color, gate) = (colored(&shared, 0, ()), Gate::new());
        let passing = Arc::clone(&gate);
        color.post_or_shed(move |(), cx| {
            cx.colored()
                .post_after(Duration::ZERO, move |(), _cx| passing.pass());
        });
        gate.wait_for(1);
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// A timer is put off, brought forward and cancelled while two fire it: its event goes once.
#[test]
fn loom_a_timer_that_is_reset_goes_once() {
    for cancels in [false, true] {
        loom::model(move || {
            let (shared, drops) = (shared(1), Drops::new());
            let timer = timer(&shared, drops.counted());
            let now = shared.clock.now();
            let timers = &shared.remotes[0].timers;
            timers.keep(Delayed::new(now, timer.clone()), 2);
            let resetting = {
                let timer = timer.clone();
                thread::spawn(move || {
                    timer.reset_at(now + Duration::from_secs(9));
                    timer.reset_at(now);
                    cancels && timer.cancel()
                })
            };
            let fire = |shared: &Arc<Shared>| {
                let mut fired = 0;
                let post = |_: &ColorRef, event: crate::event::Event| {
                    drop(event);
                    Ok(())
                };
                while let Some(due) = shared.remotes[0].timers.fire(now, post) {
                    fired += u64::from(matches!(due, crate::shared::timers::Due::Posted(_)));
                }
                fired
            };
            let before = fire(&shared);
            let cancelled = u64::from(resetting.join().unwrap());
            let fired = before + fire(&shared);
            assert_eq!((fired + cancelled, drops.count()), (1, 1));
            assert!(!timer.is_pending() && !timer.reset_at(now));
        });
    }
}

/// A repeating timer of a color that nobody else knows ends beside its event and the end.
#[test]
fn loom_a_repeating_timer_ends() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let (mut captured, gate) = (drops.counted(), Gate::new());
        let passing = Arc::clone(&gate);
        let timer = color.post_every(Duration::from_secs(3_600), move |list, _cx| {
            list.add(1);
            captured.touched.add(1);
            passing.pass();
        });
        // The clock stands still, so it comes once.
        assert!(timer.reset_at(shared.clock.now()));
        gate.wait_for(1);
        drop(color);
        timer.cancel();
        stop(&shared, vec![worker]);
        assert_eq!(drops.count(), 1);
    });
}

/// The event of a repeating timer is over before who fired it comes back.
#[test]
fn loom_a_repeating_timer_goes_on_whoever_runs_its_event() {
    loom::model(|| {
        let shared = shared(1);
        let worker = lone_worker(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let timer = color.post_every(Duration::from_secs(3_600), |list, _cx| {
            list.add(1);
        });
        let now = shared.clock.now();
        for _ in 0..3 {
            assert!(timer.reset_at(now));
            let run = |color: &ColorRef, event| {
                let owner = color.deliver(event).ok().flatten();
                run_to_the_end(&worker, owner.expect("the color is idle"));
                Ok(())
            };
            assert!(shared.remotes[0].timers.fire(now, run).is_some());
            assert!(timer.is_pending(), "nobody has cancelled it");
        }
        assert!(timer.cancel());
    });
}

/// Somebody cancels a repeating timer whose event is posted: told that he was in time, he sees
/// none begin.
#[test]
fn loom_a_repeating_timer_that_is_cancelled_in_time_does_not_begin() {
    loom::model(|| {
        let shared = shared(1);
        let worker = lone_worker(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let cancelled = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let seen = Arc::clone(&cancelled);
        let timer = color.post_every(Duration::from_secs(3_600), move |list, _cx| {
            list.add(1);
            assert!(!seen.load(SeqCst), "it begins after it was cancelled");
        });
        let now = shared.clock.now();
        assert!(timer.reset_at(now));
        let cancelling = {
            let timer = timer.clone();
            thread::spawn(move || {
                if timer.cancel() {
                    cancelled.store(true, SeqCst);
                }
            })
        };
        let run = |color: &ColorRef, event| {
            let owner = color.deliver(event).ok().flatten();
            run_to_the_end(&worker, owner.expect("the color is idle"));
            Ok(())
        };
        shared.remotes[0].timers.fire(now, run);
        cancelling.join().unwrap();
        assert!(!timer.is_pending());
    });
}
