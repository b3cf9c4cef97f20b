//! Streams, TCP and Unix.

mod connect;
mod split;

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net as unix;
use std::task::{Context, Poll};

pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
use crate::ready::{Seen, Waiter, Way};
use crate::socket::Socket;

/// How much is read at once where the memory of the reader is not initialized: as much
/// as a core's stack and fast cache have room for.
#[cfg(any(feature = "hyper", feature = "tokio"))]
const READ_MAX: usize = 32 * 1024;

/// A stream that futures read and write, under any color.
///
/// Reading and writing first try the system call. Only when that would block the stream is
/// watched, with the color of the event that polls; where it is polled under another color
/// later, it follows. Outside of any color waiting is an error that says so.
///
/// After 64 operations in a row that need not wait, the future lets the other events of
/// its core run.
///
/// One future reads at a time, and one writes ([`split`](Self::split),
/// [`into_split`](Self::into_split)). With the features `futures-io`, `tokio` and `hyper` it
/// has their traits for reading and writing, and so all that is built on these: lines,
/// frames, buffers, TLS, HTTP.
///
/// It keeps the color that it waits under, as a [`Watch`](mely::net::Watch) does: a stream
/// that is kept in the state of its own color must be dropped from there to end.
pub struct Stream<S: StreamSocket>(pub(crate) Socket<S>);

/// A TCP stream.
///
/// ```
/// use mely_async::{TcpListener, TcpStream};
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let echoed = rt.new_color().spawn(async move {
///     let (mut stream, _peer) = listener.accept().await?;
///     let mut bytes = [0; 5];
///     stream.read_exact(&mut bytes).await?;
///     stream.write_all(&bytes).await
/// });
/// let asked = rt.new_color().spawn(async move {
///     let mut stream = TcpStream::connect(address).await?;
///     stream.write_all(b"hello").await?;
///     let mut answer = [0; 5];
///     stream.read_exact(&mut answer).await?;
///     Ok::<_, std::io::Error>(answer)
/// });
/// assert_eq!(&asked.wait()??, b"hello");
/// echoed.wait()??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TcpStream = Stream<net::TcpStream>;

/// A stream over a Unix socket.
pub type UnixStream = Stream<unix::UnixStream>;

/// The sockets of the standard library that a [`Stream`] can be of.
pub trait StreamSocket:
    AsFd + fmt::Debug + Send + Sync + Sized + private::Sealed + 'static
{
    #[doc(hidden)]
    fn read_into(&self, bytes: &mut [u8]) -> io::Result<usize>;
    #[doc(hidden)]
    fn write_from(&self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    #[doc(hidden)]
    fn shut_down(&self, how: Shutdown) -> io::Result<()>;
    #[doc(hidden)]
    fn again(&self) -> io::Result<Self>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for std::net::TcpStream {}
    impl Sealed for std::os::unix::net::UnixStream {}
}

macro_rules! stream_socket {
    ($($socket:ty),*) => {$(
        impl StreamSocket for $socket {
            fn read_into(&self, bytes: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(bytes)
            }

            fn write_from(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
                match slices {
                    [slice] => (&mut &*self).write(slice),
                    slices => (&mut &*self).write_vectored(slices),
                }
            }

            fn shut_down(&self, how: Shutdown) -> io::Result<()> {
                self.shutdown(how)
            }

            fn again(&self) -> io::Result<Self> {
                self.try_clone()
            }
        }
    )*};
}

stream_socket!(net::TcpStream, unix::UnixStream);

impl<S: StreamSocket> Stream<S> {
    /// Takes a connected socket over and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn from_std(socket: S) -> io::Result<Self> {
        Socket::new(socket).map(Self)
    }

    /// Gives the socket back, which does not block.
    ///
    /// # Errors
    ///
    /// What the system says: rarely the descriptor must be duplicated, as the core where it
    /// was watched has not let it go yet.
    pub fn into_std(self) -> io::Result<S> {
        self.0.into_inner(S::again)
    }

    /// The socket, for options and addresses.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }

    /// Reads what there is; 0 at the end of the stream, or for no room.
    ///
    /// Nothing is lost where the future is dropped.
    ///
    /// # Errors
    ///
    /// What the system says; [`Error::OutsideColor`](crate::Error) inside.
    pub async fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, bytes)).await
    }

    /// Reads until all of `bytes` is filled. What was read before an error, or before the
    /// future is dropped, is gone.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read); [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
    pub async fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.fill(bytes).await
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write(cx, bytes)).await
    }

    /// Writes as much of several slices as there is room for.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub async fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write_vectored(cx, slices)).await
    }

    /// Writes all of `bytes`. How much was written before an error, or before the future is
    /// dropped, is not known.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read); [`WriteZero`](io::ErrorKind::WriteZero).
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pour(bytes).await
    }

    /// Reads what there is, and leaves it there.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub async fn peek(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let peek = |socket: &S, _| {
            let flags = rustix::net::RecvFlags::PEEK;
            let (count, _) = rustix::net::recv(socket, &mut *bytes, flags)?;
            Ok(count)
        };
        let mut peek = peek;
        poll_fn(|cx| self.0.poll_io(Way::Read, Waiter::Poller, cx, &mut peek)).await
    }

    /// Ends the writing half: the peer reads the end of the stream.
    ///
    /// # Errors
    ///
    /// What the system says; none where the peer is gone already.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.shut_down_write()
    }

    /// Waits until there may be something to read, for [`try_read`](Self::try_read).
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub async fn readable(&self) -> io::Result<()> {
        self.0.until_ready(Way::Read).await
    }

    /// Waits until there may be room to write, for [`try_write`](Self::try_write).
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub async fn writable(&self) -> io::Result<()> {
        self.0.until_ready(Way::Write).await
    }

    /// Reads what there is, without waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or what the system says.
    pub fn try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.try_io(Way::Read, |socket, seen| {
            self.read_once(socket, seen, bytes)
        })
    }

    /// Writes as much as there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), or what the system says.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let slices = [IoSlice::new(bytes)];
        self.0.try_io(Way::Write, |socket, seen| {
            self.write_once(socket, seen, &slices)
        })
    }

    /// Polls for what [`read`](Self::read) gives: the last waker counts.
    pub fn poll_read(&self, cx: &Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = |socket: &S, seen| self.read_once(socket, seen, bytes);
        self.0.poll_io(Way::Read, Waiter::Poller, cx, read)
    }

    /// Polls for what [`write`](Self::write) gives: the last waker counts.
    pub fn poll_write(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    /// Polls for what [`write_vectored`](Self::write_vectored) gives: the last waker counts.
    pub fn poll_write_vectored(
        &self,
        cx: &Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = |socket: &S, seen| self.write_once(socket, seen, slices);
        self.0.poll_io(Way::Write, Waiter::Poller, cx, write)
    }

    /// Reads at most `room` bytes into memory of its own, and hands them to `take`.
    #[cfg(any(feature = "hyper", feature = "tokio"))]
    pub(crate) fn poll_read_to(
        &self,
        cx: &Context<'_>,
        room: usize,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<()>> {
        let mut take = Some(take);
        let read = |socket: &S, seen| {
            let mut bytes = [const { std::mem::MaybeUninit::uninit() }; READ_MAX];
            let room = room.min(READ_MAX);
            let (read, _) = rustix::io::read(socket, &mut bytes[..room])?;
            self.note_read(seen, read.len(), room);
            if let Some(take) = take.take() {
                take(read);
            }
            Ok(())
        };
        self.0.poll_io(Way::Read, Waiter::Poller, cx, read)
    }

    fn read_once(&self, socket: &S, seen: Seen, bytes: &mut [u8]) -> io::Result<usize> {
        let count = socket.read_into(bytes)?;
        self.note_read(seen, count, bytes.len());
        Ok(count)
    }

    /// A short read has found all that there was: what comes after it makes a new edge. The
    /// end of the stream may have been told before.
    fn note_read(&self, seen: Seen, count: usize, room: usize) {
        if count > 0 && count < room && !seen.is_closed() {
            self.0.note_used_up(seen, Way::Read);
        }
    }

    /// A short write has filled all the room that there was.
    fn write_once(&self, socket: &S, seen: Seen, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let count = socket.write_from(slices)?;
        let all: usize = slices.iter().map(|slice| slice.len()).sum();
        if count > 0 && count < all && !seen.is_closed() {
            self.0.note_used_up(seen, Way::Write);
        }
        Ok(count)
    }

    #[cfg(any(feature = "futures-io", feature = "hyper", feature = "tokio"))]
    pub(crate) fn as_stream(&self) -> &Self {
        self
    }

    pub(crate) fn shut_down_write(&self) -> io::Result<()> {
        match self.get_ref().shut_down(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done,
        }
    }
}

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

impl<S: StreamSocket> AsFd for Stream<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<S: StreamSocket> fmt::Debug for Stream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.0).finish()
    }
}
