//! Timers that come again: how they go on, and how they end.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Gate, LIMIT, OpenOnDrop, bounded, runtime, settle};

const SOON: Duration = Duration::from_micros(50);

/// A worker keeps the timer, and another one runs its events: it goes on, whichever of the
/// two is over first.
#[test]
fn it_goes_on_where_its_events_run_elsewhere() {
    bounded("elsewhere", || {
        let rounds = if cfg!(miri) { 1 } else { 3 };
        for _ in 0..rounds {
            let rt = runtime(2);
            let pinned = |worker| rt.color_options().pin_to(worker);
            let ticks = Gate::default();
            let color = pinned(1).colored(0_u64).expect("there are two workers");
            let maker = pinned(0).new_color().expect("there are two workers");
            let (ticked, ticking) = (ticks.clone(), color.clone());
            let made = maker.call(move |_, _| {
                ticking.post_every(SOON, move |n, _| {
                    *n += 1;
                    ticked.arrive();
                })
            });
            let timer = made.wait().expect("it was made");
            let often = if cfg!(miri) { 10 } else { 500 };
            assert!(ticks.wait_for(often, LIMIT), "{timer:?} goes on");
            assert!(timer.is_pending());
        }
    });
}

#[test]
fn who_cancels_it_too_late_is_told() {
    bounded("too late", || {
        let rt = runtime(2);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        let ran = Arc::new(AtomicU64::new(0));
        let (own, runs) = (Arc::new(Mutex::new(None::<mely::Timer>)), Arc::clone(&ran));
        let color = rt.colored(0);
        let timer = color.post_every(SOON, move |_, _| {
            runs.fetch_add(1, SeqCst);
            begin.arrive();
            wait.pass("it is cancelled");
        });
        begun.pass("it begins");
        assert!(!timer.cancel() && !timer.cancel(), "it has begun");
        assert!(!timer.is_pending() && !timer.reset_after(SOON));
        drop(release);
        settle(&rt);
        assert_eq!(
            (color.blocking_with(|n| *n), ran.load(SeqCst)),
            (0, 1),
            "the last"
        );
        // By itself it is in time.
        let (inside, told) = (Arc::clone(&own), Gate::default());
        let tell = told.clone();
        let timer = color.post_every(SOON, move |_, _| {
            let own = inside.lock().expect("no panic under it");
            if own
                .as_ref()
                .is_some_and(|own| own.cancel() && !own.cancel())
            {
                tell.arrive();
            }
        });
        *own.lock().expect("no panic under it") = Some(timer);
        told.pass("it cancels itself");
    });
}
