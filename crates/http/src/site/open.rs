//! Opening what is below a directory, and nothing else.

use super::FollowSymlinks;
use crate::path::SitePath;
use crate::status::Status;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Attempts when a rename elsewhere in the tree disturbs a resolution.
const ATTEMPTS: usize = 8;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// Pipes, sockets, devices.
    Special,
}

/// Something open for reading, with its state at that time.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) kind: Kind,
    pub(crate) stat: Stat,
}

impl Opened {
    fn new(fd: OwnedFd) -> Result<Self, Status> {
        let stat = rustix::fs::fstat(&fd).map_err(status_of)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Special,
        };
        Ok(Self {
            file: File::from(fd),
            kind,
            stat,
        })
    }
}

/// The directory that is served.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
    follow: FollowSymlinks,
    /// Set once, when the kernel refuses `openat2`; both ways are safe, so relaxed is enough.
    without_openat2: AtomicBool,
}

impl Root {
    pub(crate) fn open(path: &Path, follow: FollowSymlinks) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        // Search permission is missing less visibly than read permission: ask now.
        rustix::fs::statat(&directory, c".", rustix::fs::AtFlags::empty())?;
        Ok(Self {
            directory,
            follow,
            without_openat2: AtomicBool::new(false),
        })
    }

    /// Opens what is at `path`. Never waits: a pipe opens at once, whoever is at its other end.
    pub(crate) fn open_below(&self, path: &SitePath) -> Result<Opened, Status> {
        let path = if path.as_bytes().is_empty() {
            Path::new(".")
        } else {
            path.as_path()
        };
        if self.follow == FollowSymlinks::Anywhere {
            let fd = rustix::fs::openat(&self.directory, path, READ, Mode::empty());
            return Opened::new(fd.map_err(status_of)?);
        }
        if !self.without_openat2.load(Relaxed) {
            match self.open_resolved(path) {
                // Sandboxes that do not know the call answer that it is not permitted.
                Err(Errno::NOSYS | Errno::PERM) => {
                    if self.openat2_is_missing() {
                        self.without_openat2.store(true, Relaxed);
                    }
                }
                result => return Opened::new(result.map_err(status_of)?),
            }
        }
        Opened::new(self.open_stepwise(path).map_err(status_of)?)
    }

    fn open_resolved(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if self.follow == FollowSymlinks::No {
            resolve |= ResolveFlags::NO_SYMLINKS;
        }
        let open = || rustix::fs::openat2(&self.directory, path, READ, Mode::empty(), resolve);
        for _ in 1..ATTEMPTS {
            match open() {
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return result,
            }
        }
        open()
    }

    /// Tells a file that may not be opened from a call that may not be made.
    fn openat2_is_missing(&self) -> bool {
        let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::BENEATH);
        let probe = rustix::fs::openat2(&self.directory, c".", flags, Mode::empty(), resolve);
        matches!(probe, Err(Errno::NOSYS | Errno::PERM))
    }

    /// One component after the other, following no link at all.
    fn open_stepwise(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut components = path.components().peekable();
        let mut directory: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let at: BorrowedFd<'_> = directory
                .as_ref()
                .map_or(self.directory.as_fd(), |d| d.as_fd());
            let flags = if components.peek().is_some() {
                OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
            } else {
                READ | OFlags::NOFOLLOW
            };
            let opened = rustix::fs::openat(at, component.as_os_str(), flags, Mode::empty());
            directory = Some(opened.map_err(|errno| link_error(errno, at, component.as_os_str()))?);
        }
        directory.ok_or(Errno::NOENT)
    }

    #[cfg(test)]
    pub(crate) fn forget_openat2(&self) {
        self.without_openat2.store(true, Relaxed);
    }
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// `O_DIRECTORY` on a link says "not a directory"; say "link", as `openat2` does.
fn link_error(errno: Errno, at: BorrowedFd<'_>, name: &std::ffi::OsStr) -> Errno {
    if errno != Errno::NOTDIR {
        return errno;
    }
    match rustix::fs::statat(at, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Errno::LOOP,
        _ => errno,
    }
}

fn status_of(errno: Errno) -> Status {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Status::NotFound,
        // Links that are not followed are LOOP or XDEV; sockets are NXIO.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV | Errno::NXIO | Errno::NODEV => {
            Status::Forbidden
        }
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Status::ServiceUnavailable,
        _ => Status::InternalServerError,
    }
}
