//! Bytes that wait to be written, of those who cannot wait for a peer: events, and tasks with
//! other things to do.

mod writing;

use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::{fmt, io, mem};

pub use self::writing::Writing;
use super::{Stream, StreamSocket};
use crate::wake::{drop_safely, lock, wake_safely};

/// What becomes of a connection whose peer does not read, once its queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// The connection is closed both ways, and what waits is dropped: for peers that must miss
    /// nothing.
    Close,
    /// What comes is refused as a whole, and counted ([`WriteQueue::shed`]): for peers that may
    /// miss something.
    Shed,
}

/// Why bytes were not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PushError {
    /// There was no room for them: the peer does not read, or they are more than the queue may
    /// hold at all. With [`WhenFull::Close`] the connection is closed by this.
    Full,
    /// Nobody writes any more: the queue was closed, or the connection has ended.
    Closed,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the queue has no room for the bytes: the peer does not read, or they are more than it may hold",
            Self::Closed => "the queue is closed: nobody writes to this peer any more",
        })
    }
}

impl std::error::Error for PushError {}

impl From<PushError> for io::Error {
    fn from(error: PushError) -> Self {
        let kind = match error {
            PushError::Full => io::ErrorKind::WouldBlock,
            PushError::Closed => io::ErrorKind::BrokenPipe,
        };
        io::Error::new(kind, error)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// What waits is written, and then the end of the stream.
    Closed,
    /// Nothing is written any more, for this reason.
    Cut(PushError),
}

struct Waiting {
    phase: Phase,
    bytes: Vec<u8>,
    /// How much of what the writer has taken is not written yet.
    taken: usize,
    /// How much somebody writes at once, before whom the writer must not write.
    at_once: usize,
    /// Where that goes, until nobody writes any more.
    stream: Option<Arc<dyn TryWrite>>,
    shed: u64,
    handles: usize,
    /// What the system said to who wrote at once, for the writer: it says it once.
    failed: Option<io::Error>,
    /// Of the writer.
    waker: Option<Waker>,
}

/// Whether the writer may do better.
fn is_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}

/// A stream of any kind.
trait TryWrite: Send + Sync {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl<S: StreamSocket> TryWrite for Stream<S> {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Stream::try_write(self, bytes)
    }
}

impl Waiting {
    /// Whether whoever leaves something has to wake the writer: it does not come by itself.
    fn is_idle(&self) -> bool {
        self.taken == 0 && self.at_once == 0
    }

    /// Ends it; what is to be dropped without the lock.
    fn cut(&mut self, why: PushError) -> Vec<u8> {
        if !matches!(self.phase, Phase::Cut(_)) {
            self.phase = Phase::Cut(why);
        }
        mem::take(&mut self.bytes)
    }

    /// Whether more may come.
    fn is_open(&self) -> bool {
        self.phase == Phase::Open && self.handles > 0
    }

    /// Adds `bytes`, if there is room for all of them.
    fn push(&mut self, bytes: &[u8], limit: usize) -> bool {
        let needed = self.bytes.len() + bytes.len();
        if needed > limit.saturating_sub(self.taken + self.at_once) {
            return false;
        }
        if self.bytes.capacity() < needed {
            // It takes no more memory than it may.
            let capacity = limit.min(needed.max(2 * self.bytes.capacity()));
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        true
    }
}

struct Shared {
    limit: usize,
    when_full: WhenFull,
    waiting: Mutex<Waiting>,
}

impl Shared {
    /// Changes something, and has the writer look at it.
    fn tell<R>(&self, change: impl FnOnce(&mut Waiting) -> R) -> R {
        let mut waiting = lock(&self.waiting);
        let result = change(&mut waiting);
        let waker = waiting.waker.take();
        drop(waiting);
        wake_safely(waker);
        result
    }
}

/// Where bytes for a peer are left, by anybody and without waiting
/// ([`OwnedWriteHalf::into_queue`](crate::OwnedWriteHalf::into_queue)).
///
/// Clones are the same queue. With the last one gone, the writer writes what is left, and then
/// the end of the stream. It keeps no connection and no color alive.
pub struct WriteQueue(Arc<Shared>);

impl WriteQueue {
    /// Leaves bytes to be written, behind all that were left before: all of them or none.
    ///
    /// What is left in one event, or before the writer's turn, goes in one write.
    ///
    /// # Errors
    ///
    /// [`PushError`]; what comes of it is [`WhenFull`].
    pub fn push(&self, bytes: &[u8]) -> Result<(), PushError> {
        let mut waiting = lock(&self.0.waiting);
        if waiting.phase != Phase::Open {
            return Err(PushError::Closed);
        }
        if waiting.push(bytes, self.0.limit) {
            // A writer that is at work comes here by itself.
            let is_idle = waiting.is_idle();
            let waker = is_idle.then(|| waiting.waker.take()).flatten();
            drop(waiting);
            wake_safely(waker);
            return Ok(());
        }
        waiting.shed += 1;
        if self.0.when_full == WhenFull::Close {
            let rest = waiting.cut(PushError::Full);
            let waker = waiting.waker.take();
            drop(waiting);
            drop(rest);
            wake_safely(waker);
        }
        Err(PushError::Full)
    }

    /// Like [`push`](Self::push), but where nothing waits the stream is given right away what it
    /// has room for, on this thread: the least work for one message at a time, where `push`
    /// puts several in one write.
    ///
    /// # Errors
    ///
    /// As for [`push`](Self::push). What the system says is for the writer, who ends by it.
    pub fn write(&self, bytes: &[u8]) -> Result<(), PushError> {
        let mut waiting = lock(&self.0.waiting);
        let is_next = waiting.phase == Phase::Open
            && waiting.is_idle()
            && waiting.bytes.is_empty()
            && !bytes.is_empty()
            && bytes.len() <= self.0.limit;
        let Some(stream) = is_next.then(|| waiting.stream.clone()).flatten() else {
            drop(waiting);
            return self.push(bytes);
        };
        waiting.at_once = bytes.len();
        drop(waiting);
        let (written, failed) = match stream.try_write(bytes) {
            Ok(written) => (written, None),
            Err(error) if is_later(&error) => (0, None),
            Err(error) => (0, Some(error)),
        };
        let mut waiting = lock(&self.0.waiting);
        waiting.at_once = 0;
        waiting.failed = failed;
        if !matches!(waiting.phase, Phase::Cut(_)) {
            // Before what others have left meanwhile.
            waiting.bytes.splice(..0, bytes[written..].iter().copied());
        }
        let goes_on = !waiting.bytes.is_empty() || !waiting.is_open();
        let waker = goes_on.then(|| waiting.waker.take()).flatten();
        drop(waiting);
        drop_safely(stream);
        wake_safely(waker);
        Ok(())
    }

    /// Takes no more; what waits is written, and then the end of the stream. A peer that takes
    /// nothing is not waited for for ever ([`Writing::linger`]).
    pub fn close(&self) {
        self.0.tell(|waiting| {
            if waiting.phase == Phase::Open {
                waiting.phase = Phase::Closed;
            }
        });
    }

    /// Drops what waits, and closes the connection both ways.
    pub fn abort(&self) {
        drop(self.0.tell(|waiting| waiting.cut(PushError::Closed)));
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        lock(&self.0.waiting).phase != Phase::Open
    }

    /// How many bytes wait to be written.
    pub fn unwritten(&self) -> usize {
        let waiting = lock(&self.0.waiting);
        waiting.taken + waiting.at_once + waiting.bytes.len()
    }

    /// How often there was no room.
    pub fn shed(&self) -> u64 {
        lock(&self.0.waiting).shed
    }
}

impl Clone for WriteQueue {
    fn clone(&self) -> Self {
        lock(&self.0.waiting).handles += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0.waiting);
        waiting.handles -= 1;
        let is_last = waiting.handles == 0;
        let waker = is_last.then(|| waiting.waker.take()).flatten();
        drop(waiting);
        wake_safely(waker);
    }
}

impl fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteQueue")
            .field("unwritten", &self.unwritten())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
