//! The head of a response, piece by piece.

use crate::date::Now;
use crate::status::Status;

/// The field that names this server, first in every prebuilt part.
pub(crate) const SERVER: &[u8] = b"Server: mely\r\n";

/// What differs from response to response: the status line and the date.
pub(crate) fn begin(out: &mut Vec<u8>, status: Status, now: &Now) {
    out.extend_from_slice(status.line().as_bytes());
    out.extend_from_slice(b"Date: ");
    out.extend_from_slice(now.date.as_bytes());
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn write_length(out: &mut Vec<u8>, length: u64) {
    out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
}
