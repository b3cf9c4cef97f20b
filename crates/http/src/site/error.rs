//! Why a directory cannot be served.

use std::io;
use std::path::{Path, PathBuf};

/// Why a site cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum SiteError {
    /// There is nothing at this path.
    NotFound {
        /// The root that was asked for.
        root: PathBuf,
    },
    /// It is something else than a directory.
    NotADirectory {
        /// The root that was asked for.
        root: PathBuf,
    },
    /// This process may not read it.
    PermissionDenied {
        /// The root that was asked for.
        root: PathBuf,
    },
    /// Another failure of the file system.
    Io {
        /// The root that was asked for.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A name in [`Options::index_files`](crate::Options::index_files) is not a plain file name.
    BadIndexName {
        /// That name.
        name: String,
    },
}

impl SiteError {
    pub(crate) fn new(root: &Path, source: io::Error) -> Self {
        let root = root.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { root },
            io::ErrorKind::NotADirectory => Self::NotADirectory { root },
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { root },
            _ => Self::Io { root, source },
        }
    }
}

impl std::fmt::Display for SiteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound { root } => write!(f, "no such directory: {}", root.display()),
            Self::NotADirectory { root } => {
                write!(
                    f,
                    "not a directory: {} (give the directory that holds it)",
                    root.display()
                )
            }
            Self::PermissionDenied { root } => {
                write!(
                    f,
                    "no permission to read directory {} (it needs r and x)",
                    root.display()
                )
            }
            Self::Io { root, source } => {
                write!(f, "cannot open directory {}: {source}", root.display())
            }
            Self::BadIndexName { name } => {
                write!(
                    f,
                    "index file {name:?} is not a file name (no slash, not empty)"
                )
            }
        }
    }
}

impl std::error::Error for SiteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
