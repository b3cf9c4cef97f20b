//! What can go wrong in a job.

use std::fmt;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) enum Error {
    /// The command line makes no sense.
    Usage(String),
    /// A program could not be started at all.
    Spawn {
        program: String,
        source: std::io::Error,
    },
    /// A program ran and failed.
    Failed { call: String, status: String },
    /// A test step ended well but no test ran in it.
    NothingRan { call: String },
    /// A file or folder could not be read or written.
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Rules of the repository are broken; they are printed already.
    Untidy { violations: usize },
    /// Packages are missing and cannot be installed here.
    Packages {
        missing: Vec<&'static str>,
        reason: String,
    },
    /// The nightly toolchain or a part of it is missing.
    Nightly { reason: String },
    /// The markers of a generated section are not in its file.
    Markers {
        path: PathBuf,
        begin: &'static str,
        end: &'static str,
    },
    /// The job has already printed what failed as its last words.
    Reported,
}

impl Error {
    pub(crate) fn usage(error: impl fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(crate) fn unknown_job(name: &str) -> Self {
        Self::Usage(format!("there is no job `{name}`"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => write!(f, "{what}; `cargo xtask --help` lists the jobs"),
            Self::Spawn { program, source } => write!(f, "cannot start `{program}`: {source}"),
            Self::Failed { call, status } => write!(f, "`{call}` ended with {status}"),
            Self::NothingRan { call } => {
                write!(f, "`{call}` ran no test: its filter or its tests went away")
            }
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Untidy { violations } => {
                write!(
                    f,
                    "{violations} broken rule(s) of the repository, listed above"
                )
            }
            Self::Packages { missing, reason } => write!(
                f,
                "the tests need the packages {}, and {reason}; install them by hand, \
                 or pass --no-install to go on without them",
                missing.join(", ")
            ),
            Self::Nightly { reason } => write!(
                f,
                "{reason}; `rustup toolchain install nightly --component miri,rust-src` sets it up"
            ),
            Self::Markers { path, begin, end } => write!(
                f,
                "{}: the lines `{begin}` and `{end}` must both be there, in this order",
                path.display()
            ),
            Self::Reported => write!(f, "failed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spawn { source, .. } | Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
