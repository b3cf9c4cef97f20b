//! What the headers of a response say about a file.

use crate::conditional::EntityTag;
use crate::date::DateValue;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

/// Type, length and validators of one version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Representation {
    content_type: &'static str,
    utf8: bool,
    length_bytes: u64,
    modified: SystemTime,
    last_modified: DateValue,
    tag: EntityTag,
}

impl Representation {
    /// Describes a file called `name`. `content`, when it is at hand, tells more than the name: text
    /// that is UTF-8 is said to be, and UTF-8 without a known extension is plain text.
    ///
    /// ```
    /// use mely_http::{EntityTag, Representation};
    /// use std::time::UNIX_EPOCH;
    /// let tag = || EntityTag::new(1, 2, 3);
    /// let page = Representation::new(b"index.html", Some(b"hi"), 2, UNIX_EPOCH, tag());
    /// assert_eq!(page.content_type(), "text/html; charset=utf-8");
    /// let unknown = Representation::new(b"README", None, 2, UNIX_EPOCH, tag());
    /// assert_eq!(unknown.content_type(), "application/octet-stream");
    /// ```
    pub fn new(
        name: &[u8],
        content: Option<&[u8]>,
        length_bytes: u64,
        modified: SystemTime,
        tag: EntityTag,
    ) -> Self {
        let guess = mime_guess::from_path(Path::new(OsStr::from_bytes(name))).first_raw();
        let is_text = guess.is_none_or(|guess| guess.starts_with("text/"));
        let utf8 = is_text && content.is_some_and(is_utf8_text);
        let fallback = if utf8 {
            "text/plain"
        } else {
            "application/octet-stream"
        };
        let content_type = guess.unwrap_or(fallback);
        let last_modified = DateValue::from_time(modified);
        Self {
            content_type,
            utf8,
            length_bytes,
            modified,
            last_modified,
            tag,
        }
    }

    /// Value of `Content-Type`.
    pub fn content_type(&self) -> String {
        format!(
            "{}{}",
            self.content_type,
            if self.utf8 { "; charset=utf-8" } else { "" }
        )
    }

    /// Length of the whole content, in bytes.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// When the content changed last.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// The strong validator.
    pub fn tag(&self) -> &EntityTag {
        &self.tag
    }

    /// Writes the fields that every answer about this file has, 304 included.
    pub(crate) fn write_validators(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"Last-Modified: ");
        out.extend_from_slice(self.last_modified.as_bytes());
        out.extend_from_slice(b"\r\nETag: ");
        out.extend_from_slice(self.tag.as_str().as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the fields of an answer that carries content of this file.
    pub(crate) fn write_fields(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"Content-Type: ");
        out.extend_from_slice(self.content_type().as_bytes());
        out.extend_from_slice(b"\r\nAccept-Ranges: bytes\r\n");
        self.write_validators(out);
    }
}

fn is_utf8_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
