//! Datagrams.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};

use crate::ready::{Waiter, Way};
use crate::socket::Socket;

/// A UDP socket. Any number of futures may wait for it at a time; each datagram goes to one.
///
/// Waiting is as for a [`Stream`](crate::Stream): the system call first, and a watch with
/// the color that polls once that would block.
///
/// ```
/// use mely_async::UdpSocket;
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let echo = UdpSocket::bind("127.0.0.1:0")?;
/// let address = echo.local_addr()?;
/// let echoed = rt.new_color().spawn(async move {
///     let mut bytes = [0; 64];
///     let (count, peer) = echo.recv_from(&mut bytes).await?;
///     echo.send_to(&bytes[..count], peer).await
/// });
/// let asked = rt.new_color().spawn(async move {
///     let socket = UdpSocket::bind("127.0.0.1:0")?;
///     socket.connect(address)?;
///     socket.send(b"hello").await?;
///     let mut bytes = [0; 64];
///     socket.recv(&mut bytes).await
/// });
/// assert_eq!((asked.wait()??, echoed.wait()??), (5, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UdpSocket(Socket<net::UdpSocket>);

impl UdpSocket {
    /// Binds to an address; port 0 takes a free port. A name is looked up, which blocks.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        Self::from_std(net::UdpSocket::bind(address)?)
    }

    /// Takes a socket over and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        Socket::new(socket).map(Self)
    }

    /// Gives the socket back, which does not block.
    ///
    /// # Errors
    ///
    /// As for [`Stream::into_std`](crate::Stream::into_std).
    pub fn into_std(self) -> io::Result<net::UdpSocket> {
        self.0.into_inner(net::UdpSocket::try_clone)
    }

    /// The socket, for options and addresses.
    pub fn get_ref(&self) -> &net::UdpSocket {
        self.0.get_ref()
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// Sends to, and receives from, this address only. That needs no waiting.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn connect(&self, address: SocketAddr) -> io::Result<()> {
        self.get_ref().connect(address)
    }

    /// Sends a datagram to the address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// What the system says, also of earlier datagrams that nobody wanted;
    /// [`Error::OutsideColor`](crate::Error) inside.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.io(Way::Write, |socket| socket.send(bytes)).await
    }

    /// Sends a datagram.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn send_to(&self, bytes: &[u8], peer: SocketAddr) -> io::Result<usize> {
        self.0
            .io(Way::Write, |socket| socket.send_to(bytes, peer))
            .await
    }

    /// Receives a datagram from the address that the socket is connected to; what there is no
    /// room for is lost.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn recv(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.io(Way::Read, |socket| socket.recv(bytes)).await
    }

    /// Receives a datagram, with the address of its sender.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn recv_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.io(Way::Read, |socket| socket.recv_from(bytes)).await
    }

    /// Receives a datagram, and leaves it there.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn peek_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.io(Way::Read, |socket| socket.peek_from(bytes)).await
    }

    /// Waits until there may be a datagram.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn readable(&self) -> io::Result<()> {
        self.0.until_ready(Way::Read).await
    }

    /// Waits until there may be room for one.
    ///
    /// # Errors
    ///
    /// As for [`send`](Self::send).
    pub async fn writable(&self) -> io::Result<()> {
        self.0.until_ready(Way::Write).await
    }

    /// Receives a datagram, without waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or what the system says.
    pub fn try_recv_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0
            .try_io(Way::Read, |socket, _| socket.recv_from(bytes))
    }

    /// Sends a datagram, without waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or what the system says.
    pub fn try_send_to(&self, bytes: &[u8], peer: SocketAddr) -> io::Result<usize> {
        self.0
            .try_io(Way::Write, |socket, _| socket.send_to(bytes, peer))
    }

    /// Polls for what [`recv_from`](Self::recv_from) gives: the last waker counts.
    pub fn poll_recv_from(
        &self,
        cx: &Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let receive = |socket: &net::UdpSocket, _| socket.recv_from(bytes);
        self.0.poll_io(Way::Read, Waiter::Poller, cx, receive)
    }

    /// Polls for what [`send_to`](Self::send_to) gives: the last waker counts.
    pub fn poll_send_to(
        &self,
        cx: &Context<'_>,
        bytes: &[u8],
        peer: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let send = |socket: &net::UdpSocket, _| socket.send_to(bytes, peer);
        self.0.poll_io(Way::Write, Waiter::Poller, cx, send)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UdpSocket").field(&self.0).finish()
    }
}
