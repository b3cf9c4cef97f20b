//! Files, for futures: read and written on the threads of the
//! [shared pool](crate::BlockingPool::shared), as a disk may let one wait.
//!
//! ```
//! use mely_async::fs;
//! let folder = tempfile::tempdir()?;
//! let rt = mely::Runtime::builder().workers(1).build()?;
//! let path = folder.path().join("greetings");
//! let written = rt.new_color().spawn(async move {
//!     fs::create_dir_all(&path).await?;
//!     fs::write(path.join("de"), "guten Tag").await?;
//!     fs::rename(path.join("de"), path.join("german")).await?;
//!     let mut entries = fs::read_dir(&path).await?;
//!     while let Some(entry) = entries.next().await? {
//!         assert_eq!(entry.file_name(), "german");
//!         assert_eq!(entry.metadata().await?.len(), 9);
//!     }
//!     fs::read_to_string(path.join("german")).await
//! });
//! assert_eq!(written.wait()??, "guten Tag");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here reads a file whole but [`read`] and [`read_to_string`]: whoever serves files
//! of any size reads parts of a [`File`], of at most [`CHUNK_MAX`] at a time. What is not here
//! is a line of [`spawn_blocking`](crate::spawn_blocking) with [`std::fs`], or of
//! [`File::with_std`].
//!
//! A future that is dropped takes back what has not begun. What has begun goes on: a file may
//! have been renamed though nobody waited for that.
//!
//! # Errors
//!
//! What the system says; a [`BlockingError`](crate::BlockingError) inside, where there is no
//! thread.

mod dir;
mod file;
mod operation;

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use self::dir::{DirEntry, ReadDir, read_dir};
pub use self::file::{CHUNK_MAX, File};
use crate::blocking::spawn_blocking;

/// How much of a file that is read whole one closure reads, which nobody can interrupt.
const STEP_BYTES: u64 = CHUNK_MAX as u64;

macro_rules! on_paths {
    ($($(#[$doc:meta])* $name:ident($($path:ident),+) -> $result:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// See [the module](self).
        pub async fn $name($($path: impl AsRef<Path>),+) -> io::Result<$result> {
            $(let $path = $path.as_ref().to_owned();)+
            spawn_blocking(move || std::fs::$name($($path),+)).await?
        }
    )*};
}

on_paths! {
    /// What the system knows of a file: [`std::fs::metadata`].
    metadata(path) -> Metadata;
    /// The same, of a symbolic link itself: [`std::fs::symlink_metadata`].
    symlink_metadata(path) -> Metadata;
    /// Whether there is something: [`std::fs::exists`].
    exists(path) -> bool;
    /// The absolute path, without symbolic links: [`std::fs::canonicalize`].
    canonicalize(path) -> PathBuf;
    /// Makes a directory: [`std::fs::create_dir`].
    create_dir(path) -> ();
    /// Makes a directory, and those above it: [`std::fs::create_dir_all`].
    create_dir_all(path) -> ();
    /// Removes a file: [`std::fs::remove_file`].
    remove_file(path) -> ();
    /// Removes an empty directory: [`std::fs::remove_dir`].
    remove_dir(path) -> ();
    /// Removes a directory with all that is in it: [`std::fs::remove_dir_all`].
    remove_dir_all(path) -> ();
    /// Renames a file, in the place of one that is there: [`std::fs::rename`].
    rename(from, to) -> ();
    /// Copies a file, and tells its length: [`std::fs::copy`].
    copy(from, to) -> u64;
}

/// A file that is being read to its end.
struct Reading {
    file: std::fs::File,
    bytes: Vec<u8>,
    is_over: bool,
}

impl Reading {
    fn begin(path: &Path) -> io::Result<Self> {
        let file = std::fs::File::open(path)?;
        let mut bytes = Vec::new();
        // What it is said to have; one that has no size, or grows, is read to its end as well.
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
        Self {
            file,
            bytes,
            is_over: false,
        }
        .go_on()
    }

    fn go_on(mut self) -> io::Result<Self> {
        let mut step = (&self.file).take(STEP_BYTES);
        step.read_to_end(&mut self.bytes)?;
        self.is_over = step.limit() > 0;
        Ok(self)
    }
}

/// Reads a file whole, into memory, and in steps of 1 MiB: dropped, it ends with the present
/// one.
///
/// # Errors
///
/// See [the module](self).
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    let mut reading = spawn_blocking(move || Reading::begin(&path)).await??;
    while !reading.is_over {
        reading = spawn_blocking(move || reading.go_on()).await??;
    }
    Ok(reading.bytes)
}

/// The same, of text.
///
/// # Errors
///
/// See [the module](self); [`InvalidData`](io::ErrorKind::InvalidData) where it is not UTF-8.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read(path).await?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Makes a file of these bytes, or in the place of the one that is there.
///
/// # Errors
///
/// See [the module](self).
pub async fn write<B>(path: impl AsRef<Path>, bytes: B) -> io::Result<()>
where
    B: AsRef<[u8]> + Send + 'static,
{
    let path = path.as_ref().to_owned();
    spawn_blocking(move || std::fs::write(path, bytes)).await?
}
