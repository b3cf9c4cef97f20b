//! Where a server listens: addresses as they are given, and their sockets.

use super::address::{Address, UNIX_PREFIX};
use super::error::ServerError;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Host names are looked up, which may take a while; the first address counts.
impl FromStr for Address {
    type Err = ServerError;

    fn from_str(given: &str) -> Result<Self, ServerError> {
        let bad = |source| ServerError::BadAddress {
            given: given.to_owned(),
            source,
        };
        if let Some(path) = given.strip_prefix(UNIX_PREFIX) {
            let empty = || {
                bad(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the path is empty",
                ))
            };
            return match path {
                "" => Err(empty()),
                path => Ok(Address::Unix(path.into())),
            };
        }
        let nowhere = || io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        let mut found = given.to_socket_addrs().map_err(bad)?;
        found.next().map(Address::Tcp).ok_or_else(|| bad(nowhere()))
    }
}

/// A listening socket. Dropping it removes the path of a Unix socket.
pub(super) struct Listener {
    fd: Arc<OwnedFd>,
    bound: Address,
    /// Device and inode of the path, to remove no other server's.
    made: Option<(u64, u64)>,
}

impl Listener {
    pub(super) fn bind(address: &Address) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Listen {
            address: address.clone(),
            source,
        };
        match address {
            Address::Tcp(tcp) => Self::bind_tcp(*tcp).map_err(failed),
            Address::Unix(path) => Self::bind_unix(path).map_err(failed),
        }
    }

    fn bind_tcp(address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        // Linux hands this down to the connections, which saves a call for each.
        rustix::net::sockopt::set_tcp_nodelay(&listener, true)?;
        let bound = Address::Tcp(listener.local_addr()?);
        Self::listening(listener.into(), bound)
    }

    fn bind_unix(path: &Path) -> io::Result<Self> {
        let listener = match std::os::unix::net::UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
                std::fs::remove_file(path)?;
                std::os::unix::net::UnixListener::bind(path)?
            }
            bound => bound?,
        };
        Self::listening(listener.into(), Address::Unix(path.to_owned()))
    }

    fn listening(fd: OwnedFd, bound: Address) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        // The standard library asks for a short queue; a second call changes that.
        rustix::net::listen(&fd, mely::net::LISTEN_BACKLOG)?;
        let made = match &bound {
            Address::Tcp(_) => None,
            Address::Unix(path) => identity(path),
        };
        let fd = Arc::new(fd);
        Ok(Self { fd, bound, made })
    }

    pub(super) fn shared_fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    /// The address with the port that was taken.
    pub(super) fn bound(&self) -> &Address {
        &self.bound
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.bound
            && self.made.is_some()
            && identity(path) == self.made
        {
            // Nobody is left to hear of a failure, and the next server takes the path over.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

/// Whether `path` is a socket that nobody listens on, as a server that was killed leaves it.
fn is_abandoned(path: &Path) -> bool {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    is_socket
        && std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
