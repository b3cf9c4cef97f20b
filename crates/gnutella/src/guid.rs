//! The 16 bytes that name a message or a servent.

use core::fmt;

/// The name of a message, or of a servent.
///
/// ```
/// use mely_gnutella::Guid;
/// let guid = Guid::modern([7; 16]);
/// assert_eq!(guid.to_string(), "0707070707070707ff07070707070700");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    /// A GUID out of 16 bytes of chance, marked as one of a servent that caches pongs: byte 8 is
    /// 255, byte 15 is 0 (Gnutella 0.6 draft, section 2.2.1).
    pub fn modern(random: [u8; 16]) -> Self {
        let mut bytes = random;
        bytes[8] = 0xff;
        bytes[15] = 0;
        Self(bytes)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({self})")
    }
}
