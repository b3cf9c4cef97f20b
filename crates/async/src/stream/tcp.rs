//! What only TCP streams have.

use std::io;
use std::net::SocketAddr;

use super::TcpStream;

impl TcpStream {
    /// The address of this end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address of the peer.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.get_ref().nodelay()
    }

    /// Sends small writes at once, or gathers them.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.get_ref().set_nodelay(nodelay)
    }
}
