//! Where a request head ends, found without looking at any byte twice.

use crate::limits::Limits;
use crate::status::Status;
use memchr::memchr_iter;

/// Blank lines forgiven before a request line, in bytes: two line ends, as some old clients send
/// after a body.
const LEADING_BYTES: usize = 4;
/// Longest method that is looked at; the longest one registered has 17 letters.
const METHOD_BYTES: usize = 32;
/// What a request line holds besides its target: method, two spaces, version, line end.
const REQUEST_LINE_EXTRA: usize = METHOD_BYTES + 12;

/// Remembers how far a partial head was searched.
///
/// Each verdict depends only on the bytes up to the place where it is found, so a head that arrives
/// byte by byte meets the same verdict as one that arrives whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadSearch {
    start: usize,
    started: bool,
    method_seen: bool,
    request_line_seen: bool,
    line_start: usize,
    searched: usize,
}

impl HeadSearch {
    /// Start of the request line, past forgiven blank lines.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// End of the head, once its blank line is there.
    pub(crate) fn find_end(
        &mut self,
        buffer: &[u8],
        limits: &Limits,
    ) -> Result<Option<usize>, Status> {
        if !self.skip_blank_lines(buffer)? || !self.check_method(buffer)? {
            return Ok(None);
        }
        let window = &buffer[..buffer
            .len()
            .min(self.start.saturating_add(limits.max_head_bytes))];
        let line_limit = limits
            .max_target_bytes
            .saturating_add(self.start + REQUEST_LINE_EXTRA);
        for offset in memchr_iter(b'\n', &window[self.searched..]) {
            let newline = self.searched + offset;
            if !self.request_line_seen && newline >= line_limit {
                return Err(Status::UriTooLong);
            }
            // A line end without its CR is a classic of request smuggling.
            if newline == self.line_start || window[newline - 1] != b'\r' {
                return Err(Status::BadRequest);
            }
            if newline - 1 == self.line_start {
                return Ok(Some(newline + 1));
            }
            self.request_line_seen = true;
            self.line_start = newline + 1;
        }
        self.searched = window.len();
        if !self.request_line_seen && window.len() > line_limit {
            return Err(Status::UriTooLong);
        }
        if window.len() - self.start >= limits.max_head_bytes {
            return Err(Status::HeaderFieldsTooLarge);
        }
        Ok(None)
    }

    fn skip_blank_lines(&mut self, buffer: &[u8]) -> Result<bool, Status> {
        while !self.started {
            match buffer[self.start..] {
                [] | [b'\r'] => return Ok(false),
                [b'\r', b'\n', ..] if self.start < LEADING_BYTES => self.start += 2,
                [b'\r' | b'\n', ..] => return Err(Status::BadRequest),
                _ => self.started = true,
            }
            self.line_start = self.start;
            self.searched = self.start;
        }
        Ok(true)
    }

    /// Turns away what does not begin like HTTP (TLS, say) at its first bytes, not at a timeout.
    fn check_method(&mut self, buffer: &[u8]) -> Result<bool, Status> {
        if self.method_seen {
            return Ok(true);
        }
        let line = &buffer[self.start..buffer.len().min(self.start + METHOD_BYTES + 1)];
        match line.iter().position(|&b| !is_token(b)) {
            Some(end) if end > 0 && line[end] == b' ' => self.method_seen = true,
            Some(_) => return Err(Status::BadRequest),
            None if line.len() > METHOD_BYTES => return Err(Status::NotImplemented),
            None => return Ok(false),
        }
        Ok(true)
    }
}

const TOKEN: [bool; 256] = byte_set(b"!#$%&'*+-.^_`|~");

fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Letters, digits, and `others`, as a table to look bytes up in.
pub(crate) const fn byte_set(others: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut byte = 0;
    while byte < set.len() {
        set[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < others.len() {
        set[others[index] as usize] = true;
        index += 1;
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_searched_twice() {
        let mut search = HeadSearch::default();
        let head = b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n";
        for end in 6..=head.len() {
            assert_eq!(search.find_end(&head[..end], &Limits::default()), Ok(None));
            assert_eq!(search.searched, end);
        }
    }
}
