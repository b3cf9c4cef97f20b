//! Lines: each begins with the time when it was sent, and is as long as all others.
//! Reading them costs the clients little, then, however long they are.

use std::io::Write as _;

/// Bytes of the shortest line, with its end: room for the time and a few words.
pub(super) const LENGTH_MIN: usize = 32;

/// Digits of the time: of nanoseconds, enough for centuries.
const DIGITS: usize = 20;

/// What is said, again and again.
const WORDS: &[u8] = b" everybody hears what was said here";

/// A line of so many bytes that was sent at so many nanoseconds.
pub(super) fn write(length: usize, sent_ns: u64, out: &mut Vec<u8>) {
    // Memory is never full.
    write!(out, "{sent_ns:0DIGITS$}").ok();
    let words = WORDS.iter().cycle().take(length - DIGITS - 1);
    out.extend(words);
    out.push(b'\n');
}

/// Something that is no line of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Garbled;

/// Reads lines, in whatever parts they come.
#[derive(Debug)]
pub(super) struct Reader {
    length: usize,
    /// Of a line, what has come before the rest of it.
    part: Vec<u8>,
}

impl Reader {
    /// Reads lines of so many bytes.
    pub(super) fn new(length: usize) -> Self {
        let part = Vec::new();
        Self { length, part }
    }

    /// Takes bytes in, and tells when each line in them was sent.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        mut line: impl FnMut(u64),
    ) -> Result<(), Garbled> {
        if !self.part.is_empty() {
            let missing = self.length - self.part.len();
            let (rest, next) = bytes.split_at(missing.min(bytes.len()));
            self.part.extend_from_slice(rest);
            bytes = next;
            if self.part.len() < self.length {
                return Ok(());
            }
            line(sent(&self.part)?);
            self.part.clear();
        }
        let mut lines = bytes.chunks_exact(self.length);
        for whole in &mut lines {
            line(sent(whole)?);
        }
        self.part.extend_from_slice(lines.remainder());
        Ok(())
    }
}

fn sent(line: &[u8]) -> Result<u64, Garbled> {
    let (digits, rest) = line.split_at_checked(DIGITS).ok_or(Garbled)?;
    if rest.last() != Some(&b'\n') {
        return Err(Garbled);
    }
    let digits = str::from_utf8(digits).map_err(|_| Garbled)?;
    digits.parse().map_err(|_| Garbled)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 64;

    #[test]
    fn lines_are_read_back_in_any_parts() {
        let mut bytes = Vec::new();
        let sent = [0, 17, u64::MAX];
        sent.iter().for_each(|&ns| write(LENGTH, ns, &mut bytes));
        assert_eq!(bytes.len(), 3 * LENGTH);
        for step in [1, 7, LENGTH - 1, LENGTH, LENGTH + 1, 3 * LENGTH] {
            let (mut reader, mut read) = (Reader::new(LENGTH), Vec::new());
            for part in bytes.chunks(step) {
                reader.take(part, |ns| read.push(ns)).unwrap();
            }
            assert_eq!(read, sent, "{step}");
        }
    }

    #[test]
    fn what_is_no_line_is_told() {
        let mut longer = Vec::new();
        write(LENGTH, 1, &mut longer);
        longer.insert(30, b'x');
        for wrong in [&longer[..], &[b'x'; LENGTH], &[b'\n'; LENGTH]] {
            assert_eq!(Reader::new(LENGTH).take(wrong, |_| ()), Err(Garbled));
        }
    }
}
