//! How programs begin and end.

use rustix::process::Signal;

use crate::support::{ALL, Program, command};

#[test]
fn without_an_address_or_with_a_bad_one_it_is_a_usage_error() {
    for (name, _) in ALL {
        for args in [&[][..], &["nowhere"]] {
            let output = command(name).args(args).output().expect("it is built");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{name} {args:?}: {error}");
            assert!(error.contains(args.first().unwrap_or(&"usage:")), "{error}");
            assert!(output.stdout.is_empty(), "{name} {args:?}");
        }
    }
}

#[test]
fn an_address_that_another_has_is_told() {
    let echo = Program::start("echo");
    for (name, _) in ALL {
        let output = command(name)
            .arg(&echo.address)
            .output()
            .expect("it is built");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.contains(&echo.address), "{name}: {error}");
    }
}

#[test]
fn signals_end_it_in_order_with_clients_that_stay() {
    for (name, _) in ALL {
        for signal in [Signal::TERM, Signal::INT] {
            let mut program = Program::start(name);
            let _clients: Vec<_> = (0..10).map(|_| program.connect()).collect();
            assert_eq!(program.end(signal).code(), Some(0), "{name} {signal:?}");
        }
    }
}
