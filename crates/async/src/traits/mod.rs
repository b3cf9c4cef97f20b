//! The traits of others, each behind the feature of its name.

/// What all their traits of writing ask for; they differ in the name of the end.
#[cfg(any(feature = "futures-io", feature = "hyper", feature = "tokio"))]
macro_rules! write_methods {
    ($end:ident) => {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.as_stream().poll_write(cx, bytes)
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.as_stream().poll_write_vectored(cx, slices)
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn $end(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(self.as_stream().shut_down_write())
        }
    };
}

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "http-client")]
pub(crate) mod hyper_client;
#[cfg(feature = "hyper")]
pub(crate) mod hyper_rt;
#[cfg(feature = "tokio")]
mod tokio_io;
