//! What some extensions say. Those that are not here are passed on and not understood.

use super::Ggep;
use core::net::{Ipv4Addr, SocketAddrV4};

/// Room of an ultrapeer, out of `UP` in its pong.
///
/// The table of extensions in the Gnutella 0.6 draft has the two counts in the other order;
/// servents write them in this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UltrapeerSlots {
    /// The version of the ultrapeer protocol: four bits before the point, four behind it.
    pub version: u8,
    /// Leaves that it has room for.
    pub leaves: u8,
    /// Ultrapeers that it has room for.
    pub ultrapeers: u8,
}

/// The addresses of a packed list: six bytes each, the port with its low byte first.
///
/// ```
/// use mely_gnutella::PackedHosts;
/// let mut hosts = PackedHosts::new(&[192, 0, 2, 1, 0xca, 0x18]);
/// assert_eq!(hosts.next(), Some("192.0.2.1:6346".parse()?));
/// assert_eq!(hosts.next(), None);
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PackedHosts<'a>(core::slice::Chunks<'a, u8>);

impl<'a> PackedHosts<'a> {
    /// Reads the data of an extension; a rest that is no whole address is ignored.
    pub fn new(data: &'a [u8]) -> Self {
        Self(data.chunks(6))
    }
}

impl Iterator for PackedHosts<'_> {
    type Item = SocketAddrV4;

    fn next(&mut self) -> Option<SocketAddrV4> {
        let &[a, b, c, d, low, high] = self.0.next()? else {
            return None;
        };
        let port = u16::from_le_bytes([low, high]);
        Some(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))
    }
}

impl Ggep {
    /// `UP`: the sender is an ultrapeer, and has room for so many.
    pub fn ultrapeer(&self) -> Option<UltrapeerSlots> {
        let &[version, leaves, ultrapeers] = self.get(b"UP")?.first_chunk()?;
        Some(UltrapeerSlots {
            version,
            leaves,
            ultrapeers,
        })
    }

    /// `DU`: seconds that the sender is up on an average day.
    pub fn daily_uptime_s(&self) -> Option<u32> {
        number(self.get(b"DU")?).and_then(|number| u32::try_from(number).ok())
    }

    /// `LF`: the length of a file in bytes, where 32 bits do not hold it.
    pub fn large_file_bytes(&self) -> Option<u64> {
        number(self.get(b"LF")?)
    }

    /// `LOC`: two letters of a language that the sender prefers.
    pub fn locale(&self) -> Option<[u8; 2]> {
        self.get(b"LOC")?.first_chunk().copied()
    }

    /// `VC`: the four letters of the sender's vendor, and its version in a byte.
    pub fn vendor(&self) -> Option<([u8; 4], Option<u8>)> {
        let data = self.get(b"VC")?;
        Some((*data.first_chunk()?, data.get(4).copied()))
    }

    /// `IPP`: ultrapeers that have room, in the pong to a ping with `SCP`.
    pub fn packed_hosts(&self) -> PackedHosts<'_> {
        PackedHosts::new(self.get(b"IPP").unwrap_or_default())
    }

    /// `SCP`: the sender of this ping wants [`packed_hosts`](Self::packed_hosts) in the pong.
    pub fn wants_packed_hosts(&self) -> bool {
        self.get(b"SCP").is_some()
    }
}

/// A number of up to eight bytes, the low one first.
fn number(data: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes.get_mut(..data.len())?.copy_from_slice(data);
    (!data.is_empty()).then(|| u64::from_le_bytes(bytes))
}
