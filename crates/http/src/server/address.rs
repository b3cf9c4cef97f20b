//! Addresses to listen on.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An address to listen on: `HOST:PORT`, or `unix:PATH`.
///
/// ```
/// use mely_http::server::Address;
/// assert_eq!("127.0.0.1:8080".parse::<Address>()?.to_string(), "http://127.0.0.1:8080/");
/// assert_eq!("unix:/run/mely".parse::<Address>()?.to_string(), "unix:/run/mely");
/// assert!("8080".parse::<Address>().is_err());
/// # Ok::<(), mely_http::server::ServerError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP address; port 0 takes a free port.
    Tcp(SocketAddr),
    /// The path of a Unix socket, made when listening and removed afterwards.
    Unix(PathBuf),
}

/// What stands before the path of a Unix socket.
pub(super) const UNIX_PREFIX: &str = "unix:";

/// As a client names it: a URL, or `unix:PATH`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "http://{address}/"),
            Address::Unix(path) => write!(f, "{UNIX_PREFIX}{}", path.display()),
        }
    }
}
