//! What these programs begin and end with: a listener on the address that they are
//! called with, a runtime, and an end in order.
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use mely::Runtime;
use mely_async::{Serving, TcpListener, signal};

/// How long events that are pending in the end may take.
const DEADLINE: Duration = Duration::from_millis(500);

/// Runs what `serve` starts on the address that the program is called with, until SIGINT or
/// SIGTERM ends it in order, with exit code 0: it accepts no more, and closes connections that
/// have not ended within `grace`.
///
/// An address that is missing or not to be had is a usage error: exit code 2.
pub fn run(grace: Duration, serve: impl FnOnce(&Runtime, TcpListener) -> Serving) -> ExitCode {
    let listener = match listen() {
        Ok(listener) => listener,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    match run_until_asked(listener, grace, serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn listen() -> Result<TcpListener, String> {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let (Some(address), None) = (words.next(), words.next()) else {
        return Err(format!("usage: {program} ADDR, such as 127.0.0.1:7000"));
    };
    TcpListener::bind(&address).map_err(|error| format!("{program}: {address}: {error}"))
}

fn run_until_asked(
    listener: TcpListener,
    grace: Duration,
    serve: impl FnOnce(&Runtime, TcpListener) -> Serving,
) -> Result<(), Box<dyn Error>> {
    let rt = Runtime::new()?;
    let asked_to_end = signal::terminated(&rt)?;
    println!("listening on {}", listener.local_addr()?);
    let serving = serve(&rt, listener);
    asked_to_end.wait()?;
    serving.stop();
    // Whoever is late is cut off.
    let _late = serving.wait_timeout(grace);
    rt.shutdown(DEADLINE)?;
    Ok(())
}
