//! The messages of one connection, compressed or not.

use crate::decoder::{Decoder, Frame};
use crate::deflate::{Deflater, Inflater};
use crate::error::Error;
use crate::guid::Guid;
use crate::handshake::Agreement;
use crate::limits::Limits;
use crate::message::Message;

/// Inflated bytes that wait to be read as messages.
const INFLATED_BYTES: usize = 4 * 1024;

/// What follows the handshake on a connection, in both directions.
///
/// It holds one partial message, 4 KiB of inflated bytes and the windows of the compressors, and
/// nothing that waits to be sent but for what [`flush`](Self::flush) gets out.
///
/// ```
/// use mely_gnutella::{Agreement, Guid, Limits, Link, Message, Ping};
/// # use mely_gnutella::{Initiator, InitiatorStep, Profile};
/// # let mut out = Vec::new();
/// # let mut initiator = Initiator::new(Profile::default(), &mut out);
/// # let mut answer = &b"GNUTELLA/0.6 200 OK\r\nAccept-Encoding: deflate\r\nContent-Encoding: deflate\r\n\r\n"[..];
/// # let InitiatorStep::Agreed(agreement) = initiator.receive(&mut answer, &mut out, &Limits::default())? else { panic!() };
/// # let agreement: Agreement = *agreement;
/// let limits = Limits::default();
/// let mut link = Link::new(&agreement, &limits);
/// let mut wire = Vec::new();
/// link.send(&Message::Ping(Ping::default()), Guid([1; 16]), 1, 0, &mut wire);
/// link.flush(&mut wire);
///
/// let (mut peer, mut input) = (Link::new(&agreement, &limits), &wire[..]);
/// let frame = peer.receive(&mut input)?.expect("a whole message");
/// assert_eq!(Message::parse(&frame, &limits)?, Message::Ping(Ping::default()));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug)]
pub struct Link {
    decoder: Decoder,
    inflate: Option<Inflating>,
    deflate: Option<Deflater>,
}

#[derive(Debug)]
struct Inflating {
    stream: Inflater,
    held: Box<[u8; INFLATED_BYTES]>,
    begin: usize,
    end: usize,
}

impl Link {
    /// A connection right after its handshake.
    pub fn new(agreement: &Agreement, limits: &Limits) -> Self {
        Self {
            decoder: Decoder::new(limits),
            inflate: agreement.inflate.then(|| Inflating {
                stream: Inflater::new(limits),
                held: Box::new([0; INFLATED_BYTES]),
                begin: 0,
                end: 0,
            }),
            deflate: agreement.deflate.then(Deflater::new),
        }
    }

    /// Takes bytes from the front of `input` until a message is whole; nothing when all are taken
    /// and do not suffice. Between two calls a turn may end: call it until it gives nothing, also
    /// with an empty input, as one byte may inflate to many messages.
    ///
    /// # Errors
    /// [`Error::PayloadTooLong`], [`Error::Inflate`] and [`Error::InflatedTooMuch`]: the connection
    /// has to close.
    pub fn receive(&mut self, input: &mut &[u8]) -> Result<Option<Frame<'_>>, Error> {
        let is_whole = match &mut self.inflate {
            None => self.decoder.advance(input)?,
            Some(inflating) => inflating.advance(&mut self.decoder, input)?,
        };
        Ok(is_whole.then(|| self.decoder.frame()))
    }

    /// Appends a message to what goes out, of which some may stay inside until the
    /// [`flush`](Self::flush).
    pub fn send(
        &mut self,
        message: &Message<'_>,
        guid: Guid,
        ttl: u8,
        hops: u8,
        out: &mut Vec<u8>,
    ) {
        self.put(out, |plain| message.write(guid, ttl, hops, plain));
    }

    /// The same for a message that comes from another connection, unchanged but for its header.
    pub fn send_frame(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) {
        self.put(out, |plain| frame.write(plain));
    }

    /// Makes all that was sent readable by the peer.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if let Some(deflate) = &mut self.deflate {
            deflate.flush(out);
        }
    }

    fn put(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        match &mut self.deflate {
            None => write(out),
            Some(deflate) => {
                let mut plain = Vec::new();
                write(&mut plain);
                deflate.write(&plain, out);
            }
        }
    }
}

impl Inflating {
    fn advance(&mut self, decoder: &mut Decoder, input: &mut &[u8]) -> Result<bool, Error> {
        loop {
            let mut inflated = &self.held[self.begin..self.end];
            let is_whole = decoder.advance(&mut inflated)?;
            self.begin = self.end - inflated.len();
            if is_whole {
                return Ok(true);
            }
            self.begin = 0;
            self.end = self.stream.read(input, &mut self.held[..])?;
            if self.end == 0 {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests;
