//! The file of hosts.

use super::error::NodeError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The text of the file; nothing where there is none yet.
pub(super) fn read(path: &Path) -> Result<String, NodeError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(NodeError::Hosts {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Writes it anew: whole, or not at all.
pub(super) fn write(path: &Path, text: &str) -> Result<(), NodeError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let written = std::fs::File::create(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|source| NodeError::Hosts {
        path: path.to_owned(),
        source,
    })
}
