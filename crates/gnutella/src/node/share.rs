//! The files of a directory.

use super::error::NodeError;
use crate::files::FileIndex;
use crate::limits::Limits;
use crate::urn::Sha1Urn;
use rustix::fs::OFlags;
use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much is read at a time to be hashed.
const CHUNK_BYTES: usize = 256 * 1024;

/// Directories within directories that are looked into.
const DEPTH_MAX: usize = 32;

/// What a node shares: files, their names and the names of their content. It stays as it is: what
/// changes on the disk later is not sent any more.
///
/// ```
/// use mely_gnutella::{Limits, node::Share};
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("free song.ogg"), "la la la")?;
/// let share = Share::open(folder.path(), &Limits::default(), |_name| ())?;
/// let file = share.index().iter().next().expect("there is one");
/// assert_eq!((file.name(), file.bytes()), ("free song.ogg", 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Share {
    index: FileIndex,
    paths: HashMap<u32, PathBuf>,
}

impl Share {
    /// Nothing.
    ///
    /// ```
    /// use mely_gnutella::{Limits, node::Share};
    /// assert_eq!(Share::empty(&Limits::default()).index().counts(), (0, 0));
    /// ```
    pub fn empty(limits: &Limits) -> Self {
        Self {
            index: FileIndex::new(limits),
            paths: HashMap::new(),
        }
    }

    /// All files in a directory and those within. Each is read to its end, which takes its time:
    /// `before` is told of each before that.
    ///
    /// Symbolic links are not followed, and what begins with a dot is passed over; so is a name that
    /// cannot go over the wire, and a file that cannot be read.
    ///
    /// # Errors
    /// [`NodeError::Share`], if the directory itself cannot be read.
    pub fn open(
        folder: &Path,
        limits: &Limits,
        mut before: impl FnMut(&str),
    ) -> Result<Self, NodeError> {
        let failed = |source| NodeError::Share {
            path: folder.to_owned(),
            source,
        };
        let mut share = Self::empty(limits);
        let mut folders = vec![(folder.to_owned(), 0)];
        while let Some((next, depth)) = folders.pop() {
            let entries = match std::fs::read_dir(&next) {
                Ok(entries) => entries,
                Err(error) if depth == 0 => return Err(failed(error)),
                Err(_) => continue,
            };
            let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort_unstable();
            for path in paths {
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                    continue;
                };
                let Ok(kind) = path.symlink_metadata() else {
                    continue;
                };
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() && depth < DEPTH_MAX {
                    folders.push((path, depth + 1));
                } else if kind.is_file() {
                    before(name);
                    share.add(name, &path);
                }
            }
        }
        Ok(share)
    }

    /// The files.
    pub fn index(&self) -> &FileIndex {
        &self.index
    }

    /// A file by its number, if it is still there, and as long as it was. No name of a peer's
    /// becomes a path.
    pub(super) fn reopen(&self, index: u32) -> io::Result<File> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let path = self.paths.get(&index).ok_or_else(gone)?;
        let bytes = self.index.get(index).ok_or_else(gone)?.bytes();
        let file = open(path)?;
        match file.metadata()? {
            now if now.is_file() && now.len() == bytes => Ok(file),
            _ => Err(gone()),
        }
    }

    fn add(&mut self, name: &str, path: &Path) {
        let hashed = open(path).and_then(hash);
        let added = hashed.map(|(bytes, sha1)| self.index.add(name, bytes, Some(sha1)));
        if let Ok(Ok(index)) = added {
            self.paths.insert(index, path.to_owned());
        }
    }
}

/// Opens what is a file, and no link to one.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    File::options()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

fn hash(mut file: File) -> io::Result<(u64, Sha1Urn)> {
    let (mut chunk, mut bytes, mut hash) = (vec![0; CHUNK_BYTES], 0, Sha1::new());
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((bytes, Sha1Urn(hash.finalize().into()))),
            count => {
                bytes += count as u64;
                hash.update(&chunk[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_hidden_files_are_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("in")).unwrap();
        std::fs::write(path("in/inner.txt"), "x").unwrap();
        std::fs::write(path(".hidden"), "x").unwrap();
        std::fs::write(path("a\nb"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), path("link")).unwrap();
        std::os::unix::fs::symlink("/", path("root")).unwrap();
        let share = Share::open(folder.path(), &Limits::default(), |_| ()).unwrap();
        let names: Vec<_> = share.index().iter().map(|file| file.name()).collect();
        assert_eq!(names, ["inner.txt"]);
    }

    #[test]
    fn a_file_that_changed_is_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        let share = Share::open(folder.path(), &Limits::default(), |_| ()).unwrap();
        let empty = "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".parse().unwrap();
        assert_eq!(share.index().get(1).unwrap().sha1(), Some(empty));
        assert!(share.reopen(1).is_ok());
        std::fs::write(&path, "longer").unwrap();
        assert!(share.reopen(1).is_err());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(share.reopen(1).is_err() && share.reopen(2).is_err());
    }
}
