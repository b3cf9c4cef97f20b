//! What the command can fail with, and its exit code.

use mely_gnutella::node::NodeError;
use mely_http::SiteError;
use mely_http::server::ServerError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a job failed. What clap refuses never gets here, and exits with 2 as well.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line asks for something impossible.
    Usage(String),
    /// The directory cannot be served.
    Site {
        source: SiteError,
        /// Whether nobody named the directory.
        is_default: bool,
    },
    /// The server cannot listen.
    Server(ServerError),
    /// The node of the packet router cannot begin, or not end in order.
    Node(NodeError),
    /// The runtime cannot be built.
    Runtime(mely::BuildError),
    /// A trace cannot be read, or not to its end.
    Trace {
        path: PathBuf,
        source: mely_trace::Error,
    },
    /// A program cannot be watched.
    Top { source: String, what: String },
    /// A benchmark could not be run.
    Bench(mely_bench::Error),
    /// A job of the simulator failed.
    Sim(mely_sim::Error),
    /// Something that a job needs from the system.
    Io { what: String, source: io::Error },
}

impl CliError {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        let what = what.into();
        Self::Io { what, source }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Sim(error) if error.is_usage() => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => f.write_str(what),
            Self::Site { source, is_default } => {
                write!(f, "{source}")?;
                match is_default {
                    true => write!(f, " (the default); give the one to serve: mely web DIR"),
                    false => Ok(()),
                }
            }
            Self::Server(error) => write!(f, "{error}"),
            Self::Node(error) => write!(f, "{error}"),
            Self::Runtime(error) => write!(f, "{error}"),
            Self::Top { source, what } => write!(f, "{source}: {what}"),
            Self::Trace { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Sim(error) => write!(f, "{error}"),
            Self::Bench(error) => write!(f, "{error}"),
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

impl std::error::Error for CliError {}

impl From<mely_bench::Error> for CliError {
    fn from(error: mely_bench::Error) -> Self {
        Self::Bench(error)
    }
}

impl From<mely_sim::Error> for CliError {
    fn from(error: mely_sim::Error) -> Self {
        Self::Sim(error)
    }
}

impl From<NodeError> for CliError {
    fn from(error: NodeError) -> Self {
        Self::Node(error)
    }
}

impl From<ServerError> for CliError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::BadAddress { .. } | ServerError::NoAddress => {
                Self::Usage(error.to_string())
            }
            error => Self::Server(error),
        }
    }
}

impl From<mely::BuildError> for CliError {
    fn from(error: mely::BuildError) -> Self {
        match error {
            mely::BuildError::Io { .. } | mely::BuildError::Trace { .. } => Self::Runtime(error),
            error => Self::Usage(error.to_string()),
        }
    }
}
