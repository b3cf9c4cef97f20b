//! What is remembered of GUIDs, for a while.

use crate::guid::Guid;
use crate::limits::Limits;
use std::collections::HashMap;

/// Two tables: a new one that is written, and an old one that is only read. When the new one is full
/// or old enough it takes the old one's place. So nothing has to be searched for what is too old, and
/// an entry lives between one and two ages.
#[derive(Debug)]
pub(super) struct GuidTable<V> {
    new: HashMap<Guid, V>,
    old: HashMap<Guid, V>,
    entries_max: usize,
    age_s: u64,
    begun_s: u64,
}

impl<V: Copy> GuidTable<V> {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            new: HashMap::new(),
            old: HashMap::new(),
            entries_max: limits.max_routes.max(1),
            age_s: limits.routes_age_s,
            begun_s: 0,
        }
    }

    pub(super) fn get(&mut self, guid: Guid, now_s: u64) -> Option<V> {
        self.rotate(now_s);
        self.new.get(&guid).or_else(|| self.old.get(&guid)).copied()
    }

    /// Remembers what was not known, and tells whether that is so.
    pub(super) fn insert(&mut self, guid: Guid, value: V, now_s: u64) -> bool {
        let is_fresh = self.get(guid, now_s).is_none();
        if is_fresh {
            self.put(guid, value, now_s);
        }
        is_fresh
    }

    /// Remembers this from now on, whatever it was.
    pub(super) fn put(&mut self, guid: Guid, value: V, now_s: u64) {
        self.rotate(now_s);
        if self.new.len() >= self.entries_max && !self.new.contains_key(&guid) {
            self.begin(now_s);
        }
        self.new.insert(guid, value);
    }

    fn rotate(&mut self, now_s: u64) {
        let passed_s = now_s.saturating_sub(self.begun_s);
        if passed_s >= self.age_s {
            self.begin(now_s);
        }
        // After a long silence the table that was new is too old as well.
        if passed_s / 2 >= self.age_s {
            self.old.clear();
        }
    }

    fn begin(&mut self, now_s: u64) {
        core::mem::swap(&mut self.new, &mut self.old);
        self.new.clear();
        self.begun_s = now_s;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn guid(number: u8) -> Guid {
        Guid([number; 16])
    }

    fn table() -> GuidTable<u8> {
        GuidTable::new(&Limits {
            max_routes: 3,
            routes_age_s: 10,
            ..Limits::default()
        })
    }

    #[test]
    fn entries_live_one_age_at_least_and_two_at_most() {
        let mut table = table();
        assert!(table.insert(guid(1), 1, 9));
        assert!(!table.insert(guid(1), 2, 18));
        assert_eq!(table.get(guid(1), 27), Some(1));
        assert_eq!(table.get(guid(1), 28), None);
        assert!(table.insert(guid(1), 3, 28));
        assert_eq!(table.get(guid(1), 1000), None);
    }

    #[test]
    fn the_newest_stay_when_there_are_too_many() {
        let mut table = table();
        for number in 0..8 {
            assert!(table.insert(guid(number), number, 1));
        }
        assert_eq!(table.len(), 5);
        assert_eq!(table.get(guid(2), 1), None);
        assert_eq!(table.get(guid(3), 1), Some(3));
    }

    #[test]
    fn what_is_put_again_is_new() {
        let mut table = table();
        table.put(guid(1), 1, 1);
        table.put(guid(1), 2, 12);
        assert_eq!(table.get(guid(1), 21), Some(2));
    }

    proptest! {
        #[test]
        fn there_are_never_more_than_two_tables_full(
            inserted in prop::collection::vec((any::<u8>(), 0..30_u64), 0..200),
        ) {
            let mut table = table();
            let mut now_s = 0;
            for (number, step_s) in inserted {
                now_s += step_s;
                let is_fresh = table.insert(guid(number), number, now_s);
                prop_assert_eq!(table.get(guid(number), now_s), Some(number));
                prop_assert!(!is_fresh || table.new.contains_key(&guid(number)));
                prop_assert!(table.len() <= 6);
            }
        }
    }
}
