//! The caches of one level: sets of lines, each in the order of their last use.

use super::super::CacheLevel;

/// All caches of a level.
pub(super) struct Level {
    /// Line number plus one, 0 where nothing is: memory that the system gives
    /// zeroed is not touched before it is used. A set's ways stand in a row, the
    /// line used last first.
    tags: Vec<u32>,
    ways: usize,
    sets: Sets,
    /// Where a core's cache begins in `tags`, which also tells caches apart.
    start_of: Vec<usize>,
    pub(super) hit_cycles: u64,
}

impl Level {
    pub(super) fn new(cache: &CacheLevel, line_bytes: u32, cores: usize) -> Self {
        // A checked machine: both divisions are exact, and the result small enough.
        let lines = (cache.size_bytes / u64::from(line_bytes)) as usize;
        let ways = cache.ways as usize;
        Self {
            tags: vec![0; lines * cache.shared_by.len()],
            ways,
            sets: Sets::new((lines / ways) as u32),
            start_of: (0..cores)
                .map(|core| cache.shared_by.of(core) * lines)
                .collect(),
            hit_cycles: cache.hit_cycles,
        }
    }

    pub(super) fn is_shared(&self, one: usize, other: usize) -> bool {
        self.start_of[one] == self.start_of[other]
    }

    #[inline]
    fn place(&self, core: usize, line: u32) -> std::ops::Range<usize> {
        let first = self.start_of[core] + self.sets.of(line) * self.ways;
        first..first + self.ways
    }

    /// Whether the core's cache has the line, which then is the one used last.
    #[inline]
    pub(super) fn promote(&mut self, core: usize, line: u32) -> bool {
        let place = self.place(core, line);
        let set = &mut self.tags[place];
        let tag = line + 1;
        if set[0] == tag {
            return true;
        }
        let Some(at) = set.iter().position(|&other| other == tag) else {
            return false;
        };
        set.copy_within(..at, 1);
        set[0] = tag;
        true
    }

    pub(super) fn contains(&self, core: usize, line: u32) -> bool {
        self.tags[self.place(core, line)].contains(&(line + 1))
    }

    /// Adds a line that the core's cache has not, in the place of the one of its set
    /// that was used longest ago.
    pub(super) fn insert(&mut self, core: usize, line: u32) {
        let place = self.place(core, line);
        let set = &mut self.tags[place];
        let last = set.len() - 1;
        set.copy_within(..last, 1);
        set[0] = line + 1;
    }

    /// Takes a line from the core's cache, and tells whether it was there.
    pub(super) fn remove(&mut self, core: usize, line: u32) -> bool {
        let place = self.place(core, line);
        let set = &mut self.tags[place];
        let Some(at) = set.iter().position(|&tag| tag == line + 1) else {
            return false;
        };
        set.copy_within(at + 1.., at);
        set[set.len() - 1] = 0;
        true
    }
}

/// The remainder of a line number by the number of sets, without a division: those
/// take 26 cycles for numbers of 32 bits, two multiplications take 8.
struct Sets {
    count: u64,
    /// 2^64 / count, rounded up (Lemire, Kaser, Kurz: Faster remainder by direct
    /// computation, 2019).
    inverse: u64,
}

impl Sets {
    fn new(count: u32) -> Self {
        let count = u64::from(count);
        Self {
            count,
            // For one set this wraps to 0, and every remainder is 0.
            inverse: (u64::MAX / count).wrapping_add(1),
        }
    }

    #[inline]
    fn of(&self, line: u32) -> usize {
        let fraction = self.inverse.wrapping_mul(u64::from(line));
        ((u128::from(fraction) * u128::from(self.count)) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_remainders() {
        for count in [1, 2, 3, 53_248, 65_536, u32::MAX] {
            let sets = Sets::new(count);
            for line in [0, 1, 2, 53_247, 53_248, 65_537, u32::MAX - 1, u32::MAX] {
                assert_eq!(sets.of(line), (line % count) as usize, "{line} % {count}");
            }
        }
    }
}
