//! What can go wrong beside what the system says.

use std::{fmt, io};

/// Why something could not be waited for, or was not in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// It had to wait, and nobody runs an event of a color here who could be told later.
    OutsideColor,
    /// The runtime sets no more timers: it has been shut down, or has as many as
    /// [`timers_max`](mely::Builder::timers_max) allows.
    Refused,
    /// The time of a [`timeout`](crate::timeout) was over first.
    Elapsed,
    /// The runtime that was to tell has ended.
    Ended,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideColor => {
                "polled outside of any color: poll it in a future spawned with Colored::spawn"
            }
            Self::Refused => {
                "the timer was refused: the runtime has been shut down or has too many timers"
            }
            Self::Elapsed => "the time was over first",
            Self::Ended => "the runtime that was to tell has ended",
        })
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Elapsed => io::ErrorKind::TimedOut,
            Error::Ended | Error::OutsideColor | Error::Refused => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_late_is_told_apart() {
        let kind = |error: Error| io::Error::from(error).kind();
        assert_eq!(kind(Error::Elapsed), io::ErrorKind::TimedOut);
        assert_eq!(kind(Error::OutsideColor), io::ErrorKind::Other);
    }
}
