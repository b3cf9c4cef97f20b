//! Options that several benchmarks have, read.

use std::thread;

/// Reads a time that can be measured: from a millisecond to an hour.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds from 0.001 to 3600".to_owned()),
    }
}

/// What was asked for, or one for each core that the process may use.
pub(crate) fn workers(asked: Option<u16>) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, usize::from)
}
