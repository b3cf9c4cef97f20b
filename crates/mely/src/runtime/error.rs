//! Why a runtime could not be built.

use core::fmt;
use std::io;
use std::path::PathBuf;

use mely_topology::CpuSet;

/// Why a runtime could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// Zero workers were asked for.
    NoWorkers,
    /// More workers were asked for than a runtime can have.
    TooManyWorkers {
        /// What was asked for.
        given: usize,
        /// What is possible.
        max: usize,
    },
    /// A core was asked for that the process may not use, or that does not exist.
    NoSuchCore {
        /// The core.
        core: usize,
        /// Those it may use.
        allowed: CpuSet,
    },
    /// An empty list of cores was given.
    NoCores,
    /// A batch threshold of zero would run nothing.
    ZeroBatch,
    /// A thread cannot have this name: it has a NUL in it.
    BadWorkerName(String),
    /// The file of the trace could not be made.
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A descriptor or thread could not be made.
    Io {
        /// What was being made.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoWorkers => f.write_str("a runtime needs at least one worker"),
            BuildError::TooManyWorkers { given, max } => {
                write!(
                    f,
                    "{given} workers are too many: a runtime has {max} at most"
                )
            }
            BuildError::NoSuchCore { core, allowed } => {
                write!(
                    f,
                    "core {core} is none that this process may use: it may use {allowed}"
                )
            }
            BuildError::NoCores => f.write_str("the list of cores to use is empty"),
            BuildError::ZeroBatch => {
                f.write_str("a batch threshold of 0 would never run an event: use 1 or more")
            }
            BuildError::BadWorkerName(name) => {
                write!(f, "no thread can be named {name:?}: it has a NUL in it")
            }
            BuildError::Trace { path, source } => {
                write!(f, "cannot record a trace to {}: {source}", path.display())
            }
            BuildError::Io { what, source } => write!(f, "cannot make {what}: {source}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Trace { source, .. } | BuildError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
