//! What asks a job that serves to end.

use crate::error::CliError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Waits for SIGINT or SIGTERM, the second of which ends the process at once.
pub(crate) struct Asked(Signals);

impl Asked {
    /// Catches them from now on.
    pub(crate) fn watch() -> Result<Self, CliError> {
        let signals = Signals::new([SIGINT, SIGTERM]);
        let signals = signals.map_err(|error| CliError::io("watch for signals", error))?;
        Ok(Self(signals))
    }

    /// Waits for the first: its name.
    pub(crate) fn wait(mut self) -> Result<&'static str, CliError> {
        let signal = self.0.forever().next().unwrap_or(SIGTERM);
        exit_on_next(self.0)?;
        Ok(match signal {
            SIGINT => "SIGINT",
            _ => "SIGTERM",
        })
    }
}

/// Ends the process at the next signal: on a thread of its own, so that it works when every worker
/// is held.
fn exit_on_next(mut signals: Signals) -> Result<(), CliError> {
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            // As a shell reports it.
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("mely-signals".to_owned())
        .spawn(wait)
        .map(drop)
        .map_err(|error| CliError::io("start a thread", error))
}
