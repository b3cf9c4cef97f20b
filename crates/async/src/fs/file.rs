//! An open file: at most one operation of it is under way, and belongs to the file and not to
//! the future that waits for it. So what is read is not lost with a future that is dropped.

use std::fs::{Metadata, OpenOptions};
use std::future::poll_fn;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{cmp, fmt};

use super::operation::{Ongoing, Operation, Settled};
use crate::blocking::spawn_blocking;

/// How many bytes of a [`File`] are read or written at a time, at the most, and so are in memory
/// besides what the program has. The way to a thread and back takes as long as some hundred KiB
/// of a file that the system has in memory.
pub const CHUNK_MAX: usize = 1024 * 1024;

/// A file, open for futures under any color and in any async runtime.
///
/// Each operation runs on a thread of the [shared pool](crate::BlockingPool::shared), and moves
/// at most [`CHUNK_MAX`] bytes: a future that reads a large file lets others in between. Reads
/// of a few bytes are as dear as large ones: buffer them.
///
/// With the features `futures-io` and `tokio` it has their traits for reading, writing and
/// seeking. Through these writes are told as done once they are on their way, and the next
/// operation tells what has failed: flush, or lose that. The methods here tell the truth.
///
/// ```
/// use mely_async::fs::File;
/// use std::io::SeekFrom;
/// let folder = tempfile::tempdir()?;
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let path = folder.path().join("digits");
/// let read = rt.new_color().spawn(async move {
///     let options = std::fs::OpenOptions::new().read(true).write(true).create(true).clone();
///     let mut file = File::open_with(options, path).await?;
///     file.write_all(b"0123456789").await?;
///     file.seek(SeekFrom::Start(4)).await?;
///     let mut bytes = [0; 3];
///     file.read_exact(&mut bytes).await?;
///     Ok::<_, std::io::Error>(bytes)
/// });
/// assert_eq!(&read.wait()??, b"456");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Where nothing else is said: what the system says, and what a write through the traits has
/// left to say; a [`BlockingError`](crate::BlockingError) inside, where there is no thread.
pub struct File {
    operation: Operation,
    file: Arc<std::fs::File>,
    /// What was read, and nobody has taken: the system's position is behind it. Kept until that
    /// has moved, which may fail.
    unread: Vec<u8>,
    /// How much of it has been taken.
    taken: usize,
    /// Where the last seek led.
    position: u64,
}

impl File {
    /// Opens a file to read it.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_with(OpenOptions::new().read(true).clone(), path).await
    }

    /// Opens a file to write it: a new one, or one that becomes empty.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let options = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .clone();
        Self::open_with(options, path).await
    }

    /// Opens a file as the options say.
    pub async fn open_with(options: OpenOptions, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let file = spawn_blocking(move || options.open(path)).await??;
        Ok(Self::from_std(file))
    }

    /// Takes an open file over, as it is.
    pub fn from_std(file: std::fs::File) -> Self {
        Self {
            operation: Operation::default(),
            file: Arc::new(file),
            unread: Vec::new(),
            taken: 0,
            position: 0,
        }
    }

    /// Gives the file back, at its position, once nothing is under way; fails where bytes that
    /// a dropped read has left would be lost, as the file has no position.
    pub async fn into_std(mut self) -> io::Result<std::fs::File> {
        self.settle().await?;
        let file = self.file;
        // Whoever is in `with_std` and was dropped may still have it.
        Arc::try_unwrap(file).or_else(|file| file.try_clone())
    }

    /// Reads what there is, as much as there is room for; 0 at the end of the file, or for no
    /// room. Nothing is lost where the future is dropped.
    pub async fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, bytes)).await
    }

    /// Reads until all of `bytes` is filled. What was read before an error, or before the
    /// future is dropped, is gone.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), besides.
    pub async fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read(&mut bytes[filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// Writes bytes, up to [`CHUNK_MAX`] of them: they are with the system then. Where the
    /// future is dropped they may be, or may come to be.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
        poll_fn(|cx| self.poll_flush(cx)).await?;
        Ok(count)
    }

    /// Writes all of `bytes`. How much was written before an error, or before the future is
    /// dropped, is not known.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = &bytes[count..];
        }
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Goes to another place, and tells where that is.
    pub async fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        poll_fn(|cx| self.poll_seek(cx, to)).await
    }

    /// Waits until what was written is on the disk, as far as the disk tells.
    pub async fn sync_all(&mut self) -> io::Result<()> {
        self.with_std(std::fs::File::sync_all).await
    }

    /// The same, of the bytes alone, and not of what the system knows besides.
    pub async fn sync_data(&mut self) -> io::Result<()> {
        self.with_std(std::fs::File::sync_data).await
    }

    /// Cuts the file off, or fills it up with zeros.
    pub async fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.with_std(move |file| file.set_len(bytes)).await
    }

    /// What the system knows of the file.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let file = Arc::clone(&self.file);
        spawn_blocking(move || file.metadata()).await?
    }

    /// Does something else with it on a thread of the pool, when all that was written is
    /// written, and at the position of this file.
    ///
    /// ```
    /// # use mely_async::fs::File;
    /// # let rt = mely::Runtime::builder().workers(1).build()?;
    /// # let file = tempfile::tempfile()?;
    /// let locked = rt.new_color().spawn(async move {
    ///     let mut file = File::from_std(file);
    ///     file.with_std(|file| file.set_permissions(file.metadata()?.permissions())).await
    /// });
    /// locked.wait()??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn with_std<R, F>(&mut self, call: F) -> io::Result<R>
    where
        R: Send + 'static,
        F: FnOnce(&std::fs::File) -> io::Result<R> + Send + 'static,
    {
        match self.settle().await {
            // There is no position: what was read ahead is still to be read.
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => {}
            settled => settled?,
        }
        let file = Arc::clone(&self.file);
        spawn_blocking(move || call(&file)).await?
    }

    /// Ends what is under way, and what was read ahead is read by nobody.
    async fn settle(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await?;
        if self.ahead() > 0 {
            self.seek(SeekFrom::Current(0)).await?;
        }
        Ok(())
    }

    /// How much was read, and is not taken.
    fn ahead(&self) -> i64 {
        // It is no more than one chunk.
        (self.unread.len() - self.taken) as i64
    }

    fn start<F>(&mut self, is_write: bool, work: F)
    where
        F: FnOnce(&std::fs::File) -> (Settled, Option<Vec<u8>>) + Send + 'static,
    {
        let file = Arc::clone(&self.file);
        let blocking = spawn_blocking(move || work(&file));
        self.operation.0 = Some(Ongoing { is_write, blocking });
    }

    /// Waits for what is under way: what became of it; `None` if there is nothing.
    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Option<Settled>> {
        let Some(ongoing) = &mut self.operation.0 else {
            return Poll::Ready(None);
        };
        let outcome = ready!(Pin::new(&mut ongoing.blocking).poll(cx));
        self.operation.0 = None;
        Poll::Ready(Some(match outcome {
            Ok((settled, unread)) => {
                if let Some(unread) = unread {
                    (self.unread, self.taken) = (unread, 0);
                }
                if let Settled::Sought(_, Ok(position)) = settled {
                    self.position = position;
                }
                settled
            }
            Err(error) => Settled::Failed(error.into()),
        }))
    }

    /// Polls for what [`read`](Self::read) gives: the last waker counts.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let unread = &self.unread[self.taken..];
            // Behind what is under way it may be of no use any more.
            if !unread.is_empty() && self.operation.0.is_none() {
                let count = cmp::min(unread.len(), bytes.len());
                bytes[..count].copy_from_slice(&unread[..count]);
                self.taken += count;
                if self.ahead() == 0 {
                    // An open file that rests takes no memory.
                    (self.unread, self.taken) = (Vec::new(), 0);
                }
                return Poll::Ready(Ok(count));
            }
            match ready!(self.poll_settled(cx)) {
                None if bytes.is_empty() => return Poll::Ready(Ok(0)),
                None => self.start_read(cmp::min(bytes.len(), CHUNK_MAX)),
                Some(Settled::Read(Ok(0))) => return Poll::Ready(Ok(0)),
                Some(Settled::Read(Err(error)) | Settled::Wrote(Err(error))) => {
                    return Poll::Ready(Err(error));
                }
                Some(Settled::Failed(error)) => return Poll::Ready(Err(error)),
                Some(_) => {}
            }
        }
    }

    fn start_read(&mut self, room: usize) {
        self.start(false, move |file| {
            let mut bytes = Vec::with_capacity(room);
            let count = loop {
                match rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes)) {
                    Err(rustix::io::Errno::INTR) => {}
                    read => break read.map_err(io::Error::from),
                }
            };
            (Settled::Read(count), Some(bytes))
        });
    }

    /// Polls for room, and starts to write up to [`CHUNK_MAX`] bytes: they are not written yet.
    /// The next operation tells if that fails.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        let bytes = bytes[..cmp::min(bytes.len(), CHUNK_MAX)].to_vec();
        let (count, ahead) = (bytes.len(), self.ahead());
        if count > 0 {
            self.start(true, move |mut file| {
                let stepped = step_back(file, ahead);
                let unread = matches!(stepped, Ok(true)).then(Vec::new);
                let wrote = stepped.and_then(|_| file.write_all(&bytes));
                (Settled::Wrote(wrote), unread)
            });
        }
        Poll::Ready(Ok(count))
    }

    /// Waits until what was written is with the system.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match ready!(self.poll_settled(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Settled::Wrote(wrote)) => return Poll::Ready(wrote),
                Some(Settled::Failed(error)) => return Poll::Ready(Err(error)),
                // Whoever wanted to know it does not ask any more.
                Some(Settled::Read(_) | Settled::Sought(..)) => {}
            }
        }
    }

    /// Polls for what [`seek`](Self::seek) gives.
    pub fn poll_seek(&mut self, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        loop {
            match ready!(self.poll_settled(cx)) {
                None => self.start_seek(to),
                Some(Settled::Sought(went, sought)) if went == to => return Poll::Ready(sought),
                Some(Settled::Wrote(Err(error)) | Settled::Failed(error)) => {
                    return Poll::Ready(Err(error));
                }
                Some(_) => {}
            }
        }
    }

    /// Starts to go there; nothing else is under way.
    pub(crate) fn start_seek(&mut self, to: SeekFrom) {
        let ahead = self.ahead();
        let there = match to {
            SeekFrom::Current(by) => SeekFrom::Current(by.saturating_sub(ahead)),
            elsewhere => elsewhere,
        };
        self.start(false, move |mut file| {
            let sought = file.seek(there);
            let unread = sought.is_ok().then(Vec::new);
            (Settled::Sought(to, sought), unread)
        });
    }

    /// Waits for what is under way, and for a seek if that is it.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match ready!(self.poll_settled(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Settled::Sought(_, sought)) => return Poll::Ready(sought.map(drop)),
                Some(Settled::Wrote(Err(error)) | Settled::Failed(error)) => {
                    return Poll::Ready(Err(error));
                }
                Some(Settled::Wrote(Ok(())) | Settled::Read(_)) => {}
            }
        }
    }

    /// Whether nothing is under way.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_idle(&self) -> bool {
        self.operation.0.is_none()
    }

    /// Where the last seek led.
    #[cfg(feature = "tokio")]
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}

/// Goes back over what was read ahead, where there is a position: whether there is one.
fn step_back(mut file: &std::fs::File, ahead: i64) -> io::Result<bool> {
    if ahead == 0 {
        return Ok(true);
    }
    match file.seek(SeekFrom::Current(-ahead)) {
        Err(error) if error.kind() == io::ErrorKind::NotSeekable => Ok(false),
        sought => sought.map(|_| true),
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}
