//! One group of headers, out of bytes that arrive somehow.

use super::fields::HandshakeFields;
use crate::error::Error;
use crate::limits::Limits;

/// What every first line begins with: what does not is told at its first wrong byte, so that a
/// request of another protocol on the same port is not waited for.
const BEGINNING: &[u8] = b"GNUTELLA";

/// Collects bytes up to a blank line, and no byte behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadReader {
    held: Vec<u8>,
    line_start: usize,
}

/// A first line, and the fields behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) line: String,
    pub(super) fields: HandshakeFields,
}

impl HeadReader {
    /// Takes bytes from the front of the input until the headers are whole.
    pub(super) fn read(
        &mut self,
        input: &mut &[u8],
        limits: &Limits,
    ) -> Result<Option<Head>, Error> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            if self.held.len() >= limits.max_handshake_bytes {
                return Err(Error::HandshakeTooLong {
                    max: limits.max_handshake_bytes,
                });
            }
            if BEGINNING
                .get(self.held.len())
                .is_some_and(|&expected| expected != byte)
            {
                return Err(Error::NotGnutella);
            }
            self.held.push(byte);
            if byte == b'\n' {
                let line = &self.held[self.line_start..];
                if matches!(line, b"\n" | b"\r\n") {
                    let held = core::mem::take(self).held;
                    return parse(&held, limits).map(Some);
                }
                self.line_start = self.held.len();
            }
        }
        Ok(None)
    }
}

fn parse(held: &[u8], limits: &Limits) -> Result<Head, Error> {
    // Names and agents may be in any encoding; what matters is ASCII.
    let text = String::from_utf8_lossy(held);
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default().trim_end().to_owned();
    let mut fields: Vec<(&str, String)> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        // A line that begins with a blank goes on with the one before.
        if line.starts_with([' ', '\t']) {
            let (_, value) = fields.last_mut().ok_or(Error::HandshakeLine)?;
            value.push(' ');
            value.push_str(line.trim());
            continue;
        }
        if fields.len() == limits.max_handshake_fields {
            return Err(Error::TooManyFields {
                max: limits.max_handshake_fields,
            });
        }
        let (name, value) = line.split_once(':').ok_or(Error::HandshakeLine)?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err(Error::HandshakeLine);
        }
        fields.push((name, value.trim().to_owned()));
    }
    let mut read = HandshakeFields::default();
    for (name, value) in &fields {
        read.take(name, value, limits);
    }
    Ok(Head { line, fields: read })
}
