//! What is in a directory.

use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{fmt, vec};

use crate::blocking::{Blocking, spawn_blocking};

/// How many entries are read at once: the system's own reading brings some hundreds.
const ENTRIES_MAX: usize = 256;

/// Some entries, and the directory if there may be more.
type Part = (Vec<io::Result<std::fs::DirEntry>>, Option<std::fs::ReadDir>);

/// The entries of a directory ([`read_dir`]), read some at a time.
pub struct ReadDir {
    read: vec::IntoIter<io::Result<std::fs::DirEntry>>,
    rest: Option<std::fs::ReadDir>,
    ongoing: Option<Blocking<Part>>,
}

/// The entries of a directory, as [`std::fs::read_dir`] has them.
///
/// # Errors
///
/// See [the module](super).
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let begin = move || std::fs::read_dir(path).map(read_some);
    let (read, rest) = spawn_blocking(begin).await??;
    Ok(ReadDir {
        read: read.into_iter(),
        rest,
        ongoing: None,
    })
}

fn read_some(mut directory: std::fs::ReadDir) -> Part {
    let entries: Vec<_> = directory.by_ref().take(ENTRIES_MAX).collect();
    let may_have_more = entries.len() == ENTRIES_MAX;
    (entries, may_have_more.then_some(directory))
}

impl ReadDir {
    /// The next entry; `None` after the last. Nothing is lost where the future is dropped.
    ///
    /// # Errors
    ///
    /// See [the module](super).
    pub async fn next(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for what [`next`](Self::next) gives.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            if let Some(entry) = self.read.next() {
                return Poll::Ready(entry.map(|entry| Some(DirEntry(Arc::new(entry)))));
            }
            if let Some(rest) = self.rest.take() {
                self.ongoing = Some(spawn_blocking(move || read_some(rest)));
            }
            let Some(ongoing) = &mut self.ongoing else {
                return Poll::Ready(Ok(None));
            };
            let some = ready!(Pin::new(ongoing).poll(cx));
            self.ongoing = None;
            let (read, rest) = some?;
            (self.read, self.rest) = (read.into_iter(), rest);
        }
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadDir").finish_non_exhaustive()
    }
}

/// An entry of a directory ([`ReadDir::next`]).
#[derive(Clone, Debug)]
pub struct DirEntry(Arc<std::fs::DirEntry>);

impl DirEntry {
    /// The path that was read, and the name.
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// The name alone.
    pub fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    /// What the system knows of it: of a symbolic link, the link itself.
    ///
    /// # Errors
    ///
    /// See [the module](super).
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let entry = Arc::clone(&self.0);
        spawn_blocking(move || entry.metadata()).await?
    }

    /// Whether it is a file, a directory or a link.
    ///
    /// # Errors
    ///
    /// See [the module](super).
    pub async fn file_type(&self) -> io::Result<FileType> {
        let entry = Arc::clone(&self.0);
        spawn_blocking(move || entry.file_type()).await?
    }
}
