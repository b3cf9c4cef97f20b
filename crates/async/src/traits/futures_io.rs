//! The traits of `futures-io`.

use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncSeek, AsyncWrite};

use crate::fs::File;
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

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        File::poll_read(&mut self, cx, bytes)
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

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(&mut self, cx)
    }
}

impl AsyncSeek for File {
    fn poll_seek(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        File::poll_seek(&mut self, cx, to)
    }
}
