//! What a command of the simulator can fail with.

use std::path::PathBuf;
use std::{fmt, io};

use crate::engine::SimulationError;
use crate::machine::MachineError;
use crate::mely::NoSuchWorker;

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
    /// A benchmark could not be run.
    Bench(mely_bench::Error),
    /// A machine is compared that is not here.
    NotHere {
        /// Its name.
        machine: String,
        /// Its cores.
        cores: usize,
        /// The cores that are here.
        here: usize,
    },
    /// A simulation could not be begun, or could not go on.
    Simulation(SimulationError),
    /// A workload needs more cores than the machine has.
    TooFewCores(NoSuchWorker),
    /// A trace is none, or cannot be read to its end.
    Trace {
        /// Where it is.
        path: PathBuf,
        /// What is wrong, and where.
        source: mely_trace::Error,
    },
    /// A trace has nothing to replay.
    Empty {
        /// Where it is.
        path: PathBuf,
    },
    /// A picture could not be drawn.
    Picture {
        /// Where it would be.
        path: PathBuf,
        /// What the plotting library said.
        what: String,
    },
    /// A replay did not come to its end.
    Replay(String),
    /// Interrupts cannot be caught.
    Interrupts(io::Error),
    /// A search was interrupted.
    Interrupted {
        /// What goes on with it.
        again: String,
    },
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
                | Error::TooFewCores(_)
                | Error::NotHere { .. }
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
            Error::Bench(error) => write!(f, "{error}"),
            Error::NotHere {
                machine,
                cores,
                here,
            } => write!(
                f,
                "{machine} has {cores} cores, and {here} are here: give the file that `mely sim \
                 calibrate` writes on this machine, or no --machine"
            ),
            Error::Simulation(error) => write!(f, "the simulation: {error}"),
            Error::TooFewCores(error) => {
                write!(f, "this workload needs a machine with more cores: {error}")
            }
            Error::Trace { path, source } => {
                write!(f, "{}: {source}", path.display())?;
                match source.is_truncation() {
                    true => f.write_str("; --whole-blocks takes what is whole"),
                    false => Ok(()),
                }
            }
            Error::Empty { path } => write!(
                f,
                "{}: no event ran while the trace was recorded; record a program at work",
                path.display()
            ),
            Error::Picture { path, what } => write!(f, "{}: {what}", path.display()),
            Error::Replay(what) => write!(f, "the replay came to a halt: {what}"),
            Error::Interrupts(source) => write!(f, "Ctrl-C cannot be caught: {source}"),
            Error::Interrupted { again } => {
                write!(f, "interrupted: `{again}` goes on with it")
            }
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
            Error::File { source, .. } | Error::Output(source) | Error::Interrupts(source) => {
                Some(source)
            }
            Error::Simulation(error) => Some(error),
            Error::Bench(error) => Some(error),
            Error::TooFewCores(error) => Some(error),
            Error::Trace { source, .. } => Some(source),
            Error::Calibration(_)
            | Error::NotHere { .. }
            | Error::Broken { .. }
            | Error::Interrupted { .. }
            | Error::Empty { .. }
            | Error::Picture { .. }
            | Error::Replay(_) => None,
        }
    }
}

impl From<MachineError> for Error {
    fn from(error: MachineError) -> Self {
        Error::Machine(error)
    }
}

impl From<SimulationError> for Error {
    fn from(error: SimulationError) -> Self {
        Error::Simulation(error)
    }
}

impl From<NoSuchWorker> for Error {
    fn from(error: NoSuchWorker) -> Self {
        Error::TooFewCores(error)
    }
}
