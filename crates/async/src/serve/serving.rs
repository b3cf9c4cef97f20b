//! A server at work.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use mely::Reply;

use super::gate::Gate;
use super::stop::Stop;

/// A server at work ([`Listener::serve`]). Dropping it lets the server go on.
///
/// Awaited, it waits for the end: once the server is [stopped](Self::stop) and the last of
/// its connections has ended.
///
/// # Errors
///
/// What ended the listener, or the runtime's end.
pub struct Serving {
    pub(super) ended: Reply<io::Result<()>>,
    pub(super) counts: Arc<Counts>,
    pub(super) stop: Stop,
}

/// What a server counts.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) inside: Gate,
    pub(super) accepted: AtomicU64,
    pub(super) failures: Arc<AtomicU64>,
}

impl Serving {
    /// Accepts no more connections, closes the listener, and lets those that there are come
    /// to their end.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// The wish by which it ends.
    pub fn stop_wish(&self) -> &Stop {
        &self.stop
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.counts.inside.count()
    }

    /// How many connections have been accepted.
    pub fn accepted(&self) -> u64 {
        // Relaxed: a count.
        self.counts.accepted.load(Relaxed)
    }

    /// How many failures to accept one it has survived.
    pub fn failures(&self) -> u64 {
        // Relaxed: a count.
        self.counts.failures.load(Relaxed)
    }

    /// Blocks the calling thread until the server has ended.
    ///
    /// # Errors
    ///
    /// As when awaited, and inside of a handler of the same runtime.
    pub fn wait(self) -> io::Result<()> {
        self.ended.wait().map_err(io::Error::other)?
    }

    /// Blocks the calling thread until the server has ended, but no longer than this; gives it
    /// back then. What is left of its connections ends with the runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let listener = mely_async::TcpListener::bind("127.0.0.1:0")?;
    /// let serving = listener.serve(&rt, |mut stream, _peer| async move {
    ///     stream.read(&mut [0]).await
    /// });
    /// serving.stop();
    /// match serving.wait_timeout(Duration::from_secs(5)) {
    ///     Ok(ended) => ended?,
    ///     Err(late) => eprintln!("{} connections are cut off", late.connections()),
    /// }
    /// rt.shutdown(Duration::from_secs(1))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The server itself when the time is over; within, as for [`wait`](Self::wait).
    pub fn wait_timeout(self, timeout: Duration) -> Result<io::Result<()>, Self> {
        let Self {
            ended,
            counts,
            stop,
        } = self;
        match ended.wait_timeout(timeout) {
            Ok(ended) => Ok(ended.unwrap_or_else(|error| Err(io::Error::other(error)))),
            Err(ended) => Err(Self {
                ended,
                counts,
                stop,
            }),
        }
    }
}

impl Future for Serving {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = Pin::new(&mut self.ended).poll(cx);
        ended.map(|ended| ended.map_err(io::Error::other)?)
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("connections", &self.connections())
            .field("accepted", &self.accepted())
            .field("failures", &self.failures())
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}
