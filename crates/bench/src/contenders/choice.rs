//! Which implementations are run: what was asked for, without what cannot be run here.

use std::io::{self, Write as _};

use super::elsewhere;
use super::implementation::Implementation;
use crate::measure::Error;

/// What was asked for, or else the default.
pub(crate) fn chosen<T: Copy>(asked: &[T], default: &[T]) -> Vec<T> {
    match asked {
        [] => default.to_vec(),
        asked => asked.to_vec(),
    }
}

/// What was chosen and can be run here; names what cannot.
pub(crate) fn runnable(
    asked: &[Implementation],
    default: &[Implementation],
) -> Result<Vec<Implementation>, Error> {
    let mut runnable = Vec::new();
    for implementation in chosen(asked, default) {
        match elsewhere::missing(implementation) {
            Some(reason) => skip(implementation, &reason)?,
            None => runnable.push(implementation),
        }
    }
    match runnable.is_empty() {
        true => Err(Error::NothingToRun),
        false => Ok(runnable),
    }
}

/// Says that an implementation is left out, and why.
pub(crate) fn skip(implementation: Implementation, reason: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "skipped {implementation}: {reason}").map_err(Error::Output)
}
