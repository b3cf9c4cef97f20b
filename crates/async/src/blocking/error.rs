//! Why a closure that may block gave nothing.

use std::{fmt, io};

/// Why there is no result of a closure that was to run on a [`BlockingPool`](crate::BlockingPool).
///
/// ```
/// use mely_async::{BlockingError, spawn_blocking};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let failed = rt.new_color().spawn(spawn_blocking(|| -> u32 { panic!("no disk") }));
/// assert_eq!(failed.wait()?, Err(BlockingError::Panicked("no disk".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockingError {
    /// The pool has ended, and the closure was dropped unrun; or its result was taken before.
    Ended,
    /// The closure panicked, with this message.
    Panicked(Box<str>),
    /// The pool has no thread, and the system starts none.
    NoThread(io::ErrorKind),
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str(
                "the closure was dropped before it ran, as its pool has ended; or its result was \
                 taken before",
            ),
            Self::Panicked(message) => write!(f, "the closure panicked: {message}"),
            Self::NoThread(kind) => write!(f, "the system starts no thread for the pool: {kind}"),
        }
    }
}

impl std::error::Error for BlockingError {}

impl From<BlockingError> for io::Error {
    fn from(error: BlockingError) -> Self {
        let kind = match error {
            BlockingError::NoThread(kind) => kind,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Why a closure was not taken by a [`BlockingPool`](crate::BlockingPool); it is given back.
///
/// ```
/// use mely_async::{BlockingOptions, BlockingPool, BlockingRefused};
/// use std::sync::mpsc::channel;
/// let pool = BlockingPool::new(BlockingOptions::new().threads_max(1).queue_max(1));
/// let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
/// let holds = pool.try_spawn(move || begin.send(()).and_then(|()| Ok(ended.recv())));
/// begun.recv()?; // it has the only thread
/// let waits = pool.try_spawn(|| ()).map_err(|_| "there is room for one")?;
/// let refused = pool.try_spawn(|| 7).unwrap_err();
/// assert!(matches!(refused, BlockingRefused::Full(_)));
/// assert_eq!(refused.into_closure()(), 7);
/// # drop((end, holds, waits));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub enum BlockingRefused<F> {
    /// As many wait for a thread as may, or others wait for room. Try again later, await it by
    /// [`spawn`](crate::BlockingPool::spawn), or do without.
    Full(F),
    /// The pool has ended.
    Ended(F),
    /// The pool has no thread, and the system starts none, as it says.
    NoThread(F, io::Error),
}

impl<F> BlockingRefused<F> {
    /// The closure that was refused.
    pub fn into_closure(self) -> F {
        match self {
            Self::Full(closure) | Self::Ended(closure) | Self::NoThread(closure, _) => closure,
        }
    }
}

impl<F> fmt::Debug for BlockingRefused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.debug_tuple("Full").finish_non_exhaustive(),
            Self::Ended(_) => f.debug_tuple("Ended").finish_non_exhaustive(),
            Self::NoThread(_, error) => f
                .debug_tuple("NoThread")
                .field(error)
                .finish_non_exhaustive(),
        }
    }
}

impl<F> fmt::Display for BlockingRefused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => {
                f.write_str("the pool is full: as many closures wait for a thread as may")
            }
            Self::Ended(_) => f.write_str("the pool has ended: it takes no more closures"),
            Self::NoThread(_, error) => {
                write!(f, "the system starts no thread for the pool: {error}")
            }
        }
    }
}

impl<F> std::error::Error for BlockingRefused<F> {}
