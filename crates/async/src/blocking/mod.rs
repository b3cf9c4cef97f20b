//! Closures that may block, on threads of their own.

mod error;
mod future;
mod threads;

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mely::BudgetError;

pub use self::error::{BlockingError, BlockingRefused};
pub use self::future::Blocking;
use self::future::Work;
use self::threads::{Refusal, Threads};
use crate::wake::drop_safely;

/// Bounds of a [`BlockingPool`].
///
/// ```
/// use mely_async::{BlockingOptions, BlockingPool};
/// use std::time::Duration;
/// let options = BlockingOptions::new()
///     .threads_max(2)
///     .queue_max(16)
///     .keep_alive(Duration::from_millis(100));
/// let pool = BlockingPool::new(options);
/// assert_eq!((pool.threads(), pool.queued()), (0, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockingOptions {
    threads_max: usize,
    queue_max: usize,
    keep_alive: Duration,
}

impl BlockingOptions {
    /// How many threads there may be, where nothing else is said. A disk wants some tens of
    /// requests at a time.
    pub const THREADS_MAX: usize = 64;

    /// How many closures may wait for a thread, where nothing else is said: some milliseconds
    /// of what 64 threads read from a disk.
    pub const QUEUE_MAX: usize = 1024;

    /// How long a thread waits for more, where nothing else is said. It takes some 20 KB
    /// meanwhile, and to start another one twice as long as to wake it.
    pub const KEEP_ALIVE: Duration = Duration::from_secs(10);

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most so many threads, and at least one. They are started when they are needed.
    #[must_use]
    pub fn threads_max(mut self, threads: usize) -> Self {
        self.threads_max = threads.max(1);
        self
    }

    /// At most so many closures that wait for a thread, and at least one.
    #[must_use]
    pub fn queue_max(mut self, closures: usize) -> Self {
        self.queue_max = closures.max(1);
        self
    }

    /// A thread ends when it has had nothing to do for so long.
    #[must_use]
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = time;
        self
    }
}

impl Default for BlockingOptions {
    fn default() -> Self {
        Self {
            threads_max: Self::THREADS_MAX,
            queue_max: Self::QUEUE_MAX,
            keep_alive: Self::KEEP_ALIVE,
        }
    }
}

/// Threads for closures that block: that read files, ask a database, or compute for long.
///
/// Inside of a color they would hold a worker up. Here they run beside the workers, and a
/// [`Blocking`] brings the result back to whoever awaits it. There are never more threads and
/// waiting closures than [`BlockingOptions`] says; who comes while the queue is full waits for
/// room, in turn, or is refused. Closures begin in the order in which they were queued.
///
/// Most programs use the one that all share, by [`spawn_blocking`]. One of your own keeps what
/// may be slow from what must not wait for it: what blocks for seconds, or computes, and wants
/// no more threads than there are cores.
///
/// # Its end
///
/// A pool ends with its last handle: what it has queued is dropped unrun, what runs goes on, and
/// the threads end by themselves. Nobody waits for them. Kept in the state of a color it ends
/// with the runtime at the latest. The shared one lives as long as the process, whose end waits
/// for none of its threads either: a closure that must be done by then has to be awaited.
///
/// Whatever pool it is, what the tasks of a runtime have queued is taken back when the runtime
/// drops them: see [`Blocking`].
///
/// # Beware
///
/// * A closure that waits for another one of the same pool may wait for ever, if it has the
///   last thread.
/// * After `fork`, a child has none of the threads, and locks of the pool may be held in it for
///   ever. Like the runtime itself, a pool is of no use there: `exec` first. (What
///   [`std::process`] starts is safe.)
#[derive(Clone)]
pub struct BlockingPool(Arc<Owner>);

/// The pool, for those who may queue something.
struct Owner(Arc<Threads>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.end();
    }
}

static SHARED: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::new(BlockingOptions::new()));

impl BlockingPool {
    /// A pool of its own. It has no thread yet.
    pub fn new(options: BlockingOptions) -> Self {
        Self(Arc::new(Owner(Threads::new(options))))
    }

    /// The pool that the whole process shares: that of [`spawn_blocking`] and
    /// [`fs`](crate::fs).
    ///
    /// ```
    /// use mely_async::{BlockingOptions, BlockingPool};
    /// BlockingPool::shared().set_options(BlockingOptions::new().threads_max(8));
    /// ```
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Other bounds, from now on. Nothing that is queued is dropped for that, and a thread too
    /// many ends after what it does.
    pub fn set_options(&self, options: BlockingOptions) {
        self.threads_ref().set_options(options);
    }

    /// Runs a closure on a thread of the pool. It is queued at once, if there is room; if not,
    /// when the future is polled and its turn comes.
    ///
    /// ```
    /// use mely_async::{BlockingOptions, BlockingPool};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let pool = BlockingPool::new(BlockingOptions::new().threads_max(2));
    /// let sum = rt.new_color().spawn(async move {
    ///     pool.spawn(|| (1..=1_000_000_u64).sum::<u64>()).await
    /// });
    /// assert_eq!(sum.wait()??, 500_000_500_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<R, F>(&self, closure: F) -> Blocking<R>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let threads = self.threads_ref();
        let room = threads.room().try_take(1);
        let (job, mut blocking) = Work::new(closure).start(threads);
        match room {
            Ok(room) => match threads.place() {
                Ok(place) => blocking.placed(place.put(job, Some(room))),
                Err(refusal) => {
                    blocking.refused(refusal);
                    drop_safely(job);
                }
            },
            Err(_) => blocking.waits(threads.room().take(1), job),
        }
        blocking
    }

    /// Queues a closure, or gives it back.
    ///
    /// # Errors
    ///
    /// [`BlockingRefused::Full`] if as many wait as may, or if others wait for room.
    pub fn try_spawn<R, F>(&self, closure: F) -> Result<Blocking<R>, BlockingRefused<F>>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let threads = self.threads_ref();
        let room = match threads.room().try_take(1) {
            Ok(room) => room,
            Err(BudgetError::Full { .. }) => return Err(BlockingRefused::Full(closure)),
            Err(_) => return Err(BlockingRefused::Ended(closure)),
        };
        let place = match threads.place() {
            Ok(place) => place,
            Err(Refusal::Ended) => return Err(BlockingRefused::Ended(closure)),
            Err(Refusal::NoThread(error)) => {
                return Err(BlockingRefused::NoThread(closure, error));
            }
        };
        let (job, mut blocking) = Work::new(closure).start(threads);
        blocking.placed(place.put(job, Some(room)));
        Ok(blocking)
    }

    /// How many threads it has: at work, or waiting for more.
    pub fn threads(&self) -> usize {
        self.threads_ref().count()
    }

    /// How many closures wait for a thread.
    pub fn queued(&self) -> usize {
        self.threads_ref().queued()
    }

    fn threads_ref(&self) -> &Arc<Threads> {
        &self.0.0
    }
}

impl fmt::Debug for BlockingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingPool")
            .field("threads", &self.threads())
            .field("queued", &self.queued())
            .finish_non_exhaustive()
    }
}

/// Runs a closure that may block on a thread of the [shared pool](BlockingPool::shared).
///
/// ```
/// use mely_async::spawn_blocking;
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let host = rt.colored(String::new());
/// let named = host.spawn_with(async |mut own: mely::TaskState<String>| {
///     // Other events of the color run meanwhile.
///     let name = spawn_blocking(|| std::fs::read_to_string("/proc/sys/kernel/hostname")).await??;
///     own.with(|host| *host = name);
///     Ok::<_, std::io::Error>(())
/// });
/// named.wait()??;
/// # assert!(!host.blocking_with(|host| host.is_empty()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spawn_blocking<R, F>(closure: F) -> Blocking<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    BlockingPool::shared().spawn(closure)
}

/// The same, or gives the closure back if the pool is full.
///
/// ```
/// use mely_async::{BlockingRefused, try_spawn_blocking};
/// match try_spawn_blocking(|| std::fs::metadata("/")) {
///     Ok(metadata) => drop(metadata), // to be awaited
///     Err(BlockingRefused::Full(_later)) => {}
///     Err(refused) => return Err(refused.to_string()),
/// }
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// As for [`BlockingPool::try_spawn`].
pub fn try_spawn_blocking<R, F>(closure: F) -> Result<Blocking<R>, BlockingRefused<F>>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    BlockingPool::shared().try_spawn(closure)
}
