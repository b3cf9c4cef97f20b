//! Listeners and streams, TCP and Unix, for colored handlers: never blocking, and
//! watched by the reactor.

use core::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::net::SocketFlags;

use crate::color::Colored;
use crate::color::context::Context;
use crate::event::handler::Handler;
pub use crate::outside::reactor::{Readiness, Watch};

/// A non-blocking descriptor that can be watched.
///
/// Reading and writing never block: they fail with
/// [`WouldBlock`](io::ErrorKind::WouldBlock), and readiness comes as an event of
/// the color that watches.
///
/// ```
/// use mely::{Handler, net::{TcpListener, TcpStream}};
/// use std::io::{Read, Write};
/// static ACCEPT: Handler = Handler::new("Accept");
/// static ECHO: Handler = Handler::new("Echo");
///
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let mut listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.get_ref().local_addr()?;
/// let listening = rt.colored(None::<TcpListener>);
/// listener.watch(&listening, &ACCEPT, |listener, cx, _ready| {
///     let Some(listener) = listener else { return };
///     while let Ok((stream, _peer)) = listener.accept() {
///         let connection = cx.handle().colored(None::<TcpStream>);
///         connection.post_or_shed(move |slot, cx| {
///             let mut stream = stream;
///             let watched = stream.watch(&cx.colored(), &ECHO, |slot, _cx, _ready| {
///                 let mut bytes = [0; 512];
///                 while let Some(stream) = slot {
///                     match stream.read(&mut bytes) {
///                         Ok(count) if count > 0 => drop(stream.write(&bytes[..count])),
///                         Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
///                         _ => *slot = None, // ends the watch, closes the stream
///                     }
///                 }
///             });
///             *slot = watched.ok().map(|()| stream);
///         });
///     }
/// })?;
/// listening.with(move |slot| *slot = Some(listener));
///
/// let mut client = std::net::TcpStream::connect(address)?;
/// client.write_all(b"hello")?;
/// let mut answer = [0; 5];
/// client.read_exact(&mut answer)?;
/// assert_eq!(&answer, b"hello");
/// listening.blocking_with(|slot| *slot = None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Nonblocking<S> {
    // Before `io`: the watch ends before the descriptor is closed.
    watch: Option<Watch>,
    io: Arc<S>,
}

/// A TCP listener.
pub type TcpListener = Nonblocking<std::net::TcpListener>;
/// A TCP stream.
pub type TcpStream = Nonblocking<std::net::TcpStream>;
/// A listener on a Unix socket.
pub type UnixListener = Nonblocking<std::os::unix::net::UnixListener>;
/// A stream over a Unix socket.
pub type UnixStream = Nonblocking<std::os::unix::net::UnixStream>;

/// How many connections may wait to be accepted; the system caps it by its own
/// limit (`net.core.somaxconn`, 4096).
pub const LISTEN_BACKLOG: i32 = 4096;

impl<S: AsFd + Send + Sync + 'static> Nonblocking<S> {
    /// Takes a descriptor over and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn new(io: S) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&io, true)?;
        Ok(Self::already(io))
    }

    fn already(io: S) -> Self {
        Self {
            watch: None,
            io: Arc::new(io),
        }
    }

    /// The descriptor, for options and addresses.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// Posts an event to `target` whenever the descriptor becomes ready; see
    /// [`Watch::new`]. Replaces an earlier watch.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn watch<T, F>(
        &mut self,
        target: &Colored<T>,
        handler: &'static Handler,
        call: F,
    ) -> io::Result<()>
    where
        T: Send + 'static,
        F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
    {
        self.watch = None;
        let io: Arc<S> = Arc::clone(&self.io);
        self.watch = Some(Watch::new(io, target, handler, call)?);
        Ok(())
    }

    /// Ends the watch; the descriptor stays open.
    pub fn unwatch(&mut self) {
        self.watch = None;
    }

    fn accept_fd(&self) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(rustix::net::accept_with(&*self.io, flags)?)
    }
}

impl TcpListener {
    /// Listens on an address; `SO_REUSEADDR` is set, port 0 takes a free port.
    ///
    /// # Errors
    ///
    /// What the system says: in use, not available, not permitted.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = Self::new(std::net::TcpListener::bind(address)?)?;
        // The standard library asks for 128 only; a second call changes that.
        rustix::net::listen(&*listener.io, LISTEN_BACKLOG)?;
        Ok(listener)
    }

    /// Accepts one waiting connection, with the address of its peer.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none waits; otherwise what the
    /// system says. `EMFILE` and `ENFILE` leave the connection waiting and send no
    /// new edge: try again later.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (fd, peer) = rustix::net::acceptfrom_with(&*self.io, flags)?;
        let peer = peer.and_then(|any| SocketAddr::try_from(any).ok());
        let stream = std::net::TcpStream::from(fd);
        let peer = peer.map_or_else(|| stream.peer_addr(), Ok)?;
        Ok((TcpStream::already(stream), peer))
    }
}

impl TcpStream {
    /// Begins to connect; the stream becomes writable when that has succeeded or
    /// failed ([`take_error`](std::net::TcpStream::take_error) tells).
    ///
    /// # Errors
    ///
    /// What the system says at once.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => rustix::net::AddressFamily::INET,
            SocketAddr::V6(_) => rustix::net::AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(family, rustix::net::SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&fd, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {
                Ok(Self::already(std::net::TcpStream::from(fd)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl UnixListener {
    /// Listens on a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(std::os::unix::net::UnixListener::bind(path)?)
    }

    /// Accepts one waiting connection.
    ///
    /// # Errors
    ///
    /// As for [`TcpListener::accept`].
    pub fn accept(&self) -> io::Result<UnixStream> {
        Ok(UnixStream::already(self.accept_fd()?.into()))
    }
}

impl UnixStream {
    /// Two connected streams.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = std::os::unix::net::UnixStream::pair()?;
        Ok((Self::new(a)?, Self::new(b)?))
    }
}

impl<S> Read for Nonblocking<S>
where
    for<'a> &'a S: Read,
{
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self.io).read(bytes)
    }
}

impl<S> Write for Nonblocking<S>
where
    for<'a> &'a S: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.io).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.io).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: AsFd> AsFd for Nonblocking<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl<S: fmt::Debug> fmt::Debug for Nonblocking<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nonblocking").field(&self.io).finish()
    }
}
