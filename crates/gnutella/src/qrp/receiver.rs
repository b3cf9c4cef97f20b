//! A peer's table, from the messages that tell of it.

use super::RouteTable;
use crate::deflate::inflated;
use crate::error::Error;
use crate::limits::Limits;
use crate::message::{Compressor, RouteTableUpdate};

/// What deflate adds to bytes that it cannot make shorter, at the most, and some.
const fn deflated_bytes_max(bytes: usize) -> usize {
    bytes + bytes / 64 + 1024
}

/// Puts a peer's table together.
///
/// Only whether a word is there is kept, not how far: what comes nearer is there, what goes away is
/// not. With the two distances that are in use (one hop, and infinity) that is the same.
#[derive(Debug, Clone, Default)]
pub struct TableReceiver {
    table: Option<RouteTable>,
    /// A reset alone tells that there is nothing, which the patch behind it corrects.
    is_patched: bool,
    pending: Option<Pending>,
}

/// A patch that is not whole.
#[derive(Debug, Clone)]
struct Pending {
    shape: Shape,
    next: u8,
    data: Vec<u8>,
}

/// What all parts of a patch have alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    count: u8,
    compressor: Compressor,
    bits: u8,
}

impl TableReceiver {
    /// A receiver that was told nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The table, once the first patch was whole.
    pub fn table(&self) -> Option<&RouteTable> {
        self.table.as_ref().filter(|_| self.is_patched)
    }

    /// Takes a message, and tells whether the table is another now.
    ///
    /// # Errors
    /// [`Error::RouteTable`] for what comes out of order or does not fit the table, and
    /// [`Error::RouteTableTooLarge`]. The connection has to close: the tables differ from now on.
    pub fn apply(&mut self, update: &RouteTableUpdate<'_>, limits: &Limits) -> Result<bool, Error> {
        match update {
            RouteTableUpdate::Reset { slots, infinity } => {
                if *infinity == 0 {
                    return Err(Error::RouteTable("everything is infinitely far"));
                }
                *self = Self {
                    table: Some(RouteTable::new(*slots, limits)?),
                    ..Self::default()
                };
                Ok(false)
            }
            RouteTableUpdate::Patch {
                number,
                count,
                compressor,
                bits,
                data,
            } => {
                let shape = Shape {
                    count: *count,
                    compressor: *compressor,
                    bits: *bits,
                };
                self.part(shape, *number, data)
            }
        }
    }

    fn part(&mut self, shape: Shape, number: u8, data: &[u8]) -> Result<bool, Error> {
        let Some(table) = &mut self.table else {
            return Err(Error::RouteTable("a patch comes before a reset"));
        };
        if !matches!(shape.bits, 1 | 4 | 8) {
            return Err(Error::RouteTable(
                "a slot changes by neither 1, 4 nor 8 bits",
            ));
        }
        let pending = self.pending.get_or_insert(Pending {
            shape,
            next: 1,
            data: Vec::new(),
        });
        if pending.shape != shape || number != pending.next || number > shape.count {
            return Err(Error::RouteTable("the parts of a patch are out of order"));
        }
        let whole = (table.slots() * usize::from(shape.bits)).div_ceil(8);
        let room = match shape.compressor {
            Compressor::None => whole,
            Compressor::Deflate => deflated_bytes_max(whole),
        };
        if pending.data.len() + data.len() > room {
            return Err(Error::RouteTable("a patch is longer than the table"));
        }
        pending.data.extend_from_slice(data);
        if number < shape.count {
            pending.next += 1;
            return Ok(false);
        }
        let data = self.pending.take().map_or(Vec::new(), |whole| whole.data);
        let changes = match shape.compressor {
            Compressor::None => data,
            Compressor::Deflate => inflated(&data, whole)
                .map_err(|_| Error::RouteTable("a patch does not inflate to its table"))?,
        };
        if changes.len() != whole {
            return Err(Error::RouteTable("a patch is shorter than the table"));
        }
        table.change(&changes, shape.bits);
        self.is_patched = true;
        Ok(true)
    }
}

impl RouteTable {
    fn change(&mut self, changes: &[u8], bits: u8) {
        let per_byte = usize::from(8 / bits);
        for (index, &byte) in changes.iter().enumerate() {
            // Most of a patch is zero.
            if byte == 0 {
                continue;
            }
            for part in 0..per_byte {
                let slot = index * per_byte + part;
                // What stands behind the slots of a tiny table fills a byte.
                if slot >= self.slots() {
                    break;
                }
                let change = byte << (part * usize::from(bits)) >> (8 - bits);
                match bits {
                    1 if change == 1 => self.set(slot, !self.is_set(slot)),
                    1 => {}
                    _ if change == 0 => {}
                    _ => self.set(slot, change >> (bits - 1) == 1),
                }
            }
        }
    }
}
