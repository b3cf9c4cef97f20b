//! Bytes between a connection and its socket, one system call at a time.

use crate::output::Slices;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

/// Bytes of a file sent in one turn: large enough that the system call is a small part of it,
/// small enough that the other connections of the core wait for some 50 µs only.
const FILE_TURN_BYTES: u64 = 256 * 1024;
/// Bytes of a file copied in one turn where `sendfile` does not work.
const COPY_BYTES: usize = 16 * 1024;

pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::net::recv(socket, buffer, RecvFlags::empty()).map(|(count, _)| count)
}

/// Sends what lies in memory; less than all of it when the socket is full.
pub(super) fn send(socket: BorrowedFd<'_>, slices: &Slices<'_>) -> Result<usize, Errno> {
    let mut flags = SendFlags::NOSIGNAL;
    if slices.file_follows() {
        flags |= SendFlags::MORE;
    }
    match &**slices {
        [only] => rustix::net::send(socket, only, flags),
        several => {
            let mut none = SendAncillaryBuffer::default();
            rustix::net::sendmsg(socket, several, &mut none, flags)
        }
    }
}

/// Sends a part of a file; 0 when it is shorter than it was.
pub(super) fn send_file(
    socket: BorrowedFd<'_>,
    file: &File,
    offset: u64,
    length: u64,
) -> Result<usize, Errno> {
    let count = length.min(FILE_TURN_BYTES) as usize;
    let mut position = offset;
    match rustix::fs::sendfile(socket, file, Some(&mut position), count) {
        // File systems without pages in memory, and sandboxes.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => copy(socket, file, offset, count),
        sent => sent,
    }
}

fn copy(socket: BorrowedFd<'_>, file: &File, offset: u64, count: usize) -> Result<usize, Errno> {
    let mut part = [0; COPY_BYTES];
    let part = &mut part[..count.min(COPY_BYTES)];
    let read = file
        .read_at(part, offset)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    match read {
        0 => Ok(0),
        read => rustix::net::send(socket, &part[..read], SendFlags::NOSIGNAL),
    }
}
