//! Route tables: what a peer may have, so that it is not asked for what it has not.
//!
//! The source is "Query Routing for the Gnutella Network" 1.0, without the propagation of tables,
//! which nobody does: a table tells what the sender and its leaves have, not how far it is.

mod receiver;
mod update;

pub use receiver::TableReceiver;

use crate::error::Error;
use crate::limits::Limits;
use crate::message::Query;
use crate::urn::Sha1Urn;
use crate::words::words;

/// Two to the 32nd, divided by the golden ratio: spreads what is multiplied by it.
const MULTIPLIER: u32 = 0x4f1b_bcdc;

/// Shorter words are in no table, as they are in every name.
const WORD_LETTERS_MIN: usize = 3;

/// From so many words on, two thirds of them are enough: a searcher types words that are not in
/// names, and today's servents hold it so.
const FEW_WORDS: usize = 3;

/// The 32 bits that slots of tables of any size are made of.
fn product(word: &[u8]) -> u32 {
    let mut mixed = 0;
    for (at, byte) in word.iter().enumerate() {
        mixed ^= u32::from(byte.to_ascii_lowercase()) << (at % 4 * 8);
    }
    mixed.wrapping_mul(MULTIPLIER)
}

fn slot(product: u32, bits: u8) -> usize {
    (u64::from(product) >> (32 - bits)) as usize
}

/// What a query looks for, hashed once for the tables of all peers.
///
/// ```
/// use mely_gnutella::{Limits, Query, QueryFlags, QueryKey, RouteTable};
/// let limits = Limits::default();
/// let mut table = RouteTable::new(65_536, &limits)?;
/// table.insert_name("Free Song.ogg");
/// let query = Query { flags: QueryFlags::default(), text: b"song free", extensions: b"" };
/// assert!(table.matches(&QueryKey::of(&query, &limits)?));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryKey {
    words: Vec<u32>,
    urns: Vec<u32>,
}

impl QueryKey {
    /// Hashes the words and names of content in a query.
    ///
    /// # Errors
    /// Those of [`Query::extensions`].
    pub fn of(query: &Query<'_>, limits: &Limits) -> Result<Self, Error> {
        let urns = query.extensions(limits)?;
        let urns = urns.iter().filter_map(|extension| extension.sha1());
        let mut words: Vec<_> = long_words(&query.text_lossy()).collect();
        // A word that is typed twice does not count twice.
        words.sort_unstable();
        words.dedup();
        Ok(Self {
            words,
            urns: urns.map(urn_product).collect(),
        })
    }
}

fn long_words(text: &str) -> impl Iterator<Item = u32> + '_ {
    words(text)
        .filter(|word| word.chars().count() >= WORD_LETTERS_MIN)
        .map(|word| product(word.as_bytes()))
}

fn urn_product(urn: Sha1Urn) -> u32 {
    product(urn.to_string().as_bytes())
}

/// Which words a peer, or this node with its leaves, may have something for.
///
/// It takes a bit a slot. Two words may share a slot: a match is a perhaps, no match is a no.
///
/// ```
/// use mely_gnutella::{Limits, RouteTable};
/// let limits = Limits::default();
/// let mut leaf = RouteTable::new(RouteTable::LEAF_SLOTS, &limits)?;
/// leaf.insert_name("Free Song.ogg");
/// let mut ours = RouteTable::new(RouteTable::ULTRAPEER_SLOTS, &limits)?;
/// ours.merge(&leaf);
/// // Two slots of this size stand for one of the leaf's.
/// assert_eq!((leaf.slots_set(), ours.slots_set()), (3, 6));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTable {
    bits: u8,
    present: Vec<u64>,
}

impl RouteTable {
    /// The size of a leaf's table in use today.
    pub const LEAF_SLOTS: u32 = 65_536;

    /// The size of a table that ultrapeers make of those of their leaves.
    pub const ULTRAPEER_SLOTS: u32 = 131_072;

    /// A table with nothing in it.
    ///
    /// # Errors
    /// [`Error::RouteTable`] if the slots are no power of two, and [`Error::RouteTableTooLarge`].
    pub fn new(slots: u32, limits: &Limits) -> Result<Self, Error> {
        if slots > limits.max_route_table_slots {
            return Err(Error::RouteTableTooLarge {
                slots,
                max: limits.max_route_table_slots,
            });
        }
        if !slots.is_power_of_two() {
            return Err(Error::RouteTable("its slots are no power of two"));
        }
        Ok(Self {
            bits: slots.trailing_zeros() as u8,
            present: vec![0; slots.div_ceil(64) as usize],
        })
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        1 << self.bits
    }

    /// How many of them are set: tables that are nearly full match everything.
    pub fn slots_set(&self) -> usize {
        let set = self.present.iter().map(|part| part.count_ones() as usize);
        set.sum()
    }

    /// Adds the words of a file's name.
    pub fn insert_name(&mut self, name: &str) {
        for product in long_words(name) {
            self.set(slot(product, self.bits), true);
        }
    }

    /// Adds the name of a file's content.
    pub fn insert_urn(&mut self, urn: Sha1Urn) {
        self.set(slot(urn_product(urn), self.bits), true);
    }

    /// Adds what another table has, of whatever size.
    pub fn merge(&mut self, other: &RouteTable) {
        // A slot is the upper bits of a product, so that sizes differ by the lower ones.
        let (narrow, wide) = (
            other.bits.saturating_sub(self.bits),
            self.bits.saturating_sub(other.bits),
        );
        for from in (0..other.slots()).filter(|&slot| other.is_set(slot)) {
            let first = from >> narrow << wide;
            for slot in first..first + (1 << wide) {
                self.set(slot, true);
            }
        }
    }

    /// Whether the peer may have something for a query: the content, if it is named; else all words,
    /// or two thirds of three and more. A query without words of three letters matches nothing.
    pub fn matches(&self, key: &QueryKey) -> bool {
        let has = |product: &&u32| self.is_set(slot(**product, self.bits));
        if !key.urns.is_empty() {
            return key.urns.iter().any(|product| has(&product));
        }
        let found = key.words.iter().filter(has).count();
        let count = key.words.len();
        if count < FEW_WORDS {
            count > 0 && found == count
        } else {
            found * 3 >= count * 2
        }
    }

    fn is_set(&self, slot: usize) -> bool {
        self.present[slot / 64] >> (slot % 64) & 1 == 1
    }

    fn set(&mut self, slot: usize, present: bool) {
        let bit = 1 << (slot % 64);
        if present {
            self.present[slot / 64] |= bit;
        } else {
            self.present[slot / 64] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests;
