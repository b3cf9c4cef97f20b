//! Why a node cannot begin.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a node cannot begin.
///
/// ```
/// use mely_gnutella::{Limits, node::{NodeError, Share}};
/// let error = Share::open("/no/such/directory".as_ref(), &Limits::default(), |_| ()).unwrap_err();
/// assert!(matches!(error, NodeError::Share { .. }));
/// assert!(error.to_string().starts_with("cannot share /no/such/directory: "));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// It cannot listen.
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The directory cannot be read.
    Share {
        /// Which, or what in it.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file of hosts is there, and cannot be read; or it cannot be written.
    Hosts {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no bytes of chance.
    Chance(io::Error),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } => write!(f, "cannot listen on {address}: {source}"),
            Self::Share { path, source } => write!(f, "cannot share {}: {source}", path.display()),
            Self::Hosts { path, source } => {
                write!(f, "cannot use the hosts in {}: {source}", path.display())
            }
            Self::Chance(source) => write!(f, "the system gives no random bytes: {source}"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. }
            | Self::Share { source, .. }
            | Self::Hosts { source, .. }
            | Self::Chance(source) => Some(source),
        }
    }
}
