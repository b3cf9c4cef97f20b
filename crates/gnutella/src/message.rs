//! What the payload of a message says.

mod bye;
mod hit;
mod ping;
mod push;
mod query;
mod route_table;
mod vendor;

pub use bye::Bye;
pub use hit::{HitFlags, HitResult, HitTrailer, QueryHit};
pub use ping::{Ping, Pong};
pub use push::Push;
pub use query::{Query, QueryFlags};
pub use route_table::{Compressor, RouteTableUpdate};
pub use vendor::{SupportedMessage, VendorMessage};

use crate::decoder::Frame;
use crate::error::Error;
use crate::header::{Header, Kind};
use crate::limits::Limits;

/// A message, read from its frame. It borrows what it does not need to look into, above all
/// extensions: those are read when somebody asks.
///
/// ```
/// use mely_gnutella::{Decoder, Guid, Limits, Message, Query, QueryFlags};
/// let query = Message::Query(Query {
///     flags: QueryFlags::default(),
///     text: b"free music",
///     extensions: b"urn:",
/// });
/// let mut bytes = Vec::new();
/// query.write(Guid([1; 16]), 7, 0, &mut bytes);
///
/// let limits = Limits::default();
/// let mut decoder = Decoder::new(&limits);
/// let mut input = &bytes[..];
/// let frame = decoder.next(&mut input)?.expect("it is whole");
/// assert_eq!(Message::parse(&frame, &limits)?, query);
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// Who is there?
    Ping(Ping<'a>),
    /// A host that is there.
    Pong(Pong<'a>),
    /// Why the connection ends.
    Bye(Bye<'a>),
    /// An update of a route table.
    RouteTable(RouteTableUpdate<'a>),
    /// A message of a vendor's own, or one that became a standard.
    Vendor(VendorMessage<'a>),
    /// A request to connect to where it comes from.
    Push(Push<'a>),
    /// A search.
    Query(Query<'a>),
    /// Results.
    QueryHit(QueryHit<'a>),
    /// A type that this crate does not know: to be dropped, and counted.
    Unknown {
        /// The type.
        kind: u8,
        /// The payload.
        payload: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// Reads the payload of a frame.
    ///
    /// # Errors
    /// What is wrong with it; [`Error::treatment`] is to drop the message, except for a route table
    /// that is beyond the limits.
    pub fn parse(frame: &Frame<'a>, limits: &Limits) -> Result<Self, Error> {
        let payload = frame.payload;
        Ok(match frame.header.kind {
            Kind::Ping => Self::Ping(Ping {
                extensions: payload,
            }),
            Kind::Pong => Self::Pong(Pong::read(payload)?),
            Kind::Bye => Self::Bye(Bye::read(payload)?),
            Kind::RouteTable => Self::RouteTable(RouteTableUpdate::read(payload)?),
            Kind::Vendor => Self::Vendor(VendorMessage::read(payload, false)?),
            Kind::VendorStandard => Self::Vendor(VendorMessage::read(payload, true)?),
            Kind::Push => Self::Push(Push::read(payload)?),
            Kind::Query => Self::Query(Query::read(payload, limits)?),
            Kind::QueryHit => Self::QueryHit(QueryHit::read(payload)?),
            Kind::Unknown(kind) => Self::Unknown { kind, payload },
        })
    }

    /// What stands in the header for this message.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Ping(_) => Kind::Ping,
            Self::Pong(_) => Kind::Pong,
            Self::Bye(_) => Kind::Bye,
            Self::RouteTable(_) => Kind::RouteTable,
            Self::Vendor(message) if message.is_standard => Kind::VendorStandard,
            Self::Vendor(_) => Kind::Vendor,
            Self::Push(_) => Kind::Push,
            Self::Query(_) => Kind::Query,
            Self::QueryHit(_) => Kind::QueryHit,
            Self::Unknown { kind, .. } => Kind::Unknown(*kind),
        }
    }

    /// Appends the message with its header, as it goes over the wire.
    pub fn write(&self, guid: crate::Guid, ttl: u8, hops: u8, out: &mut Vec<u8>) {
        let begin = out.len();
        let mut header = Header {
            guid,
            kind: self.kind(),
            ttl,
            hops,
            length: 0,
        };
        out.extend_from_slice(&header.bytes());
        self.write_payload(out);
        // The length is known only now.
        header.length = (out.len() - begin - Header::BYTES) as u32;
        out[begin..begin + Header::BYTES].copy_from_slice(&header.bytes());
    }

    fn write_payload(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping(ping) => out.extend_from_slice(ping.extensions),
            Self::Pong(pong) => pong.write(out),
            Self::Bye(bye) => bye.write(out),
            Self::RouteTable(update) => update.write(out),
            Self::Vendor(message) => message.write(out),
            Self::Push(push) => push.write(out),
            Self::Query(query) => query.write(out),
            Self::QueryHit(hit) => hit.write(out),
            Self::Unknown { payload, .. } => out.extend_from_slice(payload),
        }
    }
}

#[cfg(test)]
mod tests;
