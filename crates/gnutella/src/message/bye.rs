//! Farewells (Gnutella 0.6 draft, section 2.2.9).

use crate::bytes::Reader;
use crate::error::Error;

/// Why the sender closes the connection. It goes one hop, and nothing follows it.
///
/// ```
/// use mely_gnutella::{Bye, Guid, Message};
/// let bye = Message::Bye(Bye { code: Bye::TOO_LONG, reason: b"Message too long" });
/// let mut bytes = Vec::new();
/// bye.write(Guid([1; 16]), 1, 0, &mut bytes);
/// assert!(bytes.ends_with(b"\x9d\x01Message too long\0"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bye<'a> {
    /// In the manner of HTTP: 200 to 299 is an ordinary end, 400 to 499 the receiver's fault, 500 to
    /// 599 the sender's.
    pub code: u16,
    /// A sentence, perhaps with header fields behind a line end. Has no NUL.
    pub reason: &'a [u8],
}

impl<'a> Bye<'a> {
    /// The receiver broke a rule of the protocol.
    pub const BAD_MESSAGE: u16 = 400;
    /// A message of the receiver was longer than any that is taken.
    pub const TOO_LONG: u16 = 413;
    /// The sender is shutting down.
    pub const SHUTDOWN: u16 = 200;

    pub(super) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("a bye", payload);
        let code = reader.u16()?;
        // The NUL is missing in some, and nothing stands behind it.
        let reason = reader.rest();
        let end = reason.iter().position(|&byte| byte == 0);
        Ok(Self {
            code,
            reason: &reason[..end.unwrap_or(reason.len())],
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(self.reason);
        out.push(0);
    }
}
