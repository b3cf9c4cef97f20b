//! Updates of a route table ("Query Routing for the Gnutella Network" 1.0, section 4).

use crate::bytes::Reader;
use crate::error::Error;
use std::borrow::Cow;

const RESET: u8 = 0;
const PATCH: u8 = 1;

/// How the parts of a patch are compressed, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all.
    None,
    /// By zlib's deflate.
    Deflate,
}

/// One message of several that tell the receiver what the sender has.
///
/// [`TableReceiver`](crate::TableReceiver) puts them together, and
/// [`RouteTable::updates`](crate::RouteTable::updates) makes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTableUpdate<'a> {
    /// A new table, with nothing in it.
    Reset {
        /// How many slots it has.
        slots: u32,
        /// The distance that means "not there".
        infinity: u8,
    },
    /// A part of the change of all slots.
    Patch {
        /// Its number, from 1.
        number: u8,
        /// How many parts there are.
        count: u8,
        /// How they are compressed.
        compressor: Compressor,
        /// Bits of a slot's change: 8 or 4 with a sign, or 1 that tells to turn it over.
        bits: u8,
        /// The part.
        data: Cow<'a, [u8]>,
    },
}

impl<'a> RouteTableUpdate<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new("an update of a route table", payload);
        match reader.u8()? {
            RESET => Ok(Self::Reset {
                slots: reader.u32()?,
                infinity: reader.u8()?,
            }),
            PATCH => Ok(Self::Patch {
                number: reader.u8()?,
                count: reader.u8()?,
                compressor: match reader.u8()? {
                    0 => Compressor::None,
                    1 => Compressor::Deflate,
                    _ => return Err(Error::RouteTable("an unknown compressor")),
                },
                bits: reader.u8()?,
                data: Cow::Borrowed(reader.rest()),
            }),
            _ => Err(Error::RouteTable("an unknown kind of update")),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Reset { slots, infinity } => {
                out.push(RESET);
                out.extend_from_slice(&slots.to_le_bytes());
                out.push(*infinity);
            }
            Self::Patch {
                number,
                count,
                compressor,
                bits,
                data,
            } => {
                let compressor = match compressor {
                    Compressor::None => 0,
                    Compressor::Deflate => 1,
                };
                out.extend_from_slice(&[PATCH, *number, *count, compressor, *bits]);
                out.extend_from_slice(data);
            }
        }
    }
}
