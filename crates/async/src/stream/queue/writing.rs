//! Who writes what a queue has.

use std::future::poll_fn;
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use std::{fmt, io, mem};

use super::super::{OwnedWriteHalf, StreamSocket};
use super::{Phase, PushError, Shared, Waiting, WhenFull, WriteQueue};
use crate::error::Error;
use crate::time::{Sleep, sleep};
use crate::wake::{drop_safely, lock};

/// How long a peer that takes nothing is waited for, once no more comes, where nothing else is
/// said.
const LINGER: Duration = Duration::from_secs(10);

/// An empty buffer keeps as much memory as this for what comes next.
const KEPT_BYTES: usize = 1024;

/// Writes what a [`WriteQueue`] has: a future of the connection's own task, so that it writes
/// under the connection's color, and ends with it.
///
/// Awaited, it ends once the queue is closed, or has no handle any more, and all is written;
/// it ends the writing half of the stream then. Dropped before, it drops what waits, too.
///
/// # Errors
///
/// What the system says; [`PushError`] inside, if the queue was aborted, or cut off as it was
/// full; [`TimedOut`](io::ErrorKind::TimedOut), if the peer takes no more of what is left in the
/// end ([`linger`](Self::linger)). But for what the system says the stream is shut down both
/// ways then.
#[must_use = "nothing is written unless this is awaited"]
pub struct Writing<S: StreamSocket> {
    writer: OwnedWriteHalf<S>,
    shared: Arc<Shared>,
    bytes: Vec<u8>,
    written: usize,
    /// What it has ended with, until somebody is told.
    outcome: Option<io::Result<()>>,
    is_over: bool,
    linger: Duration,
    /// When the peer must have taken something, while the last bytes are written.
    patience: Option<Sleep>,
}

/// What the writer does next.
enum Next {
    Write { is_last: bool },
    Wait,
    End,
    Cut(PushError),
    Failed(io::Error),
}

impl<S: StreamSocket> OwnedWriteHalf<S> {
    /// A queue for what is to be written, of at most `limit` bytes, and the future that writes
    /// it.
    ///
    /// A chat's room, a session's timers or another connection leave bytes in the queue, and
    /// wait for nobody; the task of the connection writes beside what else it does
    /// ([`Writing::during`]). It takes no memory while nothing waits, and at most twice the
    /// limit.
    ///
    /// ```
    /// use mely_async::{UnixStream, WhenFull};
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let (mut here, there) = UnixStream::pair()?;
    /// let (mut reader, writer) = there.into_split();
    /// let (queue, mut writing) = writer.into_queue(64 * 1024, WhenFull::Close);
    /// let connection = rt.new_color().spawn(async move {
    ///     let mut answer = [0; 6];
    ///     // Reads, and writes meanwhile what others leave in the queue.
    ///     writing.during(reader.read_exact(&mut answer)).await;
    ///     answer
    /// });
    /// let room = rt.colored(vec![queue]);
    /// room.post(|members, _cx| members.retain(|member| member.push(b"hello").is_ok()))?;
    /// let client = rt.new_color().spawn(async move {
    ///     here.read_exact(&mut [0; 5]).await?;
    ///     here.write_all(b"thanks").await
    /// });
    /// client.wait()??;
    /// assert_eq!(&connection.wait()?, b"thanks");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_queue(self, limit: usize, when_full: WhenFull) -> (WriteQueue, Writing<S>) {
        let waiting = Waiting {
            phase: Phase::Open,
            bytes: Vec::new(),
            taken: 0,
            at_once: 0,
            stream: Some(self.shared()),
            shed: 0,
            failed: None,
            handles: 1,
            waker: None,
        };
        let shared = Arc::new(Shared {
            limit,
            when_full,
            waiting: Mutex::new(waiting),
        });
        let writing = Writing {
            writer: self,
            shared: Arc::clone(&shared),
            bytes: Vec::new(),
            written: 0,
            outcome: None,
            is_over: false,
            linger: LINGER,
            patience: None,
        };
        (WriteQueue(shared), writing)
    }
}

impl<S: StreamSocket> Writing<S> {
    /// Once no more comes, gives the peer so long at a time to take something of what is left;
    /// 10 seconds where this is not said.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Runs `future`, and writes meanwhile: what it gives, or `None` where the writing has
    /// ended first, for which this, awaited, then gives the reason.
    pub async fn during<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            let outcome = ready!(Pin::new(&mut *self).poll(cx));
            self.outcome = Some(outcome);
            Poll::Ready(None)
        })
        .await
    }

    /// Tells what is written, and takes what waits.
    fn next(&mut self, waker: &Waker) -> Next {
        // The program's: cloned and dropped without the lock.
        let waker = waker.clone();
        let mut waiting = lock(&self.shared.waiting);
        let left = self.bytes.len() - self.written;
        waiting.taken = left;
        let is_last = !waiting.is_open();
        let failed = waiting.failed.take();
        let next = match waiting.phase {
            Phase::Cut(why) => Next::Cut(why),
            _ if waiting.at_once > 0 => Next::Wait,
            _ if left > 0 => Next::Write { is_last },
            _ if !waiting.bytes.is_empty() => {
                self.bytes.clear();
                self.written = 0;
                mem::swap(&mut self.bytes, &mut waiting.bytes);
                waiting.taken = self.bytes.len();
                Next::Write { is_last }
            }
            _ if is_last => Next::End,
            _ => Next::Wait,
        };
        let next = failed.map_or(next, Next::Failed);
        let unused = match next {
            Next::Write { .. } | Next::Wait => waiting.waker.replace(waker),
            Next::End | Next::Cut(_) | Next::Failed(_) => Some(waker),
        };
        let spare = match next {
            // Behind who writes at once there may be some.
            Next::Wait if waiting.bytes.is_empty() && waiting.bytes.capacity() > KEPT_BYTES => {
                mem::take(&mut waiting.bytes)
            }
            _ => Vec::new(),
        };
        drop(waiting);
        drop(spare);
        if matches!(next, Next::Wait) && self.bytes.capacity() > KEPT_BYTES {
            (self.bytes, self.written) = (Vec::new(), 0);
        }
        drop_safely(unused);
        next
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.next(cx.waker()) {
                Next::Wait => return Poll::Pending,
                Next::End => return Poll::Ready(self.writer.as_stream().shut_down_write()),
                Next::Cut(why) => return Poll::Ready(Err(self.cut(why))),
                Next::Failed(error) => return Poll::Ready(Err(error)),
                Next::Write { is_last } => {
                    let bytes = &self.bytes[self.written..];
                    match self.writer.as_stream().poll_write(cx, bytes) {
                        Poll::Ready(Ok(0)) => {
                            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                        }
                        Poll::Ready(Ok(count)) => {
                            self.written += count;
                            self.patience = None;
                        }
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                        Poll::Pending if is_last => return self.lose_patience(cx),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            }
        }
    }

    /// Waits for as long as the peer may take nothing.
    fn lose_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let patience = self.patience.get_or_insert_with(|| sleep(self.linger));
        let slept = ready!(Pin::new(patience).poll(cx));
        // Where no timer can be set, its time is over.
        let why = slept.err().unwrap_or(Error::Elapsed);
        Poll::Ready(Err(self.cut(why)))
    }

    /// Closes the stream both ways.
    fn cut(&self, why: impl Into<io::Error>) -> io::Error {
        // It fails only where the peer is gone already.
        let _ = self.writer.as_stream().get_ref().shut_down(Shutdown::Both);
        why.into()
    }

    /// Nobody writes any more.
    fn end(&mut self) {
        self.is_over = true;
        (self.bytes, self.written, self.patience) = (Vec::new(), 0, None);
        let mut waiting = lock(&self.shared.waiting);
        let rest = waiting.cut(PushError::Closed);
        waiting.taken = 0;
        let (waker, stream) = (waiting.waker.take(), waiting.stream.take());
        drop(waiting);
        drop((rest, stream));
        drop_safely(waker);
    }
}

impl<S: StreamSocket> Future for Writing<S> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_over {
            return Poll::Ready(self.outcome.take().unwrap_or(Ok(())));
        }
        let outcome = ready!(self.poll_all(cx));
        self.end();
        Poll::Ready(outcome)
    }
}

impl<S: StreamSocket> Drop for Writing<S> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<S: StreamSocket> fmt::Debug for Writing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing")
            .field("writer", &self.writer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::super::TryWrite;
    use super::*;
    use crate::stream::Stream;

    fn queue() -> (WriteQueue, Writing<UnixStream>, UnixStream) {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (_reader, writer) = Stream::from_std(here).expect("a socket").into_split();
        let (queue, writing) = writer.into_queue(1 << 16, WhenFull::Close);
        (queue, writing, there)
    }

    #[test]
    fn what_is_left_behind_who_writes_at_once_is_kept() {
        let (queue, mut writing, _peer) = queue();
        lock(&queue.0.waiting).at_once = 1;
        assert_eq!(queue.push(&[7; 2 * KEPT_BYTES]), Ok(()));
        // The writer's task may be polled for what else it does.
        assert!(matches!(writing.next(Waker::noop()), Next::Wait));
        lock(&queue.0.waiting).at_once = 0;
        assert_eq!(queue.unwritten(), 2 * KEPT_BYTES);
        let next = writing.next(Waker::noop());
        assert!(matches!(next, Next::Write { is_last: false }));
        assert_eq!(writing.bytes, [7; 2 * KEPT_BYTES]);
    }

    struct Calls(AtomicUsize);

    impl TryWrite for Calls {
        fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            self.0.fetch_add(1, Relaxed);
            Ok(bytes.len())
        }
    }

    /// Who writes nothing would not be seen to write, and its end be taken for another's.
    #[test]
    fn nothing_is_not_written() {
        let (queue, _writing, _peer) = queue();
        let calls = Arc::new(Calls(AtomicUsize::new(0)));
        lock(&queue.0.waiting).stream = Some(Arc::clone(&calls) as _);
        assert_eq!(queue.write(b""), Ok(()));
        assert_eq!(calls.0.load(Relaxed), 0);
        assert_eq!(queue.write(b"something"), Ok(()));
        assert_eq!(calls.0.load(Relaxed), 1);
    }

    struct Fails;

    impl TryWrite for Fails {
        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }

    #[test]
    fn what_the_system_says_to_who_writes_at_once_is_for_the_writer() {
        let (queue, mut writing, _peer) = queue();
        lock(&queue.0.waiting).stream = Some(Arc::new(Fails) as _);
        assert_eq!(queue.write(b"something"), Ok(()));
        let Next::Failed(error) = writing.next(Waker::noop()) else {
            panic!("it goes on");
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
