//! Messages out of a stream of bytes.

use crate::error::Error;
use crate::header::Header;
use crate::limits::Limits;

/// A message as it came: its header, and the bytes that [`Message::parse`](crate::Message::parse)
/// reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it is and where it may go.
    pub header: Header,
    /// The rest, as long as the header says.
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// Appends the message as it goes over the wire, with the length of its payload.
    ///
    /// A message that is sent on is written this way, so that what this node does not understand
    /// goes on unchanged.
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = self.payload.len() as u32;
        out.extend_from_slice(
            &Header {
                length,
                ..self.header
            }
            .bytes(),
        );
        out.extend_from_slice(self.payload);
    }
}

/// Cuts a stream into messages, however its bytes arrive.
///
/// It holds the bytes of one message at the most, and room only for those that have come: a header
/// alone makes it take no memory.
///
/// ```
/// use mely_gnutella::{Decoder, Limits, Kind};
/// let mut ping = [0; 23];
/// ping[17] = 1;
/// let mut decoder = Decoder::new(&Limits::default());
/// assert_eq!(decoder.next(&mut &ping[..10])?, None);
/// let mut rest = &ping[10..];
/// let frame = decoder.next(&mut rest)?.expect("it is whole");
/// assert_eq!((frame.header.kind, frame.header.ttl), (Kind::Ping, 1));
/// assert!(rest.is_empty());
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decoder {
    held: Vec<u8>,
    whole: bool,
    max_payload_bytes: u32,
}

impl Decoder {
    /// A decoder at the beginning of a message.
    pub fn new(limits: &Limits) -> Self {
        Self {
            held: Vec::new(),
            whole: false,
            max_payload_bytes: limits.max_payload_bytes,
        }
    }

    /// Takes bytes from the front of `input` until a message is whole; nothing when they do not
    /// suffice. Call it again with what is left, until that is nothing.
    ///
    /// # Errors
    /// [`Error::PayloadTooLong`], as soon as the header tells; the stream cannot be followed then.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Frame<'_>>, Error> {
        Ok(self.advance(input)?.then(|| self.frame()))
    }

    /// [`next`](Self::next) without the frame, for callers that hold the input themselves.
    pub(crate) fn advance(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        if self.whole {
            self.held.clear();
            self.whole = false;
        }
        if !self.fill(Header::BYTES, input) {
            return Ok(false);
        }
        let length = Header::read(&self.held)?.length;
        if length > self.max_payload_bytes {
            return Err(Error::PayloadTooLong {
                length,
                max: self.max_payload_bytes,
            });
        }
        self.whole = self.fill(Header::BYTES + length as usize, input);
        Ok(self.whole)
    }

    /// The message that [`advance`](Self::advance) has found.
    pub(crate) fn frame(&self) -> Frame<'_> {
        let (header, payload) = self.held.split_at(Header::BYTES);
        let header = Header::read(header).expect("a whole message has a whole header");
        Frame { header, payload }
    }

    fn fill(&mut self, length: usize, input: &mut &[u8]) -> bool {
        let missing = length.saturating_sub(self.held.len());
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.held.extend_from_slice(taken);
        *input = rest;
        self.held.len() >= length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Headers may tell of any length: only what has come is held.
        #[test]
        fn memory_follows_what_arrives(
            pieces in prop::collection::vec(prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => any::<u8>()], 0..300), 1..20),
        ) {
            let mut decoder = Decoder::new(&Limits::default());
            let mut arrived = 0;
            for piece in &pieces {
                arrived += piece.len();
                let mut input = &piece[..];
                while let Ok(Some(frame)) = decoder.next(&mut input) {
                    prop_assert_eq!(frame.header.length as usize, frame.payload.len());
                }
                prop_assert!(decoder.held.len() <= arrived);
                // A vector takes twice as much as it needs at the most, and eight bytes at least.
                prop_assert!(decoder.held.capacity() <= 2 * arrived.max(Header::BYTES));
            }
        }
    }
}
