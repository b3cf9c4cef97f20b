//! Files in memory as prebuilt responses, and open files to be streamed.

use super::budget::{Budget, Charge};
use super::open::Opened;
use crate::conditional::EntityTag;
use crate::date::Now;
use crate::head::{SERVER, write_length};
use crate::path::SitePath;
use crate::representation::Representation;
use crate::status::Status;
use rustix::fs::Stat;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Memory of an entry besides its response and path, with its share of the tables, in bytes.
const ENTRY_BYTES: usize = 512;
/// Attempts to read a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// Identity and version of a file: when it differs, so may the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length_bytes: u64,
    mtime_ns: i128,
    ctime_ns: i128,
}

// The widths of these fields differ between architectures.
#[allow(clippy::unnecessary_cast)]
impl Stamp {
    fn of(stat: &Stat) -> Self {
        let ns = |seconds: i128, ns: i128| seconds * 1_000_000_000 + ns;
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            length_bytes: stat.st_size as u64,
            mtime_ns: ns(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            ctime_ns: ns(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
    }

    /// A date of the future would be later than the `Date` of the response.
    fn modified(&self, now: &Now) -> SystemTime {
        let since_epoch = u64::try_from(self.mtime_ns).unwrap_or(0);
        let modified = UNIX_EPOCH
            .checked_add(Duration::from_nanos(since_epoch))
            .unwrap_or(UNIX_EPOCH);
        modified.min(now.wall)
    }

    fn represent(&self, path: &SitePath, content: Option<&[u8]>, now: &Now) -> Representation {
        let tag = EntityTag::new(self.mtime_ns, self.length_bytes, self.inode);
        Representation::new(
            path.as_bytes(),
            content,
            self.length_bytes,
            self.modified(now),
            tag,
        )
    }
}

/// A file in memory: its response is built, but for the status line and the date.
#[derive(Debug)]
pub struct Entry {
    path: SitePath,
    stamp: Stamp,
    representation: Representation,
    prebuilt: Box<[u8]>,
    head_bytes: usize,
    /// When the disk was last asked about the file, in milliseconds since the site was opened.
    /// It and `stale` guard no other memory, so every access is relaxed: a late view of them
    /// serves the file a moment longer, as the interval does anyway.
    checked_ms: AtomicU64,
    stale: AtomicBool,
    _charge: Charge,
}

impl Entry {
    /// Type, length and validators.
    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// The content of the file.
    pub fn content(&self) -> &[u8] {
        &self.prebuilt[self.head_bytes..]
    }

    /// The end of a head, blank line included, and the content right after it.
    pub(crate) fn prebuilt(&self) -> &[u8] {
        &self.prebuilt
    }

    pub(crate) fn head_range(&self) -> Range<usize> {
        0..self.head_bytes
    }

    pub(crate) fn path(&self) -> &SitePath {
        &self.path
    }

    pub(crate) fn is_unchanged(&self, opened: &Opened) -> bool {
        !self.is_stale() && Stamp::of(&opened.stat) == self.stamp
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Relaxed)
    }

    pub(crate) fn mark_stale(&self) {
        self.stale.store(true, Relaxed);
    }

    pub(crate) fn note_check(&self, now_ms: u64) {
        self.checked_ms.store(now_ms, Relaxed);
    }

    /// Whether the disk is to be asked now, by this caller alone.
    pub(crate) fn claim_check(&self, now_ms: u64, interval: Duration) -> bool {
        let checked = self.checked_ms.load(Relaxed);
        is_due(checked, now_ms, interval)
            && self
                .checked_ms
                .compare_exchange(checked, now_ms, Relaxed, Relaxed)
                .is_ok()
    }

    /// Whether the disk is to be asked now, by somebody.
    pub(crate) fn check_is_due(&self, now_ms: u64, interval: Duration) -> bool {
        is_due(self.checked_ms.load(Relaxed), now_ms, interval)
    }
}

fn is_due(checked_ms: u64, now_ms: u64, interval: Duration) -> bool {
    u128::from(now_ms.saturating_sub(checked_ms)) >= interval.as_millis()
}

/// An open file that is not kept in memory.
#[derive(Debug, Clone)]
pub struct FileEntry {
    /// Open for reading. Shared by the answers that are written from it, at offsets of their own.
    pub file: Arc<File>,
    /// Type, length and validators.
    pub representation: Representation,
}

pub(crate) enum Loaded {
    Entry(Arc<Entry>),
    Streamed(FileEntry),
    Failed(Status),
}

/// Loads a file of at most `max_bytes`, if the budget allows and the file keeps still.
pub(crate) fn load(
    path: &SitePath,
    opened: Opened,
    max_bytes: u64,
    budget: &Budget,
    now: &Now,
) -> Loaded {
    let mut stamp = Stamp::of(&opened.stat);
    for _ in 0..ATTEMPTS {
        if stamp.length_bytes > max_bytes {
            break;
        }
        let content_bytes = stamp.length_bytes as usize;
        // The head is not known yet; half a kilobyte holds it, and the path comes twice.
        let size = content_bytes + 2 * path.as_bytes().len() + 2 * ENTRY_BYTES;
        let Some(charge) = budget.charge(size) else {
            break;
        };
        let mut content = vec![0; content_bytes];
        let read = opened.file.read_exact_at(&mut content, 0);
        let Ok(stat) = rustix::fs::fstat(&opened.file) else {
            return Loaded::Failed(Status::InternalServerError);
        };
        let after = Stamp::of(&stat);
        if after == stamp {
            return match read {
                Ok(()) => Loaded::Entry(Arc::new(build(path, stamp, &content, charge, now))),
                // Files of /proc and the like: their length means nothing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(_) => Loaded::Failed(Status::InternalServerError),
            };
        }
        stamp = after;
    }
    let representation = stamp.represent(path, None, now);
    Loaded::Streamed(FileEntry {
        file: Arc::new(opened.file),
        representation,
    })
}

fn build(path: &SitePath, stamp: Stamp, content: &[u8], charge: Charge, now: &Now) -> Entry {
    let representation = stamp.represent(path, Some(content), now);
    let mut prebuilt = Vec::with_capacity(ENTRY_BYTES + content.len());
    prebuilt.extend_from_slice(SERVER);
    representation.write_fields(&mut prebuilt);
    write_length(&mut prebuilt, stamp.length_bytes);
    prebuilt.extend_from_slice(b"\r\n");
    let head_bytes = prebuilt.len();
    prebuilt.extend_from_slice(content);
    Entry {
        path: path.clone(),
        stamp,
        representation,
        prebuilt: prebuilt.into(),
        head_bytes,
        checked_ms: AtomicU64::new(0),
        stale: AtomicBool::new(false),
        _charge: charge,
    }
}
