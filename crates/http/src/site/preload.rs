//! Loading a whole tree at start-up.

use super::open::Kind;
use super::{Lookup, Site};
use crate::date::Now;
use crate::path::SitePath;
use crate::status::Status;
use rustix::fs::{Dir, FileType};

/// How far [`Site::preload`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Directories read.
    pub directories: u64,
    /// Files now in memory.
    pub cached_files: u64,
    /// Bytes of their content.
    pub cached_bytes: u64,
    /// Files that will be streamed: too large, or past the memory limit.
    pub streamed_files: u64,
    /// Paths that cannot be shown: no permission, pipes, links that are not followed.
    pub refused: u64,
}

impl Site {
    /// Loads files into memory until the limit is reached, and reports after each directory.
    ///
    /// Links to directories are not walked through, so that the walk ends; what is behind them is
    /// loaded when it is asked for. May run beside lookups.
    ///
    /// ```
    /// # use mely_http::{DateCache, Limits, Options, Site};
    /// # use std::time::{Instant, SystemTime};
    /// # let dir = tempfile::tempdir()?;
    /// # let now = DateCache::new().at(Instant::now(), SystemTime::now());
    /// std::fs::write(dir.path().join("a.txt"), "hello")?;
    /// let site = Site::open(dir.path(), Options::default(), &Limits::default(), &now)?;
    /// let done = site.preload(&now, |progress| eprintln!("{} files", progress.cached_files));
    /// assert_eq!((done.cached_files, done.cached_bytes), (1, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preload(&self, now: &Now, mut report: impl FnMut(Progress)) -> Progress {
        let mut progress = Progress::default();
        let mut directories = vec![SitePath::file(Vec::new())];
        while let Some(directory) = directories.pop() {
            match self.entries(&directory) {
                Ok(names) => {
                    progress.directories += 1;
                    for (name, kind) in names {
                        self.visit(
                            directory.join(&name),
                            kind,
                            now,
                            &mut progress,
                            &mut directories,
                        );
                    }
                }
                Err(_) => progress.refused += 1,
            }
            report(progress);
        }
        progress
    }

    fn visit(
        &self,
        path: SitePath,
        kind: FileType,
        now: &Now,
        progress: &mut Progress,
        directories: &mut Vec<SitePath>,
    ) {
        if kind == FileType::Directory {
            return directories.push(path);
        }
        match self.root.open_below(&path) {
            Ok(opened) if opened.kind == Kind::File => match self.file(None, &path, opened, now) {
                Lookup::Cached(entry) => {
                    progress.cached_files += 1;
                    progress.cached_bytes += entry.content().len() as u64;
                }
                Lookup::File(_) => progress.streamed_files += 1,
                _ => progress.refused += 1,
            },
            // Some file systems do not tell kinds while listing.
            Ok(opened) if opened.kind == Kind::Directory => {
                if kind == FileType::Unknown {
                    directories.push(path);
                }
            }
            Ok(_) | Err(_) => progress.refused += 1,
        }
    }

    fn entries(&self, directory: &SitePath) -> Result<Vec<(Vec<u8>, FileType)>, Status> {
        let opened = self.root.open_below(directory)?;
        let failed = |_| Status::InternalServerError;
        let mut names = Vec::new();
        for entry in Dir::read_from(&opened.file).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            let hidden = name.starts_with(b".") && !self.options.dotfiles;
            if !hidden && name != b"." && name != b".." {
                names.push((name.to_vec(), entry.file_type()));
            }
        }
        Ok(names)
    }
}
