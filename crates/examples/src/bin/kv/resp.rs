//! Redis' protocol: requests out of bytes, and what replies look like.

use std::ops::Range;

/// A request may have at most so many words, and each at most so many bytes.
const WORDS_MAX: usize = 1024 * 1024;
const WORD_MAX: usize = 64 * 1024 * 1024;

/// A line of a request that gives a length, or is a request by itself.
const LINE_MAX: usize = 64 * 1024;

/// Reads the first request of `bytes`: how long it is, and where its words are; `None` if it
/// is not all there yet.
///
/// # Errors
///
/// What is wrong with it, after which there is no telling where the next one begins.
pub(crate) fn request(
    bytes: &[u8],
    words: &mut Vec<Range<usize>>,
) -> Result<Option<usize>, &'static str> {
    words.clear();
    let Some((line, mut at)) = line(bytes, 0)? else {
        return Ok(None);
    };
    if bytes[0] != b'*' {
        inline(bytes, line, words);
        return Ok(Some(at));
    }
    let count = number(&bytes[1..line.end]).filter(|&count| count <= WORDS_MAX);
    for _ in 0..count.ok_or("invalid multibulk length")? {
        let Some((line, begin)) = self::line(bytes, at)? else {
            return Ok(None);
        };
        if bytes[at] != b'$' {
            return Err("expected '$'");
        }
        let length = number(&bytes[at + 1..line.end]).filter(|&length| length <= WORD_MAX);
        let end = begin + length.ok_or("invalid bulk length")?;
        if bytes.len() < end + 2 {
            return Ok(None);
        }
        words.push(begin..end);
        at = end + 2;
    }
    Ok(Some(at))
}

/// The line that begins at `begin`, and where the next one does.
fn line(bytes: &[u8], begin: usize) -> Result<Option<(Range<usize>, usize)>, &'static str> {
    let Some(length) = bytes[begin..].iter().position(|&byte| byte == b'\n') else {
        return match bytes.len() - begin > LINE_MAX {
            true => Err("too big a line"),
            false => Ok(None),
        };
    };
    let end = begin + length;
    let has_return = length > 0 && bytes[end - 1] == b'\r';
    Ok(Some((begin..end - usize::from(has_return), end + 1)))
}

/// What people type: words with blanks in between.
fn inline(bytes: &[u8], line: Range<usize>, words: &mut Vec<Range<usize>>) {
    let mut at = line.start;
    for word in bytes[line].split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            words.push(at..at + word.len());
        }
        at += word.len() + 1;
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
        Some(number * 10 + digit)
    })
}

pub(crate) fn status(out: &mut Vec<u8>, text: &str) {
    put(out, &[b"+", text.as_bytes(), b"\r\n"]);
}

pub(crate) fn error(out: &mut Vec<u8>, text: &str) {
    put(out, &[b"-ERR ", text.as_bytes(), b"\r\n"]);
}

pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    put(out, &[b":", value.to_string().as_bytes(), b"\r\n"]);
}

pub(crate) fn list(out: &mut Vec<u8>, length: usize) {
    put(out, &[b"*", length.to_string().as_bytes(), b"\r\n"]);
}

pub(crate) fn bulk(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            let length = bytes.len().to_string();
            put(out, &[b"$", length.as_bytes(), b"\r\n", bytes, b"\r\n"]);
        }
        None => put(out, &[b"$-1\r\n"]),
    }
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
