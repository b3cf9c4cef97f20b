//! Why a trace cannot be read.

use core::fmt;
use std::io;

use crate::VERSION;

/// Why a trace cannot be read, or not to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file is something else.
    NotATrace,
    /// It was written by another version of the format.
    Version(u16),
    /// It was written in another order of bytes.
    ByteOrder,
    /// Its header makes no sense.
    Header(&'static str),
    /// It ends before its end: the program that wrote it died, or it was copied in part.
    Truncated {
        /// How many bytes there are.
        at: u64,
        /// How many whole records they hold.
        records: u64,
    },
    /// A block is not what was written.
    Checksum {
        /// Where it begins.
        at: u64,
        /// How many records came before it.
        records: u64,
    },
    /// A block has the right checksum, and yet makes no sense.
    Block {
        /// Where it begins.
        at: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An event is of a handler that has no name in the trace.
    UnknownHandler {
        /// Where its block begins.
        at: u64,
        /// The number of the handler.
        handler: u32,
    },
    /// There is more of something than is read.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are read.
        max: u64,
    },
    /// The file cannot be read.
    Io(io::Error),
}

impl Error {
    /// Whether what was read before is whole and the rest is missing.
    pub fn is_truncation(&self) -> bool {
        matches!(self, Error::Truncated { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotATrace => f.write_str(
                "this is no trace of Mely; give a file that a program wrote with --trace FILE",
            ),
            Error::Version(version) => write!(
                f,
                "the trace is of version {version}, and this program reads {VERSION}; \
                 record it again, or read it with the version that wrote it"
            ),
            Error::ByteOrder => {
                f.write_str("the bytes of the trace are in the wrong order: record it again")
            }
            Error::Header(what) => write!(f, "the header of the trace is damaged: {what}"),
            Error::Truncated { at, records } => write!(
                f,
                "the trace is cut off at byte {at}, after {records} whole records: \
                 the program that wrote it did not end by a shutdown, or it was copied in part"
            ),
            Error::Checksum { at, records } => write!(
                f,
                "the trace is damaged: the checksum of the block at byte {at}, after {records} \
                 records, is wrong"
            ),
            Error::Block { at, what } => {
                write!(
                    f,
                    "the block at byte {at} of the trace makes no sense: {what}"
                )
            }
            Error::UnknownHandler { at, handler } => write!(
                f,
                "the block at byte {at} of the trace has events of handler {handler}, \
                 which it does not name"
            ),
            Error::TooMany { what, max } => {
                write!(
                    f,
                    "the trace has too many {what}: {max} are read at the most"
                )
            }
            Error::Io(source) => write!(f, "the trace cannot be read: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(source) => Some(source),
            _ => None,
        }
    }
}
