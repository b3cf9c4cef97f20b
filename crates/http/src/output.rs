//! Responses waiting for the peer, in order, without copying what is large.

use crate::buffers;
use crate::site::{Entry, FileEntry};
use std::collections::VecDeque;
use std::fs::File;
use std::io::IoSlice;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Slices gathered for one vectored write.
const SLICES: usize = 8;
/// Largest cached response copied next to its head, in bytes. On loopback TCP, one write of a copy
/// against a vectored write of two slices took 2.2 against 2.4 µs at 1 KiB, as long at 8 KiB, and
/// longer above.
const INLINE_BYTES: usize = 4096;

enum Chunk {
    Bytes(Vec<u8>),
    Entry(Arc<Entry>, Range<usize>),
    File(Arc<File>, Range<u64>),
}

impl Chunk {
    fn len(&self) -> u64 {
        match self {
            Chunk::Bytes(bytes) => bytes.len() as u64,
            Chunk::Entry(_, range) => range.len() as u64,
            Chunk::File(_, range) => range.end - range.start,
        }
    }
}

/// What to write to the peer next.
#[derive(Debug)]
pub enum Output<'a> {
    /// Nothing waits.
    Empty,
    /// Bytes in memory, for one `write` or `writev`.
    Bytes(Slices<'a>),
    /// Bytes of a file, for `sendfile` or a read and a write. When the file turns out to be
    /// shorter than that, the response cannot be completed: close the connection.
    File {
        /// The open file. Its own position is not used.
        file: &'a File,
        /// Where to begin, in bytes.
        offset: u64,
        /// How many bytes, never 0.
        length: u64,
    },
}

/// Up to eight slices; reads as `[IoSlice]`.
#[derive(Debug)]
pub struct Slices<'a> {
    slices: [IoSlice<'a>; SLICES],
    count: usize,
    file_follows: bool,
}

impl Slices<'_> {
    /// Whether the content of a file comes right after them, so that it pays to tell the kernel
    /// that more will follow (`MSG_MORE`).
    pub fn file_follows(&self) -> bool {
        self.file_follows
    }
}

impl<'a> Deref for Slices<'a> {
    type Target = [IoSlice<'a>];

    fn deref(&self) -> &Self::Target {
        &self.slices[..self.count]
    }
}

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct OutputQueue {
    chunks: VecDeque<Chunk>,
    sent_of_first: u64,
    pending_bytes: u64,
    files: usize,
}

impl OutputQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.pending_bytes == 0
    }

    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending_bytes
    }

    /// Whether an open file waits in it; there is never more than one, to bound open descriptors.
    pub(crate) fn holds_file(&self) -> bool {
        self.files > 0
    }

    /// Appends what `write` writes.
    pub(crate) fn write<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        if !matches!(self.chunks.back(), Some(Chunk::Bytes(_))) {
            self.chunks.push_back(Chunk::Bytes(buffers::take_output()));
        }
        let Some(Chunk::Bytes(bytes)) = self.chunks.back_mut() else {
            unreachable!("a chunk of bytes was just put there")
        };
        let before = bytes.len();
        let result = write(bytes);
        self.pending_bytes += (bytes.len() - before) as u64;
        result
    }

    /// Appends a part of a prebuilt response.
    pub(crate) fn push_entry(&mut self, entry: &Arc<Entry>, range: Range<usize>) {
        if range.len() <= INLINE_BYTES {
            self.write(|out| out.extend_from_slice(&entry.prebuilt()[range]));
        } else {
            self.push(Chunk::Entry(Arc::clone(entry), range));
        }
    }

    /// Appends a part of a file.
    pub(crate) fn push_file(&mut self, file: &FileEntry, range: Range<u64>) {
        if !range.is_empty() {
            self.files += 1;
            self.push(Chunk::File(file.file.clone(), range));
        }
    }

    fn push(&mut self, chunk: Chunk) {
        self.pending_bytes += chunk.len();
        self.chunks.push_back(chunk);
    }

    /// What to write next.
    pub(crate) fn next(&self) -> Output<'_> {
        let mut out = Slices {
            slices: [IoSlice::new(&[]); SLICES],
            count: 0,
            file_follows: false,
        };
        let mut skip = self.sent_of_first as usize;
        for chunk in &self.chunks {
            let bytes = match chunk {
                Chunk::Bytes(bytes) => &bytes[skip..],
                Chunk::Entry(entry, range) => &entry.prebuilt()[range.start + skip..range.end],
                Chunk::File(file, range) if out.count == 0 => {
                    let offset = range.start + self.sent_of_first;
                    return Output::File {
                        file,
                        offset,
                        length: range.end - offset,
                    };
                }
                Chunk::File(..) => {
                    out.file_follows = true;
                    break;
                }
            };
            skip = 0;
            if bytes.is_empty() {
                continue;
            } else if out.count == SLICES {
                break;
            }
            out.slices[out.count] = IoSlice::new(bytes);
            out.count += 1;
        }
        if out.count == 0 {
            Output::Empty
        } else {
            Output::Bytes(out)
        }
    }

    /// Takes `count` bytes off the front, at most what waits.
    pub(crate) fn advance(&mut self, count: u64) {
        let mut left = count.min(self.pending_bytes);
        self.pending_bytes -= left;
        while let Some(first) = self.chunks.front() {
            let rest = first.len() - self.sent_of_first;
            if left < rest {
                self.sent_of_first += left;
                return;
            }
            left -= rest;
            self.sent_of_first = 0;
            match self.chunks.pop_front() {
                Some(Chunk::Bytes(bytes)) => buffers::give_output(bytes),
                Some(Chunk::File(..)) => self.files -= 1,
                _ => {}
            }
        }
    }
}

impl std::fmt::Debug for OutputQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "OutputQueue({} bytes in {} chunks)",
            self.pending_bytes,
            self.chunks.len()
        )
    }
}
