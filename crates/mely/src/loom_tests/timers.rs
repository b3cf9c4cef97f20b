//! Models of timers: one of those who fire and cancel gets the event.

use super::*;
use crate::timers::{Delayed, Timer};

fn timer(shared: &Arc<Shared>, state: Counted) -> Timer {
    let color = colored(shared, 0, ());
    let event = color.new_event(move |(), _cx| drop(state));
    Timer::pending(shared, 0, color.color_ref().clone(), event)
}

/// A timer is fired beside two that cancel it: one of them has it, and its event goes
/// once.
#[test]
fn loom_a_timer_fires_or_is_cancelled() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let timer = timer(&shared, drops.counted());
        let delayed = Delayed::new(shared.clock.now(), timer.clone());
        let firing = thread::spawn(move || delayed.fire().is_some());
        let other = timer.clone();
        let cancelling = thread::spawn(move || other.cancel());
        let results = [
            timer.cancel(),
            cancelling.join().unwrap(),
            firing.join().unwrap(),
        ];
        let firsts = results.iter().filter(|&&first| first).count();
        assert_eq!((firsts, drops.count()), (1, 1), "{results:?}");
        assert!(!timer.is_pending());
        let cancelled = shared.outside.cancelled.get();
        assert_eq!(cancelled, u64::from(!results[2]));
    });
}

/// The worker fires while the program cancels and the runtime ends.
#[test]
fn loom_a_timer_ends_once_beside_the_end() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        shared.make_system_colors();
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
        let counts = &shared.outside;
        assert!(!cancelled || counts.cancelled.get() == 1);
        assert_eq!(drops.count(), 1);
    });
}

/// A drain cancels timers, whose captures post when they are dropped: that is run.
#[test]
fn loom_what_a_cancelled_timer_posts_is_run() {
    loom::model(|| {
        let shared = shared(1);
        shared.make_system_colors();
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
