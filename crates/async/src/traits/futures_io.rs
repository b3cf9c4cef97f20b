//! The traits of `futures-io`.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use crate::stream::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, Stream, StreamSocket, WriteHalf};

macro_rules! reads {
    ($($reader:ty),*) => {$(
        impl<S: StreamSocket> AsyncRead for $reader {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.as_stream().poll_read(cx, bytes)
            }
        }
    )*};
}

macro_rules! writes {
    ($($writer:ty),*) => {$(
        impl<S: StreamSocket> AsyncWrite for $writer {
            write_methods!(poll_close);
        }
    )*};
}

reads!(Stream<S>, ReadHalf<'_, S>, OwnedReadHalf<S>);
writes!(Stream<S>, WriteHalf<'_, S>, OwnedWriteHalf<S>);
