//! The heads of answers.

use crate::files::SharedFile;
use std::ops::Range;

/// The head of an answer, ready to be sent.
pub(super) struct Head(String);

impl Head {
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Before a file, or a part of it.
    pub(super) fn file(
        file: &SharedFile,
        range: &Range<u64>,
        is_part: bool,
        goes_on: bool,
    ) -> Self {
        let (status, mut fields) = match is_part {
            true => {
                let (first, last) = (range.start, range.end.saturating_sub(1));
                let part = format!("Content-Range: bytes {first}-{last}/{}\r\n", file.bytes());
                ("206 Partial Content", part)
            }
            false => ("200 OK", String::new()),
        };
        fields += "Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n";
        if let Some(sha1) = file.sha1() {
            fields += &format!("X-Gnutella-Content-URN: {sha1}\r\n");
        }
        Self::new(status, &fields, range.end - range.start, goes_on)
    }

    /// There is nothing of the range.
    pub(super) fn out_of_range(bytes: u64, goes_on: bool) -> Self {
        let field = format!("Content-Range: bytes */{bytes}\r\n");
        Self::new("416 Range Not Satisfiable", &field, 0, goes_on)
    }

    /// All places are taken.
    pub(super) fn busy(goes_on: bool) -> Self {
        Self::new("503 Busy", "Retry-After: 60\r\n", 0, goes_on)
    }

    pub(super) fn refused(code: u16, reason: &str, goes_on: bool) -> Self {
        Self::new(&format!("{code} {reason}"), "", 0, goes_on)
    }

    fn new(status: &str, fields: &str, length: u64, goes_on: bool) -> Self {
        let connection = if goes_on { "keep-alive" } else { "close" };
        Self(format!(
            "HTTP/1.1 {status}\r\nServer: Mely/{}\r\n{fields}Content-Length: {length}\r\n\
             Connection: {connection}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        ))
    }
}
