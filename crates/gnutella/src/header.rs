//! The 23 bytes before every message.

use crate::error::Error;
use crate::guid::Guid;

/// What a message is, by the byte 16 of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// 0x00: who is there?
    Ping,
    /// 0x01: a host that is there.
    Pong,
    /// 0x02: why the connection ends.
    Bye,
    /// 0x30: an update of a route table.
    RouteTable,
    /// 0x31: a message of a vendor's own.
    Vendor,
    /// 0x32: a message of a vendor's that became a standard.
    VendorStandard,
    /// 0x40: a request to connect to where it comes from.
    Push,
    /// 0x80: a search.
    Query,
    /// 0x81: results.
    QueryHit,
    /// Anything else.
    Unknown(u8),
}

impl From<u8> for Kind {
    fn from(byte: u8) -> Self {
        match byte {
            0x00 => Self::Ping,
            0x01 => Self::Pong,
            0x02 => Self::Bye,
            0x30 => Self::RouteTable,
            0x31 => Self::Vendor,
            0x32 => Self::VendorStandard,
            0x40 => Self::Push,
            0x80 => Self::Query,
            0x81 => Self::QueryHit,
            other => Self::Unknown(other),
        }
    }
}

impl From<Kind> for u8 {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Ping => 0x00,
            Kind::Pong => 0x01,
            Kind::Bye => 0x02,
            Kind::RouteTable => 0x30,
            Kind::Vendor => 0x31,
            Kind::VendorStandard => 0x32,
            Kind::Push => 0x40,
            Kind::Query => 0x80,
            Kind::QueryHit => 0x81,
            Kind::Unknown(other) => other,
        }
    }
}

/// The header of a message (Gnutella 0.6 draft, section 2.2.1).
///
/// ```
/// use mely_gnutella::{Guid, Header, Kind};
/// let header = Header { guid: Guid([1; 16]), kind: Kind::Ping, ttl: 7, hops: 0, length: 0 };
/// assert_eq!(Header::read(&header.bytes())?, header);
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The name of the message; answers have that of what they answer.
    pub guid: Guid,
    /// What it is.
    pub kind: Kind,
    /// How many more times it may be sent on.
    pub ttl: u8,
    /// How many times it was.
    pub hops: u8,
    /// Bytes that follow.
    pub length: u32,
}

impl Header {
    /// The length of a header.
    pub const BYTES: usize = 23;

    /// Reads the header that the bytes begin with.
    ///
    /// # Errors
    /// [`Error::Truncated`] when there are fewer than 23.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::BYTES] = bytes
            .first_chunk()
            .ok_or(Error::Truncated { what: "a header" })?;
        let mut guid = [0; 16];
        guid.copy_from_slice(&bytes[..16]);
        Ok(Self {
            guid: Guid(guid),
            kind: Kind::from(bytes[16]),
            ttl: bytes[17],
            hops: bytes[18],
            length: u32::from_le_bytes([bytes[19], bytes[20], bytes[21], bytes[22]]),
        })
    }

    /// The header as bytes.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.guid.0);
        bytes[16] = self.kind.into();
        bytes[17] = self.ttl;
        bytes[18] = self.hops;
        bytes[19..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }
}
