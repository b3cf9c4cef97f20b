//! GGEP: extensions with names, within pings, pongs, queries, hits and pushes.
//!
//! The source is "Gnutella Generic Extension Protocol", document revision 0.51.

mod cobs;
mod known;

use crate::deflate::inflated;
use crate::error::Error;
use crate::limits::Limits;

pub use known::{PackedHosts, UltrapeerSlots};

/// The byte that a block begins with.
pub const GGEP_MAGIC: u8 = 0xc3;

/// Bytes of data that an extension written here may have: three groups of six bits count them,
/// and COBS adds one to each 254.
pub const GGEP_DATA_BYTES_MAX: usize = 261_000;

const LAST: u8 = 0x80;
const COBS: u8 = 0x40;
const DEFLATE: u8 = 0x20;
const RESERVED: u8 = 0x10;
const ID_LENGTH: u8 = 0x0f;

const LENGTH_GOES_ON: u8 = 0x80;
const LENGTH_ENDS: u8 = 0x40;
const LENGTH_BITS: u8 = 0x3f;
const LENGTH_GROUPS_MAX: usize = 3;

/// One extension of a block, with its data as it is meant: neither stuffed nor compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgepExtension {
    /// 1 to 15 bytes, none of them NUL; ASCII letters mostly.
    pub id: Vec<u8>,
    /// What it says.
    pub data: Vec<u8>,
}

/// A block of extensions.
///
/// ```
/// use mely_gnutella::{Ggep, Limits};
/// let mut block = Ggep::default();
/// block.push(b"DU", &[0x10, 0x0e])?;
/// let mut bytes = Vec::new();
/// block.write(false, &mut bytes);
/// let (read, length) = Ggep::read(&bytes, &Limits::default())?;
/// assert_eq!((read.daily_uptime_s(), length), (Some(3600), bytes.len()));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ggep {
    extensions: Vec<GgepExtension>,
}

impl Ggep {
    /// Reads the block that the bytes begin with, and tells its length.
    ///
    /// # Errors
    /// [`Error::Malformed`] and [`Error::Truncated`] for what is no block, [`Error::TooMany`],
    /// [`Error::TooLong`] and [`Error::ExtensionInflate`] for one beyond the limits.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<(Self, usize), Error> {
        let mut room = limits.max_ggep_bytes;
        Self::read_within(&mut room, bytes, limits)
    }

    /// The same for one of several blocks, which share the room for their data: compressed data of
    /// many blocks would else be worth many times the limit.
    pub(crate) fn read_within(
        room: &mut usize,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(Self, usize), Error> {
        if bytes.first() != Some(&GGEP_MAGIC) {
            return Err(Error::Malformed {
                what: "the beginning of a GGEP block",
            });
        }
        let mut reader = Encoded {
            rest: &bytes[1..],
            room,
        };
        let mut block = Self::default();
        loop {
            if block.extensions.len() == limits.max_ggep_extensions {
                return Err(Error::TooMany {
                    what: "GGEP extensions",
                    max: limits.max_ggep_extensions,
                });
            }
            let (extension, is_last) = reader.extension(limits)?;
            block.extensions.push(extension);
            if is_last {
                return Ok((block, bytes.len() - reader.rest.len()));
            }
        }
    }

    /// Appends an extension.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an id of no byte, more than 15, or with a NUL, and
    /// [`Error::TooLong`] for data of more than [`GGEP_DATA_BYTES_MAX`] bytes.
    pub fn push(&mut self, id: &[u8], data: &[u8]) -> Result<(), Error> {
        if id.is_empty() || id.len() > usize::from(ID_LENGTH) || id.contains(&0) {
            return Err(Error::Malformed {
                what: "the id of a GGEP extension",
            });
        }
        if data.len() > GGEP_DATA_BYTES_MAX {
            return Err(Error::TooLong {
                what: "the data of a GGEP extension",
                max: GGEP_DATA_BYTES_MAX,
            });
        }
        self.extensions.push(GgepExtension {
            id: id.to_vec(),
            data: data.to_vec(),
        });
        Ok(())
    }

    /// All extensions, in their order.
    pub fn extensions(&self) -> &[GgepExtension] {
        &self.extensions
    }

    /// The data of the first extension with this id.
    pub fn get(&self, id: &[u8]) -> Option<&[u8]> {
        let found = self.extensions.iter().find(|found| found.id == id)?;
        Some(&found.data)
    }

    /// Appends the block; nothing for one without extensions, which the format does not have.
    /// Within a result of a query hit no byte may be NUL, so that `without_nuls` stuffs data.
    pub fn write(&self, without_nuls: bool, out: &mut Vec<u8>) {
        let Some(last) = self.extensions.len().checked_sub(1) else {
            return;
        };
        out.push(GGEP_MAGIC);
        for (index, extension) in self.extensions.iter().enumerate() {
            let mut flags = extension.id.len() as u8;
            if index == last {
                flags |= LAST;
            }
            if without_nuls && extension.data.contains(&0) {
                let stuffed = cobs::encoded(&extension.data);
                put(flags | COBS, &extension.id, &stuffed, out);
            } else {
                put(flags, &extension.id, &extension.data, out);
            }
        }
    }
}

fn put(flags: u8, id: &[u8], data: &[u8], out: &mut Vec<u8>) {
    out.push(flags);
    out.extend_from_slice(id);
    let length = data.len();
    let group = |shift: usize| (length >> shift) as u8 & LENGTH_BITS;
    if length >> 12 > 0 {
        out.push(LENGTH_GOES_ON | group(12));
    }
    if length >> 6 > 0 {
        out.push(LENGTH_GOES_ON | group(6));
    }
    out.push(LENGTH_ENDS | group(0));
    out.extend_from_slice(data);
}

struct Encoded<'a, 'room> {
    rest: &'a [u8],
    /// Bytes of data that the block may still have.
    room: &'room mut usize,
}

impl<'a> Encoded<'a, '_> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Error::Truncated {
            what: "a GGEP block",
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.take(1).map(|byte| byte[0])
    }

    fn extension(&mut self, limits: &Limits) -> Result<(GgepExtension, bool), Error> {
        let flags = self.byte()?;
        let id = self.take(usize::from(flags & ID_LENGTH))?;
        if flags & RESERVED != 0 || id.is_empty() || id.contains(&0) {
            return Err(Error::Malformed {
                what: "the head of a GGEP extension",
            });
        }
        let length = self.length()?;
        let raw = self.take(length)?;
        let mut data = if flags & COBS == 0 {
            raw.to_vec()
        } else {
            cobs::decoded(raw)?
        };
        // Some servents set the flag on data that is not there.
        if flags & DEFLATE != 0 && !data.is_empty() {
            data = inflated(&data, *self.room).map_err(|_| Error::ExtensionInflate)?;
        }
        *self.room = self.room.checked_sub(data.len()).ok_or(Error::TooLong {
            what: "a GGEP block",
            max: limits.max_ggep_bytes,
        })?;
        let id = id.to_vec();
        Ok((GgepExtension { id, data }, flags & LAST != 0))
    }

    fn length(&mut self) -> Result<usize, Error> {
        let mut length = 0;
        for _ in 0..LENGTH_GROUPS_MAX {
            let byte = self.byte()?;
            length = length << 6 | usize::from(byte & LENGTH_BITS);
            match byte & (LENGTH_GOES_ON | LENGTH_ENDS) {
                LENGTH_ENDS => return Ok(length),
                LENGTH_GOES_ON => {}
                _ => break,
            }
        }
        Err(Error::Malformed {
            what: "the length of a GGEP extension",
        })
    }
}

#[cfg(test)]
mod tests;
