//! Making connections.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::SocketAddr as UnixAddr;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{Stream, TcpStream, UnixStream};
use crate::lookup::lookup_host;
use crate::ready::{Waiter, Way};
use crate::socket::Socket;
use crate::time::sleep;

/// How long to wait before a listener on a Unix socket that has no room is asked again, at
/// first and at the most: the system tells nobody when there is room.
const FULL_RETRY: Duration = Duration::from_millis(1);
const FULL_RETRY_MAX: Duration = Duration::from_millis(100);

fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    Ok(socket)
}

impl TcpStream {
    /// Connects to an address.
    ///
    /// Where the future is dropped, so is the attempt. Names are looked up by
    /// [`connect_host`](Self::connect_host).
    ///
    /// # Errors
    ///
    /// What the system says; [`Error::OutsideColor`](crate::Error) inside.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let socket = new_socket(family)?;
        match rustix::net::connect(&socket, &address) {
            // Where it was interrupted it goes on, as one that is in progress does.
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let stream = Stream(Socket::already(std::net::TcpStream::from(socket)));
        let connected = |socket: &std::net::TcpStream, _| match socket.take_error()? {
            Some(error) => Err(error),
            None => match socket.peer_addr() {
                Ok(_) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                Err(error) => Err(error),
            },
        };
        poll_fn(|cx| stream.0.poll_io(Way::Write, Waiter::Poller, cx, connected)).await?;
        Ok(stream)
    }

    /// Connects to a name and port, as in `localhost:80`: the first of its addresses that
    /// answers.
    ///
    /// # Errors
    ///
    /// As for [`lookup_host`], and that of the last address.
    pub async fn connect_host(host: impl Into<String>) -> io::Result<Self> {
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in lookup_host(host.into()).await? {
            match Self::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl UnixStream {
    /// Connects to a path. While the listener has no room it is asked again.
    ///
    /// # Errors
    ///
    /// What the system says; [`Error`](crate::Error) inside.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path.as_ref())?;
        let mut pause = FULL_RETRY;
        loop {
            let socket = new_socket(AddressFamily::UNIX)?;
            match rustix::net::connect(&socket, &address) {
                Ok(()) => return Ok(Stream(Socket::already(socket.into()))),
                Err(Errno::AGAIN) => sleep(pause).await?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            pause = FULL_RETRY_MAX.min(pause * 2);
        }
    }

    /// Two connected streams.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = std::os::unix::net::UnixStream::pair()?;
        Ok((Self::from_std(a)?, Self::from_std(b)?))
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<UnixAddr> {
        self.get_ref().local_addr()
    }

    /// The address of the peer.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<UnixAddr> {
        self.get_ref().peer_addr()
    }
}
