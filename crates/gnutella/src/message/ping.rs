//! Ping and pong (Gnutella 0.6 draft, sections 2.2.2 and 2.2.3).

use crate::bytes::{Reader, put_ip, put_port};
use crate::error::Error;
use crate::ggep::{GGEP_MAGIC, Ggep};
use crate::limits::Limits;
use core::net::SocketAddrV4;

/// Who is there?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ping<'a> {
    /// All of the payload: a GGEP block, or nothing.
    pub extensions: &'a [u8],
}

impl Ping<'_> {
    /// The GGEP block, if there is one.
    ///
    /// # Errors
    /// Those of [`Ggep::read`]. The ping is good without it.
    pub fn ggep(&self, limits: &Limits) -> Result<Option<Ggep>, Error> {
        only_block(self.extensions, limits)
    }
}

/// A host that is there, and what it shares.
///
/// ```
/// use mely_gnutella::{Ggep, Guid, Limits, Message, Pong};
/// let mut block = Ggep::default();
/// block.push(b"UP", &[1, 10, 5])?;
/// let mut extensions = Vec::new();
/// block.write(false, &mut extensions);
/// let pong = Pong {
///     address: "192.0.2.1:6346".parse().expect("an address"),
///     files: 12,
///     kbytes: 34_567,
///     extensions: &extensions,
/// };
/// assert_eq!(pong.ggep(&Limits::default())?.and_then(|block| block.ultrapeer()).map(|up| up.leaves), Some(10));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pong<'a> {
    /// Where it accepts connections.
    pub address: SocketAddrV4,
    /// How many files it shares.
    pub files: u32,
    /// How many KiB these have. Ultrapeers of old told themselves by a power of two here.
    pub kbytes: u32,
    /// What follows: a GGEP block, or nothing.
    pub extensions: &'a [u8],
}

impl<'a> Pong<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("a pong", payload);
        let port = reader.u16()?;
        Ok(Self {
            address: SocketAddrV4::new(reader.ip()?, port),
            files: reader.u32()?,
            kbytes: reader.u32()?,
            extensions: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_port(out, self.address);
        put_ip(out, self.address);
        out.extend_from_slice(&self.files.to_le_bytes());
        out.extend_from_slice(&self.kbytes.to_le_bytes());
        out.extend_from_slice(self.extensions);
    }

    /// The GGEP block, if there is one.
    ///
    /// # Errors
    /// Those of [`Ggep::read`]. The pong is good without it.
    pub fn ggep(&self, limits: &Limits) -> Result<Option<Ggep>, Error> {
        only_block(self.extensions, limits)
    }
}

fn only_block(extensions: &[u8], limits: &Limits) -> Result<Option<Ggep>, Error> {
    if extensions.first() == Some(&GGEP_MAGIC) {
        return Ggep::read(extensions, limits).map(|(block, _)| Some(block));
    }
    Ok(None)
}
