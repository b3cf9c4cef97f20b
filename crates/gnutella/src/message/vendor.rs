//! Messages of vendors ("Framework for Vendor-specific Messages" 0.1).

use crate::bytes::Reader;
use crate::error::Error;
use crate::limits::Limits;

/// A message of a vendor's own. It goes one hop: whoever does not know it drops it.
///
/// ```
/// use mely_gnutella::{Limits, SupportedMessage, VendorMessage};
/// let known = [SupportedMessage { vendor: *b"BEAR", selector: 4, version: 1 }];
/// let payload = VendorMessage::supported_payload(&known);
/// let message = VendorMessage::supported(&payload);
/// assert_eq!(message.read_supported(&Limits::default())?, Some(known.to_vec()));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VendorMessage<'a> {
    /// Four letters of the vendor, or four NULs for messages that are everybody's.
    pub vendor: [u8; 4],
    /// Which message of the vendor's.
    pub selector: u16,
    /// In which version.
    pub version: u16,
    /// Whether it came as 0x32, a message that became a standard.
    pub is_standard: bool,
    /// What it says.
    pub payload: &'a [u8],
}

/// A message that a servent understands, with the newest version that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupportedMessage {
    /// The vendor.
    pub vendor: [u8; 4],
    /// The message.
    pub selector: u16,
    /// Its version.
    pub version: u16,
}

const EVERYBODY: [u8; 4] = [0; 4];
const MESSAGES_SUPPORTED: u16 = 0;
const HOPS_FLOW: ([u8; 4], u16) = (*b"BEAR", 4);

impl<'a> VendorMessage<'a> {
    pub(super) fn read(payload: &'a [u8], is_standard: bool) -> Result<Self, Error> {
        let mut reader = Reader::new("a vendor message", payload);
        Ok(Self {
            vendor: reader.array()?,
            selector: reader.u16()?,
            version: reader.u16()?,
            is_standard,
            payload: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.vendor);
        out.extend_from_slice(&self.selector.to_le_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(self.payload);
    }

    /// "Messages Supported": what comes first on a connection whose both ends told of
    /// `Vendor-Message` in the handshake. Its payload is made by
    /// [`supported_payload`](Self::supported_payload).
    pub fn supported(payload: &'a [u8]) -> Self {
        Self {
            vendor: EVERYBODY,
            selector: MESSAGES_SUPPORTED,
            version: 0,
            is_standard: false,
            payload,
        }
    }

    /// The payload that tells of these messages; of 65 535 at the most.
    pub fn supported_payload(messages: &[SupportedMessage]) -> Vec<u8> {
        let count = u16::try_from(messages.len()).unwrap_or(u16::MAX);
        let mut out = count.to_le_bytes().to_vec();
        for message in &messages[..usize::from(count)] {
            out.extend_from_slice(&message.vendor);
            out.extend_from_slice(&message.selector.to_le_bytes());
            out.extend_from_slice(&message.version.to_le_bytes());
        }
        out
    }

    /// What "Messages Supported" tells; nothing if this is another message.
    ///
    /// # Errors
    /// [`Error::TooMany`] and [`Error::Truncated`].
    pub fn read_supported(&self, limits: &Limits) -> Result<Option<Vec<SupportedMessage>>, Error> {
        if (self.vendor, self.selector) != (EVERYBODY, MESSAGES_SUPPORTED) {
            return Ok(None);
        }
        let mut reader = Reader::new("the list of supported messages", self.payload);
        let count = usize::from(reader.u16()?);
        if count > limits.max_vendor_messages {
            return Err(Error::TooMany {
                what: "supported messages",
                max: limits.max_vendor_messages,
            });
        }
        let mut read = Vec::new();
        for _ in 0..count {
            read.push(SupportedMessage {
                vendor: reader.array()?,
                selector: reader.u16()?,
                version: reader.u16()?,
            });
        }
        Ok(Some(read))
    }

    /// "Hops Flow" of BearShare: the sender wants no queries that have made as many hops as this, or
    /// more. Nothing if this is another message.
    pub fn hops_flow(&self) -> Option<u8> {
        let is_it = (self.vendor, self.selector) == HOPS_FLOW;
        is_it.then(|| self.payload.first().copied()).flatten()
    }
}
