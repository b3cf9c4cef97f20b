//! Listeners, TCP and Unix.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net as unix;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use mely::net::LISTEN_BACKLOG;
use rustix::io::Errno;
use rustix::net::SocketFlags;

use crate::ready::{Waiter, Way};
use crate::socket::Socket;
use crate::stream::{Stream, StreamSocket};
use crate::time::sleep;

/// How long an accept loop pauses once descriptors or memory have run out, at first. It
/// doubles up to [`STARVED_RETRY_MAX`]: the connections wait in the system's queue meanwhile.
const STARVED_RETRY: Duration = Duration::from_millis(5);
const STARVED_RETRY_MAX: Duration = Duration::from_millis(640);

/// A listener that futures accept from, under any color. Any number of them may wait at a
/// time; each connection goes to one.
///
/// [`serve`](Self::serve) gives each connection a color of its own.
pub struct Listener<L: ListenerSocket>(Socket<L>);

/// A TCP listener.
pub type TcpListener = Listener<net::TcpListener>;

/// A listener on a Unix socket.
pub type UnixListener = Listener<unix::UnixListener>;

/// The sockets of the standard library that a [`Listener`] can be of.
pub trait ListenerSocket:
    AsFd + fmt::Debug + Send + Sync + Sized + private::Sealed + 'static
{
    /// What is accepted.
    type Stream: StreamSocket;
    /// The address of a peer.
    type Address: fmt::Debug + Send + 'static;
    /// Accepts one, which does not block.
    #[doc(hidden)]
    fn accept_one(&self) -> io::Result<(Self::Stream, Self::Address)>;
    #[doc(hidden)]
    fn again(&self) -> io::Result<Self>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for std::net::TcpListener {}
    impl Sealed for std::os::unix::net::UnixListener {}
}

/// What a listener accepts: a stream, and the address of its peer.
pub type Accepted<L> = (
    Stream<<L as ListenerSocket>::Stream>,
    <L as ListenerSocket>::Address,
);

impl ListenerSocket for net::TcpListener {
    type Stream = net::TcpStream;
    type Address = SocketAddr;

    fn accept_one(&self) -> io::Result<(net::TcpStream, SocketAddr)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (fd, peer) = rustix::net::acceptfrom_with(self, flags)?;
        let stream = net::TcpStream::from(fd);
        let peer = peer.and_then(|any| SocketAddr::try_from(any).ok());
        let peer = peer.map_or_else(|| stream.peer_addr(), Ok)?;
        Ok((stream, peer))
    }

    fn again(&self) -> io::Result<Self> {
        self.try_clone()
    }
}

impl ListenerSocket for unix::UnixListener {
    type Stream = unix::UnixStream;
    type Address = unix::SocketAddr;

    fn accept_one(&self) -> io::Result<(unix::UnixStream, unix::SocketAddr)> {
        let (stream, peer) = self.accept()?;
        stream.set_nonblocking(true)?;
        Ok((stream, peer))
    }

    fn again(&self) -> io::Result<Self> {
        self.try_clone()
    }
}

impl<L: ListenerSocket> Listener<L> {
    /// Takes a listening socket over and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn from_std(socket: L) -> io::Result<Self> {
        Socket::new(socket).map(Self)
    }

    /// Gives the socket back, which does not block.
    ///
    /// # Errors
    ///
    /// As for [`Stream::into_std`].
    pub fn into_std(self) -> io::Result<L> {
        self.0.into_inner(L::again)
    }

    /// The socket, for options and addresses.
    pub fn get_ref(&self) -> &L {
        self.0.get_ref()
    }

    /// Accepts one connection, with the address of its peer.
    ///
    /// # Errors
    ///
    /// What the system says, also of connections that have ended already, and when
    /// descriptors run out: [`incoming`](Self::incoming) survives both.
    /// [`Error::OutsideColor`](crate::Error) inside.
    pub async fn accept(&self) -> io::Result<Accepted<L>> {
        self.0.io(Way::Read, L::accept_one).await.map(accepted)
    }

    /// Polls for what [`accept`](Self::accept) gives: the last waker counts.
    pub fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<Accepted<L>>> {
        let accept = |socket: &L, _| socket.accept_one();
        let polled = self.0.poll_io(Way::Read, Waiter::Poller, cx, accept);
        polled.map_ok(accepted)
    }

    /// The connections, one after the other, through all that passes.
    ///
    /// ```
    /// use mely_async::TcpListener;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let peer = rt.new_color().spawn(async move {
    ///     let (_stream, peer) = listener.incoming().next().await?;
    ///     Ok::<_, std::io::Error>(peer)
    /// });
    /// let client = std::net::TcpStream::connect(address)?;
    /// assert_eq!(peer.wait()??, client.local_addr()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_, L> {
        Incoming {
            listener: self,
            pause: STARVED_RETRY,
            failures: Arc::default(),
        }
    }
}

fn accepted<S: StreamSocket, A>((stream, peer): (S, A)) -> (Stream<S>, A) {
    (Stream(Socket::already(stream)), peer)
}

/// The connections of a listener ([`Listener::incoming`]).
#[derive(Debug)]
pub struct Incoming<'a, L: ListenerSocket> {
    listener: &'a Listener<L>,
    pause: Duration,
    failures: Arc<AtomicU64>,
}

impl<L: ListenerSocket> Incoming<'_, L> {
    /// Accepts the next connection.
    ///
    /// What ends one connection only is passed over. When descriptors or memory run out,
    /// connections wait in the system's queue, and after a pause it tries again.
    ///
    /// # Errors
    ///
    /// What ends the listener itself, and [`Error`](crate::Error) if it cannot wait.
    pub async fn next(&mut self) -> io::Result<Accepted<L>> {
        loop {
            let error = match self.listener.accept().await {
                Ok(accepted) => {
                    self.pause = STARVED_RETRY;
                    return Ok(accepted);
                }
                Err(error) => error,
            };
            let passes = Passes::of(&error);
            if passes == Passes::Never {
                return Err(error);
            }
            // Relaxed: a count.
            self.failures.fetch_add(1, Relaxed);
            if passes == Passes::Later {
                sleep(self.pause).await?;
                self.pause = STARVED_RETRY_MAX.min(self.pause * 2);
            }
        }
    }

    /// How many failures it has survived.
    pub fn failures(&self) -> u64 {
        // Relaxed: a count.
        self.failures.load(Relaxed)
    }

    /// Counts its failures there.
    pub(crate) fn count_failures_in(mut self, failures: &Arc<AtomicU64>) -> Self {
        self.failures = Arc::clone(failures);
        self
    }
}

/// What an accept loop does about an error.
#[derive(Debug, PartialEq, Eq)]
enum Passes {
    /// It was that of one connection.
    AtOnce,
    Later,
    Never,
}

impl Passes {
    fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Passes::Later,
            // Linux hands errors of the network over that belong to the new connection.
            Some(
                Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::INTR
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::NONET
                | Errno::NOPROTOOPT
                | Errno::OPNOTSUPP
                | Errno::PERM
                | Errno::PROTO
                | Errno::TIMEDOUT,
            ) => Passes::AtOnce,
            _ => Passes::Never,
        }
    }
}

impl TcpListener {
    /// Listens on an address; `SO_REUSEADDR` is set, port 0 takes a free port. A name is
    /// looked up, which blocks.
    ///
    /// # Errors
    ///
    /// What the system says: in use, not available, not permitted.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = net::TcpListener::bind(address)?;
        // The standard library asks for 128 only; a second call changes that.
        rustix::net::listen(&listener, LISTEN_BACKLOG)?;
        Self::from_std(listener)
    }

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }
}

impl UnixListener {
    /// Listens on a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let listener = unix::UnixListener::bind(path)?;
        rustix::net::listen(&listener, LISTEN_BACKLOG)?;
        Self::from_std(listener)
    }

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<unix::SocketAddr> {
        self.get_ref().local_addr()
    }
}

impl<L: ListenerSocket> AsFd for Listener<L> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<L: ListenerSocket> fmt::Debug for Listener<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_ends_a_listener() {
        let of = |errno: Errno| Passes::of(&errno.into());
        assert_eq!(of(Errno::MFILE), Passes::Later);
        assert_eq!(of(Errno::CONNABORTED), Passes::AtOnce);
        assert_eq!(of(Errno::BADF), Passes::Never);
        let outside = crate::Error::OutsideColor.into();
        assert_eq!(Passes::of(&outside), Passes::Never);
    }
}
