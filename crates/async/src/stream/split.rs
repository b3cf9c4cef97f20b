//! The halves of a stream: one reads, one writes.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, mem};

use super::{Stream, StreamSocket};
use crate::ready::Way;

/// The half that reads, borrowed ([`Stream::split`]).
pub struct ReadHalf<'a, S: StreamSocket>(&'a Stream<S>);

/// The half that writes, borrowed ([`Stream::split`]).
pub struct WriteHalf<'a, S: StreamSocket>(&'a Stream<S>);

/// The half that reads, to move elsewhere ([`Stream::into_split`]).
pub struct OwnedReadHalf<S: StreamSocket>(Arc<Stream<S>>);

/// The half that writes, to move elsewhere ([`Stream::into_split`]). Dropping it ends the
/// writing half of the stream.
pub struct OwnedWriteHalf<S: StreamSocket> {
    stream: Arc<Stream<S>>,
    shuts_down: bool,
}

impl<S: StreamSocket> OwnedWriteHalf<S> {
    /// The stream, for a queue that ends with this half.
    pub(super) fn shared(&self) -> Arc<Stream<S>> {
        Arc::clone(&self.stream)
    }
}

/// Two halves that are not of the same stream.
#[derive(Debug)]
pub struct ReuniteError<S: StreamSocket>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: StreamSocket> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are not of the same stream")
    }
}

impl<S: StreamSocket> std::error::Error for ReuniteError<S> {}

impl<S: StreamSocket> Stream<S> {
    /// Two halves, for futures that are polled together.
    pub fn split(&mut self) -> (ReadHalf<'_, S>, WriteHalf<'_, S>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Two halves that can live apart, in other tasks and under other colors.
    ///
    /// The stream is watched with the color of that which waits first; the other one is
    /// woken across colors while both wait, and so not before the events of that color that come
    /// first.
    ///
    /// ```
    /// use mely_async::UnixStream;
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let (mut here, there) = UnixStream::pair()?;
    /// let (mut reads, mut writes) = there.into_split();
    /// let reader = rt.new_color().spawn(async move {
    ///     let mut bytes = [0; 3];
    ///     reads.read_exact(&mut bytes).await.map(|()| bytes)
    /// });
    /// let writer = rt.new_color().spawn(async move { writes.write_all(b"you").await });
    /// let both = rt.new_color().spawn(async move {
    ///     here.write_all(b"me!").await?;
    ///     let mut bytes = [0; 3];
    ///     here.read_exact(&mut bytes).await.map(|()| bytes)
    /// });
    /// assert_eq!(&both.wait()??, b"you");
    /// assert_eq!(&reader.wait()??, b"me!");
    /// writer.wait()??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
        let stream = Arc::new(self);
        let writes = OwnedWriteHalf {
            stream: Arc::clone(&stream),
            shuts_down: true,
        };
        (OwnedReadHalf(stream), writes)
    }

    /// Reads until all of `bytes` is filled.
    pub(super) async fn fill(&self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match poll_fn(|cx| self.poll_read(cx, bytes)).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => bytes = &mut bytes[count..],
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`.
    pub(super) async fn pour(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match poll_fn(|cx| self.poll_write(cx, bytes)).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => bytes = &bytes[count..],
            }
        }
        Ok(())
    }
}

macro_rules! reads {
    ($half:ty, [$($generics:tt)*], $stream:tt) => {
        impl<$($generics)*> $half {
            /// See [`Stream::read`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_read(cx, bytes)).await
            }

            /// See [`Stream::read_exact`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
                self.$stream.fill(bytes).await
            }

            /// See [`Stream::poll_read`].
            pub fn poll_read(&self, cx: &Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
                self.$stream.poll_read(cx, bytes)
            }

            /// The stream, for what needs no waiting.
            pub fn as_stream(&self) -> &Stream<S> {
                &self.$stream
            }
        }
    };
}

macro_rules! writes {
    ($half:ty, [$($generics:tt)*], $stream:tt) => {
        impl<$($generics)*> $half {
            /// See [`Stream::write`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write_vectored(cx, &[IoSlice::new(bytes)])).await
            }

            /// See [`Stream::write_vectored`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write_vectored(cx, slices)).await
            }

            /// See [`Stream::write_all`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.$stream.pour(bytes).await
            }

            /// See [`Stream::shutdown`].
            ///
            /// # Errors
            ///
            /// As there.
            pub async fn shutdown(&mut self) -> io::Result<()> {
                self.$stream.shut_down_write()
            }

            /// See [`Stream::poll_write_vectored`].
            pub fn poll_write_vectored(
                &self,
                cx: &Context<'_>,
                slices: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.$stream.poll_write_vectored(cx, slices)
            }

            /// The stream, for what needs no waiting.
            pub fn as_stream(&self) -> &Stream<S> {
                &self.$stream
            }
        }
    };
}

reads!(ReadHalf<'_, S>, [S: StreamSocket], 0);
reads!(OwnedReadHalf<S>, [S: StreamSocket], 0);
writes!(WriteHalf<'_, S>, [S: StreamSocket], 0);
writes!(OwnedWriteHalf<S>, [S: StreamSocket], stream);

impl<S: StreamSocket> OwnedReadHalf<S> {
    /// Puts the halves together again.
    ///
    /// # Errors
    ///
    /// [`ReuniteError`] with both, if they are of two streams.
    pub fn reunite(self, mut other: OwnedWriteHalf<S>) -> Result<Stream<S>, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.shuts_down = false;
        drop(other);
        let stream = Arc::clone(&self.0);
        drop(self);
        // There were two halves, and this is what is left of both.
        Ok(Arc::into_inner(stream).expect("a stream has two halves"))
    }
}

impl<S: StreamSocket> OwnedWriteHalf<S> {
    /// Drops the half without ending the writing half of the stream.
    pub fn forget(mut self) {
        self.shuts_down = false;
    }
}

impl<S: StreamSocket> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if mem::take(&mut self.shuts_down) {
            // It fails only where there is nobody left to tell.
            let _ = self.stream.shut_down_write();
        }
        self.stream.0.leave(Way::Write);
    }
}

impl<S: StreamSocket> Drop for OwnedReadHalf<S> {
    fn drop(&mut self) {
        self.0.0.leave(Way::Read);
    }
}

impl<S: StreamSocket> fmt::Debug for ReadHalf<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadHalf").field(self.0).finish()
    }
}

impl<S: StreamSocket> fmt::Debug for WriteHalf<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteHalf").field(self.0).finish()
    }
}

impl<S: StreamSocket> fmt::Debug for OwnedReadHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedReadHalf").field(&self.0).finish()
    }
}

impl<S: StreamSocket> fmt::Debug for OwnedWriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedWriteHalf").field(&self.stream).finish()
    }
}
