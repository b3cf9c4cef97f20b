//! Events that are noted are to the color what the others are: control, timers, a restart.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use mely::{Handler, Policy, PostError, Runtime};

use crate::support::{bounded, settle, silent_panic};

/// Noted or not, an event of control takes of the room for control, and gives it back.
#[test]
fn a_noted_event_of_control_gives_its_room_back() {
    static CONTROL: Handler = Handler::new("noted::Control");
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        bounded("control", move || {
            let rt = Runtime::builder().workers(1).policy(policy).build();
            let rt = rt.expect("a runtime");
            let options = rt.color_options().capacity(0).control_capacity(1);
            let line = options.new_color().expect("a worker");
            for round in 0..500 {
                let posted = line.with_handler(&CONTROL).post_control(|_, _| ());
                assert!(posted.is_ok(), "{policy}: no room in round {round}");
                settle(&rt);
                assert!(matches!(line.post(|_, _| ()), Err(PostError::Full(_))));
            }
            let metrics = rt.metrics();
            let control = metrics.handler("noted::Control").expect("it has run");
            assert_eq!(control.events, 500);
            assert!(control.run.samples() > 0 && control.wait.samples() > 0);
        });
    }
}

/// Timers that are put off and brought forward, and repeating ones, wait from when they fire.
#[test]
fn events_of_timers_are_noted_when_they_fire() {
    static ONCE: Handler = Handler::new("noted::Once");
    static EVERY: Handler = Handler::new("noted::Every");
    static FIRED: AtomicU32 = AtomicU32::new(0);
    bounded("timers", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let color = rt.new_color();
        let timer = color
            .with_handler(&ONCE)
            .post_after(Duration::from_secs(3_600), |_, _| ());
        assert!(timer.reset_after(Duration::from_secs(7_200)));
        assert_eq!(rt.metrics().waiting, [], "it is not posted yet");
        assert!(timer.reset_after(Duration::ZERO));
        let (told, tells) = std::sync::mpsc::channel();
        let every =
            color
                .with_handler(&EVERY)
                .post_every(Duration::from_micros(100), move |_, _| {
                    FIRED.fetch_add(1, Relaxed);
                    told.send(()).ok();
                });
        (0..20).for_each(|_| tells.recv().expect("it comes again"));
        every.cancel();
        settle(&rt);
        let metrics = rt.metrics();
        let once = metrics.handler("noted::Once").expect("it has fired");
        assert_eq!((once.wait.samples(), once.run.samples()), (1, 1));
        let every = metrics.handler("noted::Every").expect("it has fired");
        assert_eq!(every.events, u64::from(FIRED.load(Relaxed)));
        assert!(every.wait.samples() > 0 && every.run.samples() > 0);
    });
}

/// A noted event that panics restarts its color, as any other, and is in the histogram.
#[test]
fn a_noted_panic_restarts_its_color() {
    static FAILS: Handler = Handler::new("noted::Fails");
    bounded("restart", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let options = rt.color_options();
        let list = options.restarting(|| vec![1]).expect("a worker");
        for round in 0..20 {
            list.with_handler(&FAILS).post_or_shed(|list, _| {
                list.push(2);
                silent_panic();
            });
            settle(&rt);
            assert_eq!(list.blocking_with(|list| list.clone()), [1], "{round}");
        }
        let metrics = rt.metrics();
        let fails = metrics.handler("noted::Fails").expect("it has run");
        assert_eq!((fails.events, fails.panics), (20, 20));
        assert!(fails.run.samples() > 0);
        assert_eq!(fails.run.samples(), fails.wait.samples());
    });
}
