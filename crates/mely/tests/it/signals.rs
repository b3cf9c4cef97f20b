//! Signals as events. Alone in a process: a signal reaches all of it.

use mely::Runtime;
use mely::signals::{SIGHUP, Signals};
use rustix::process::Signal;
use signal_hook::low_level::raise;

use crate::support::{alone, bounded, eventually};

#[test]
fn signals_are_events_of_their_color() {
    alone("signals::signals_are_events_of_their_color", || {
        bounded("signals", || {
            const USR1: i32 = Signal::USR1.as_raw();
            let rt = Runtime::builder().workers(2).build().expect("a runtime");
            let seen = rt.colored(Vec::new());
            let signals = Signals::watch(&[SIGHUP, USR1], &seen, |seen: &mut Vec<i32>, _, n| {
                seen.push(n);
            });
            let signals = signals.expect("both can be caught");
            let count =
                |n: i32| seen.blocking_with(move |seen| seen.iter().filter(|&&s| s == n).count());
            for round in 1..=20 {
                for number in [SIGHUP, USR1] {
                    // To this very thread, by the C library: the race detector holds
                    // signals back from threads that sleep in a bare system call.
                    raise(number).expect("a thread may signal itself");
                    eventually("the signal is told", || count(number) >= round);
                }
            }
            assert_eq!((count(SIGHUP), count(USR1)), (20, 20));
            drop(signals);
        });
    });
}

#[test]
fn a_signal_that_cannot_be_caught_is_refused() {
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    for signal in [Signal::KILL.as_raw(), -1, 0, 1_000] {
        let color = rt.new_color();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Signals::watch(&[signal], &color, |(), _, _| ()).is_err()
        }));
        assert_eq!(
            caught.ok(),
            Some(true),
            "signal {signal} is refused by an error value"
        );
    }
}
