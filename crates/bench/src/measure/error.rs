//! Why there are no figures.

use std::path::PathBuf;
use std::{fmt, io};

use super::outcome::Failure;

/// Why a benchmark could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The run of an implementation failed.
    Run {
        /// What was run.
        workload: String,
        /// By whom.
        implementation: String,
        /// Why it failed.
        source: Failure,
    },
    /// The run of a paper's microbenchmark failed.
    Paper {
        /// What was run.
        workload: String,
        /// Under which policy.
        policy: mely::Policy,
        /// Why it failed.
        source: Failure,
    },
    /// A file of figures is none that a benchmark wrote, or is cut off.
    Figures {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A picture could not be drawn.
    Picture {
        /// The file that it is for.
        path: PathBuf,
        /// What the plotting library says.
        what: String,
    },
    /// A file could not be read or written.
    File {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A server, or the load for it, could not be started or read.
    Server {
        /// Which.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program that is measured or measures is not there.
    Missing {
        /// Which.
        program: String,
        /// How to have it.
        way_out: &'static str,
    },
    /// Standard output is closed or full.
    Output(io::Error),
    /// Work of a known length takes less time than any processor needs for it.
    ShortenedWork {
        /// Its cycles in a second.
        spin_rate: f64,
    },
    /// Other processes disturbed every run.
    AlwaysDisturbed,
    /// The chosen implementations are none that can be run here.
    NothingToRun,
}

impl Error {
    /// What a failed run is told as.
    pub(crate) fn run(
        workload: impl fmt::Display,
        implementation: impl fmt::Display,
    ) -> impl Fn(Failure) -> Self {
        move |source| Self::Run {
            workload: workload.to_string(),
            implementation: implementation.to_string(),
            source,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Run {
                workload,
                implementation,
                source,
            } => write!(f, "{workload} by {implementation} failed: {source}"),
            Error::Paper {
                workload,
                policy,
                source,
            } => write!(f, "{workload} under {policy} failed: {source}"),
            Error::Figures { path, what } => write!(
                f,
                "{}: {what}; give files that `mely bench ... --json FILE` wrote",
                path.display()
            ),
            Error::Picture { path, what } => {
                write!(f, "{} cannot be drawn: {what}", path.display())
            }
            Error::File { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Server { what, source } => write!(f, "cannot use {what}: {source}"),
            Error::Missing { program, way_out } => {
                write!(f, "there is no program {program}: {way_out}")
            }
            Error::Output(source) => write!(f, "standard output: {source}"),
            Error::ShortenedWork { spin_rate } => write!(
                f,
                "the compiler has shortened the measured work: {:.1} G cycles/s are none \
                 of a processor; build with another compiler or report it",
                spin_rate / 1e9
            ),
            Error::AlwaysDisturbed => f.write_str(
                "no figures: others disturbed every run; end other processes, or take a \
                 first look with --keep-disturbed",
            ),
            Error::NothingToRun => {
                f.write_str("nothing to run: all chosen implementations are missing here")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Run { source, .. } | Error::Paper { source, .. } => Some(&**source),
            Error::File { source, .. } | Error::Server { source, .. } | Error::Output(source) => {
                Some(source)
            }
            Error::Figures { .. }
            | Error::Picture { .. }
            | Error::Missing { .. }
            | Error::ShortenedWork { .. }
            | Error::AlwaysDisturbed
            | Error::NothingToRun => None,
        }
    }
}
