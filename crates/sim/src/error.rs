//! What a command of the simulator can fail with.

use std::path::PathBuf;
use std::{fmt, io};

use crate::machine::MachineError;

/// Why a command of the simulator failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A machine is unknown, or its file is wrong.
    Machine(MachineError),
    /// A file could not be written.
    File {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output is closed or full.
    Output(io::Error),
    /// This machine could not be measured.
    Calibration(String),
    /// A random program broke an invariant of the scheduler.
    Broken {
        /// The seed of the program.
        seed: u64,
        /// What the invariant is called.
        invariant: &'static str,
    },
}

impl Error {
    /// Whether the command line asks for something impossible.
    ///
    /// ```
    /// use mely_sim::{Error, machine::Machine};
    ///
    /// let unknown = Error::from(Machine::find("abacus").unwrap_err());
    /// assert!(unknown.is_usage());
    /// ```
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Machine(MachineError::Unknown { .. } | MachineError::Cores { .. })
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Machine(error) => write!(f, "{error}"),
            Error::File { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Output(source) => write!(f, "standard output: {source}"),
            Error::Calibration(what) => write!(f, "this machine cannot be measured: {what}"),
            Error::Broken { seed, invariant } => {
                write!(
                    f,
                    "the program of seed {seed} breaks the invariant `{invariant}`"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Machine(error) => Some(error),
            Error::File { source, .. } | Error::Output(source) => Some(source),
            Error::Calibration(_) | Error::Broken { .. } => None,
        }
    }
}

impl From<MachineError> for Error {
    fn from(error: MachineError) -> Self {
        Error::Machine(error)
    }
}
