//! Why a server cannot start.

use super::Address;
use std::fmt;
use std::io;

/// Why a server cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The options name no address to listen on.
    NoAddress,
    /// An address that is none.
    BadAddress {
        /// What was given.
        given: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The system does not let it listen there.
    Listen {
        /// Where.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
    /// The reactor does not take the listener.
    Watch {
        /// The address of the listener.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str("no address to listen on was given"),
            Self::BadAddress { given, source } => write!(
                f,
                "'{given}' is no address to listen on: give HOST:PORT or unix:PATH ({source})"
            ),
            Self::Listen { address, source } => {
                write!(f, "cannot listen on {address}: {}", Advice(source))
            }
            Self::Watch { address, source } => write!(f, "cannot watch {address}: {source}"),
        }
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoAddress => None,
            Self::BadAddress { source, .. }
            | Self::Listen { source, .. }
            | Self::Watch { source, .. } => Some(source),
        }
    }
}

/// What the system said, with the way out.
struct Advice<'a>(&'a io::Error);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            io::ErrorKind::AddrInUse => f.write_str(
                "the address is in use; stop the server that has it, or choose another address",
            ),
            io::ErrorKind::AddrNotAvailable => f.write_str(
                "this machine does not have the address; 0.0.0.0 stands for all that it has",
            ),
            io::ErrorKind::PermissionDenied => write!(
                f,
                "no permission; ports below 1024 need a privilege, and so may the path ({})",
                self.0
            ),
            _ => write!(f, "{}", self.0),
        }
    }
}
