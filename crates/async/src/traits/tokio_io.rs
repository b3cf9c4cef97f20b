//! Tokio's traits, of which its codecs, TLS and much else is made. Its runtime is not needed.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
