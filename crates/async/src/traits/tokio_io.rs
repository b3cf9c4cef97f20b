//! Tokio's traits, of which its codecs, TLS and much else is made. Its runtime is not needed.

use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

use crate::fs::{CHUNK_MAX, File};
use crate::stream::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, Stream, StreamSocket, WriteHalf};

impl<S: StreamSocket> Stream<S> {
    /// Memory that is initialized already is read into; else what is read is copied, which
    /// costs less than to initialize all the room that there is.
    fn poll_read_buf(&self, cx: &Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buf.remaining();
        if buf.initialized().len() < buf.capacity() {
            return self.poll_read_to(cx, room, |read| buf.put_slice(read));
        }
        let read = self.poll_read(cx, buf.initialize_unfilled());
        read.map_ok(|count| buf.advance(count))
    }
}

macro_rules! reads {
    ($($reader:ty),*) => {$(
        impl<S: StreamSocket> AsyncRead for $reader {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.as_stream().poll_read_buf(cx, buf)
            }
        }
    )*};
}

macro_rules! writes {
    ($($writer:ty),*) => {$(
        impl<S: StreamSocket> AsyncWrite for $writer {
            write_methods!(poll_shutdown);

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    )*};
}

reads!(Stream<S>, ReadHalf<'_, S>, OwnedReadHalf<S>);
writes!(Stream<S>, WriteHalf<'_, S>, OwnedWriteHalf<S>);

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.remaining().min(CHUNK_MAX);
        let count = ready!(File::poll_read(
            &mut self,
            cx,
            buf.initialize_unfilled_to(room)
        ))?;
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for File {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        File::poll_write(&mut self, cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(&mut self, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(&mut self, cx)
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        if !self.is_idle() {
            return Err(io::Error::other(
                "another operation is under way: call poll_complete before start_seek",
            ));
        }
        File::start_seek(&mut self, to);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        ready!(self.poll_sought(cx))?;
        Poll::Ready(Ok(self.position()))
    }
}
