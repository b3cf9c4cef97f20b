//! The messages that tell a peer of our table.

use super::RouteTable;
use crate::deflate::deflated;
use crate::message::{Compressor, RouteTableUpdate};
use std::borrow::Cow;

/// The distance that stands for "not there"; what is there is one hop away.
const INFINITY: u8 = 7;

/// Changes of a slot in four bits with a sign: from infinity to one, and back.
const APPEARS: u8 = 0x0a;
const VANISHES: u8 = 0x06;

/// Bytes of a part of a patch, as LimeWire cuts them: other messages go in between.
const PART_BYTES: usize = 4 * 1024;

/// Parts are counted in a byte.
const PARTS_MAX: usize = 255;

impl RouteTable {
    /// The messages that make a peer's copy of our table this one, in their order.
    ///
    /// `known` is what the peer was told last. Without it, or where its size is another, the first
    /// message is a reset; where it is the same table, there is nothing to tell.
    ///
    /// ```
    /// use mely_gnutella::{Limits, RouteTable, TableReceiver};
    /// let limits = Limits::default();
    /// let mut ours = RouteTable::new(RouteTable::LEAF_SLOTS, &limits)?;
    /// ours.insert_name("Free Song.ogg");
    /// let mut receiver = TableReceiver::new();
    /// for update in ours.updates(None) {
    ///     receiver.apply(&update, &limits)?;
    /// }
    /// assert_eq!(receiver.table(), Some(&ours));
    /// # Ok::<(), mely_gnutella::Error>(())
    /// ```
    pub fn updates(&self, known: Option<&RouteTable>) -> Vec<RouteTableUpdate<'static>> {
        let known = known.filter(|known| known.bits == self.bits);
        if known == Some(self) {
            return Vec::new();
        }
        let mut updates = Vec::new();
        if known.is_none() {
            updates.push(RouteTableUpdate::Reset {
                slots: 1 << self.bits,
                infinity: INFINITY,
            });
        }
        let changes = self.changes(known);
        let packed = deflated(&changes);
        let (compressor, data) = if packed.len() < changes.len() {
            (Compressor::Deflate, packed)
        } else {
            (Compressor::None, changes)
        };
        let part_bytes = data.len().div_ceil(PARTS_MAX).max(PART_BYTES);
        let count = data.len().div_ceil(part_bytes) as u8;
        for (part, number) in data.chunks(part_bytes).zip(1..) {
            updates.push(RouteTableUpdate::Patch {
                number,
                count,
                compressor,
                bits: 4,
                data: Cow::Owned(part.to_vec()),
            });
        }
        updates
    }

    fn changes(&self, known: Option<&RouteTable>) -> Vec<u8> {
        let mut changes = vec![0; self.slots().div_ceil(2)];
        for slot in 0..self.slots() {
            let before = known.is_some_and(|known| known.is_set(slot));
            let change = match (before, self.is_set(slot)) {
                (false, true) => APPEARS,
                (true, false) => VANISHES,
                _ => continue,
            };
            // The first of two slots has the upper half of their byte.
            changes[slot / 2] |= if slot % 2 == 0 { change << 4 } else { change };
        }
        changes
    }
}
