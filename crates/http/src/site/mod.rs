//! The files below one directory: the only part of the protocol that touches the file system.

mod budget;
mod entry;
mod error;
mod known;
mod listing;
mod open;
mod preload;
mod table;

pub use entry::{Entry, FileEntry};
pub use error::SiteError;
pub use preload::Progress;

use crate::date::Now;
use crate::limits::Limits;
use crate::path::{PathError, SitePath};
use crate::status::Status;
use budget::Budget;
use entry::Loaded;
use known::Known;
use open::{Kind, Opened, Root};
use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use table::Table;

/// Longest spelling of a request path that is remembered, in bytes.
const TARGET_BYTES: usize = 256;

/// Which symbolic links a site follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FollowSymlinks {
    /// None: a path with a link in it is 403.
    No,
    /// Relative links that stay below the root at every step; others are 403. Without `openat2`
    /// (Linux before 5.6, or a sandbox that forbids it), none.
    #[default]
    InsideRoot,
    /// All of them, wherever they lead.
    Anywhere,
}

/// What a site shows, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which symbolic links are followed (those inside the root).
    pub follow_symlinks: FollowSymlinks,
    /// Whether names that begin with a dot exist (no).
    pub dotfiles: bool,
    /// Names looked for in a directory, in this order (`index.html`, `index.htm`).
    pub index_files: Vec<String>,
    /// Whether a directory without index is listed (no: it is 403).
    pub listing: bool,
    /// How long a cached file is served before the disk is asked again (1 s).
    pub revalidate_interval: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            follow_symlinks: FollowSymlinks::default(),
            dotfiles: false,
            index_files: vec!["index.html".into(), "index.htm".into()],
            listing: false,
            revalidate_interval: Duration::from_secs(1),
        }
    }
}

/// What is at a request path.
#[derive(Debug)]
pub enum Lookup {
    /// A file in memory.
    Cached(Arc<Entry>),
    /// A file to be streamed.
    File(FileEntry),
    /// A page made for this request, in HTML.
    Page(Vec<u8>),
    /// A directory asked for without its final slash: the encoded path that has it.
    Redirect(String),
    /// Nothing that can be shown: 400, 403, 404, 500, or 503 when descriptors or memory ran out.
    Refused(Status),
}

/// A directory served to the web, with its small files in memory ("a map indexed by filename and
/// containing prebuilt responses", section V.C of the paper). Shared by all workers.
///
/// No path leads outside the directory: each is resolved by the kernel below a descriptor of the
/// root, so that neither `..`, nor a symbolic link, nor a rename in the middle of it can escape.
/// The root is the directory that was opened, even if it is renamed later.
#[derive(Debug)]
pub struct Site {
    /// Of all sites of the process.
    number: u64,
    root: Root,
    options: Options,
    cache_file_bytes: u64,
    budget: Budget,
    /// By decoded path: one entry a file.
    by_path: Table,
    /// By request path as it was sent: the hot path decodes nothing. Several may share an entry.
    by_target: Table,
    opened_at: Instant,
}

impl Site {
    /// Opens the directory `root`. Files are cached as they are asked for; see
    /// [`preload`](Self::preload) to do it at once.
    ///
    /// # Errors
    /// When `root` cannot be opened as a directory, or a name in
    /// [`index_files`](Options::index_files) is not a plain file name.
    ///
    /// ```
    /// use mely_http::{DateCache, Limits, Options, Site, SiteError};
    /// use std::time::{Instant, SystemTime};
    /// let now = DateCache::new().at(Instant::now(), SystemTime::now());
    /// let error = Site::open("/no/such/dir", Options::default(), &Limits::default(), &now).unwrap_err();
    /// assert!(matches!(error, SiteError::NotFound { .. }));
    /// ```
    pub fn open(
        root: impl AsRef<Path>,
        options: Options,
        limits: &Limits,
        now: &Now,
    ) -> Result<Self, SiteError> {
        if let Some(name) = options.index_files.iter().find(|name| !is_file_name(name)) {
            return Err(SiteError::BadIndexName { name: name.clone() });
        }
        let root = Root::open(root.as_ref(), options.follow_symlinks)
            .map_err(|source| SiteError::new(root.as_ref(), source))?;
        static SITES: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            // Relaxed: a number, which guards nothing.
            number: SITES.fetch_add(1, Relaxed),
            root,
            options,
            cache_file_bytes: limits.cache_file_bytes,
            budget: Budget::new(limits.cache_bytes),
            by_path: Table::new(usize::MAX),
            by_target: Table::new(limits.cached_targets),
            opened_at: now.monotonic,
        })
    }

    /// What is at the path of a request target, encoded and without query string.
    ///
    /// A file in memory that was compared with the disk less than
    /// [`revalidate_interval`](Options::revalidate_interval) ago costs no system call.
    pub fn lookup(&self, target_path: &[u8], now: &Now) -> Lookup {
        let hash = self.by_target.hash(target_path);
        if let Some(entry) = self.by_target.get_hashed(hash, target_path)
            && self.is_current(&entry, now)
        {
            known::remember(self.number, hash, target_path, &entry);
            return Lookup::Cached(entry);
        }
        match SitePath::decode(target_path, self.options.dotfiles) {
            Ok(path) => self
                .lookup_path(target_path, &path, now)
                .unwrap_or_else(Lookup::Refused),
            Err(PathError::Malformed) => Lookup::Refused(Status::BadRequest),
            Err(PathError::NotFound) => Lookup::Refused(Status::NotFound),
        }
    }

    /// What [`lookup`](Self::lookup) would give, if this thread knows it: without what others
    /// write to, and without asking the disk.
    pub(crate) fn known(&self, target_path: &[u8], now: &Now) -> Option<Rc<Known>> {
        let hash = self.by_target.hash(target_path);
        let known = known::find(self.number, hash, target_path)?;
        if known.entry().is_stale() {
            known::forget(hash);
            return None;
        }
        let interval = self.options.revalidate_interval;
        let due = known.entry().check_is_due(self.elapsed_ms(now), interval);
        (!due).then_some(known)
    }

    /// Bytes of memory that cached files hold.
    pub fn cached_bytes(&self) -> usize {
        self.budget.used()
    }

    /// Files in memory.
    pub fn cached_files(&self) -> usize {
        self.by_path.len()
    }

    fn lookup_path(&self, target: &[u8], path: &SitePath, now: &Now) -> Result<Lookup, Status> {
        let first_index = self.options.index_files.first();
        let cached = match first_index {
            Some(index) if path.has_trailing_slash() => {
                self.by_path.get(path.join(index.as_bytes()).as_bytes())
            }
            None if path.has_trailing_slash() => None,
            _ => self.by_path.get(path.as_bytes()),
        };
        if let Some(entry) = cached
            && self.is_current(&entry, now)
        {
            self.remember_target(target, &entry);
            return Ok(Lookup::Cached(entry));
        }
        let opened = self.root.open_below(path)?;
        match opened.kind {
            Kind::Directory if path.has_trailing_slash() => {
                self.directory(target, path, opened, now)
            }
            Kind::Directory => Ok(Lookup::Redirect(path.to_url(true))),
            Kind::File if path.has_trailing_slash() => Err(Status::NotFound),
            Kind::File => Ok(self.file(Some(target), path, opened, now)),
            Kind::Special => Err(Status::Forbidden),
        }
    }

    fn directory(
        &self,
        target: &[u8],
        path: &SitePath,
        opened: Opened,
        now: &Now,
    ) -> Result<Lookup, Status> {
        for (position, name) in self.options.index_files.iter().enumerate() {
            let index = path.join(name.as_bytes());
            match self.root.open_below(&index) {
                Ok(opened) if opened.kind == Kind::File => {
                    // A later index is not remembered for the directory: an earlier one that
                    // appears must win over it.
                    let target = (position == 0).then_some(target);
                    return Ok(self.file(target, &index, opened, now));
                }
                Ok(_) | Err(Status::NotFound) => {}
                Err(status) => return Err(status),
            }
        }
        if !self.options.listing {
            return Err(Status::Forbidden);
        }
        listing::page(path, &opened.file, self.options.dotfiles).map(Lookup::Page)
    }

    /// Loads an opened file into memory if it may be there, and streams it otherwise.
    fn file(&self, target: Option<&[u8]>, path: &SitePath, opened: Opened, now: &Now) -> Lookup {
        let current = self
            .by_path
            .get(path.as_bytes())
            .filter(|entry| entry.is_unchanged(&opened));
        let entry = match current {
            Some(entry) => entry,
            None => match entry::load(path, opened, self.cache_file_bytes, &self.budget, now) {
                Loaded::Entry(entry) => {
                    entry.note_check(self.elapsed_ms(now));
                    self.by_path.insert(path.as_bytes(), &entry);
                    entry
                }
                Loaded::Streamed(file) => return Lookup::File(file),
                Loaded::Failed(status) => return Lookup::Refused(status),
            },
        };
        if let Some(target) = target {
            self.remember_target(target, &entry);
        }
        Lookup::Cached(entry)
    }

    fn remember_target(&self, target: &[u8], entry: &Arc<Entry>) {
        if target.len() <= TARGET_BYTES {
            self.by_target.insert(target, entry);
        }
    }

    /// Whether a cached file may still be served. Asks the disk at most once an interval; a file
    /// that changed leaves the cache.
    fn is_current(&self, entry: &Arc<Entry>, now: &Now) -> bool {
        if entry.is_stale() {
            return false;
        }
        if !entry.claim_check(self.elapsed_ms(now), self.options.revalidate_interval) {
            return true;
        }
        let unchanged = match self.root.open_below(entry.path()) {
            Ok(opened) => entry.is_unchanged(&opened),
            // Running out of descriptors says nothing about the file.
            Err(status) => status == Status::ServiceUnavailable,
        };
        if !unchanged {
            entry.mark_stale();
            self.by_path.remove(entry.path().as_bytes(), entry);
        }
        unchanged
    }

    fn elapsed_ms(&self, now: &Now) -> u64 {
        now.monotonic
            .saturating_duration_since(self.opened_at)
            .as_millis() as u64
    }
}

fn is_file_name(name: &str) -> bool {
    !name.contains('\0') && Path::new(name).file_name() == Some(OsStr::new(name))
}

#[cfg(test)]
mod tests;
