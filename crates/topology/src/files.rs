//! Reading the small text files of `/sys` and `/proc`, whatever they hold.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

/// A list of CPUs has 20 KiB at most (every second one of 8192); the list of mounts of
/// a host full of containers, a few hundred.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The numbers below `limit` of the entries `prefixN` of a folder, in increasing order.
pub(crate) fn numbered_entries(dir: &Path, prefix: &str, limit: usize) -> io::Result<Vec<usize>> {
    let mut numbers: Vec<usize> = fs::read_dir(dir)?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let digits = name.to_str()?.strip_prefix(prefix)?;
            let number: usize = digits.parse().ok()?;
            // `cpu01` and `cpu+1` are not what the number would be looked up by.
            (number < limit && number.to_string() == digits).then_some(number)
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The file's text without the white space around it, if it is a readable text of
/// reasonable length.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim().to_owned())
}

/// The file's text as a value, if it is one.
pub(crate) fn read_parsed<T: FromStr>(path: &Path) -> Option<T> {
    read_text(path)?.parse().ok()
}
