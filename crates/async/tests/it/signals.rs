//! Signals, awaited.

use std::time::Duration;

use futures::FutureExt as _;
use futures::executor::block_on;
use mely::Handle;
use mely_async::Error;
use mely_async::signal::{self, SIGHUP, SIGINT, SIGTERM};
use rustix::process::{Signal, getpid, kill_process};

use crate::support::{alone, runtime};

fn send(signal: Signal) {
    kill_process(getpid(), signal).expect("this process");
}

fn is_ended(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    inner == Some(&Error::Ended)
}

#[test]
fn a_signal_that_nobody_waits_for_yet_is_not_lost() {
    alone(
        "signals::a_signal_that_nobody_waits_for_yet_is_not_lost",
        || {
            let rt = runtime(2);
            for (signal, number) in [(Signal::TERM, SIGTERM), (Signal::INT, SIGINT)] {
                let asked = signal::terminated(&rt).expect("it can be caught");
                send(signal);
                assert_eq!(asked.wait().expect("it goes on"), number);
                let asked = signal::terminated(&rt).expect("it can be caught");
                send(signal);
                // Anywhere.
                assert_eq!(block_on(asked).expect("it goes on"), number);
            }
        },
    );
}

#[test]
fn each_number_is_told() {
    alone("signals::each_number_is_told", || {
        let rt = runtime(2);
        let mut signals = signal::signals(&rt, &[SIGHUP, SIGTERM]).expect("they can be caught");
        assert_eq!(signals.next().now_or_never(), None);
        for _ in 0..3 {
            send(Signal::TERM);
            send(Signal::HUP);
            let mut both = [(); 2].map(|()| block_on(signals.next()));
            both.sort();
            assert_eq!(both, [Some(SIGHUP), Some(SIGTERM)]);
        }
        drop(signals);
        // It is ignored from now on.
        send(Signal::HUP);
    });
}

#[test]
fn who_waits_is_told_of_the_end_of_the_runtime() {
    alone(
        "signals::who_waits_is_told_of_the_end_of_the_runtime",
        || {
            let rt = runtime(2);
            let handle = Handle::clone(&rt);
            let [one, other] = [(); 2].map(|()| signal::terminated(&rt).expect("it can be caught"));
            let anywhere = std::thread::spawn(|| block_on(one));
            let blocked = std::thread::spawn(|| other.wait());
            let [late, later] =
                [(); 2].map(|()| signal::terminated(&rt).expect("it can be caught"));
            rt.shutdown(Duration::from_secs(10)).expect("it ends");
            let ended = anywhere.join().expect("no panic");
            assert!(is_ended(&ended.expect_err("nobody has sent one")));
            let ended = blocked.join().expect("no panic");
            assert!(is_ended(&ended.expect_err("nobody has sent one")));
            assert!(is_ended(&block_on(late).expect_err("nobody has sent one")));
            assert!(is_ended(&later.wait().expect_err("nobody has sent one")));
            assert!(signal::terminated(&handle).is_err());
        },
    );
}

#[test]
fn to_block_inside_of_an_event_is_an_error() {
    alone("signals::to_block_inside_of_an_event_is_an_error", || {
        let rt = runtime(1);
        let asked = signal::terminated(&rt).expect("it can be caught");
        let waited = rt.new_color().call(|(), _| asked.wait());
        assert!(waited.wait().expect("no panic").is_err());
        assert!(signal::signals(&rt, &[9]).is_err(), "it cannot be caught");
    });
}
