//! Requests to connect to where they come from (Gnutella 0.6 draft, section 2.2.8).

use crate::bytes::{Reader, put_ip, put_port};
use crate::error::Error;
use crate::guid::Guid;
use core::net::SocketAddrV4;

/// Asks a servent that cannot be connected to for a file, to be sent the other way round.
///
/// ```
/// use mely_gnutella::{Guid, Message, Push};
/// let address = "192.0.2.1:6346".parse().expect("an address");
/// let push = Push { servent: Guid([9; 16]), index: 1, address, extensions: b"" };
/// let mut bytes = Vec::new();
/// Message::Push(push).write(Guid([1; 16]), 7, 0, &mut bytes);
/// assert_eq!(bytes.len(), 23 + 26);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Push<'a> {
    /// The servent, by the name in its query hits.
    pub servent: Guid,
    /// The file, by the number in the hit.
    pub index: u32,
    /// Where to connect to.
    pub address: SocketAddrV4,
    /// What follows: a GGEP block, or nothing.
    pub extensions: &'a [u8],
}

impl<'a> Push<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("a push", payload);
        let servent = Guid(reader.array()?);
        let index = reader.u32()?;
        let ip = reader.ip()?;
        let port = reader.u16()?;
        Ok(Self {
            servent,
            index,
            address: SocketAddrV4::new(ip, port),
            extensions: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.servent.0);
        out.extend_from_slice(&self.index.to_le_bytes());
        put_ip(out, self.address);
        put_port(out, self.address);
        out.extend_from_slice(self.extensions);
    }
}
