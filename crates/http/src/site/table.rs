//! A map from bytes to cached files that many workers read at once.

use super::entry::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a table is divided into, so that workers seldom meet at one.
const SHARDS: usize = 64;

struct Slot {
    hash: u64,
    key: Box<[u8]>,
    entry: Arc<Entry>,
}

/// Hashes a key once, for both the lock and the slot.
pub(crate) struct Table {
    hasher: DefaultHashBuilder,
    shards: Vec<RwLock<HashTable<Slot>>>,
    shard_capacity: usize,
}

impl Table {
    /// A table of about `capacity` keys. A shard that is full is emptied: simple, and a peer that
    /// makes up spellings only makes others be looked up again.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            shard_capacity: capacity.div_ceil(SHARDS),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.get_hashed(self.hash(key), key)
    }

    /// What keys are found by.
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Like [`get`](Self::get), with the key's [`hash`](Self::hash).
    pub(crate) fn get_hashed(&self, hash: u64, key: &[u8]) -> Option<Arc<Entry>> {
        self.read(hash)
            .find(hash, |slot| *slot.key == *key)
            .map(|slot| slot.entry.clone())
    }

    pub(crate) fn insert(&self, key: &[u8], entry: &Arc<Entry>) {
        let hash = self.hash(key);
        let mut shard = self.write(hash);
        if let Some(slot) = shard.find_mut(hash, |slot| *slot.key == *key) {
            slot.entry = entry.clone();
        } else if self.shard_capacity > 0 {
            if shard.len() >= self.shard_capacity {
                shard.clear();
            }
            let slot = Slot {
                hash,
                key: key.into(),
                entry: entry.clone(),
            };
            shard.insert_unique(hash, slot, |slot| slot.hash);
        }
    }

    /// Removes `key` if it still leads to `entry`.
    pub(crate) fn remove(&self, key: &[u8], entry: &Arc<Entry>) {
        let hash = self.hash(key);
        let same = |slot: &Slot| *slot.key == *key && Arc::ptr_eq(&slot.entry, entry);
        if let Ok(slot) = self.write(hash).find_entry(hash, same) {
            slot.remove();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|s| s.read().unwrap_or_else(PoisonError::into_inner).len())
            .sum()
    }

    // No code that can panic half-way runs under these locks, so a poisoned one is still whole.
    fn read(&self, hash: u64) -> RwLockReadGuard<'_, HashTable<Slot>> {
        self.shard(hash)
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, hash: u64) -> RwLockWriteGuard<'_, HashTable<Slot>> {
        self.shard(hash)
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The table below uses the lowest and the highest bits of the hash: the middle ones are left.
    fn shard(&self, hash: u64) -> &RwLock<HashTable<Slot>> {
        &self.shards[(hash >> 40) as usize % SHARDS]
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} keys)", self.len())
    }
}
