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

    /// Whether the core's cache has the line. Afterwards it has, as the one used
    /// last; if it had not, the one of its set that was used longest ago is gone.
    ///
    /// One pass both searches and moves what was used since: half of a search and a
    /// copy.
    #[inline]
    pub(super) fn touch(&mut self, core: usize, line: u32) -> bool {
        let place = self.place(core, line);
        let tag = line + 1;
        let set = &mut self.tags[place];
        // Most are of the line that was used last.
        if set.first() == Some(&tag) {
            return true;
        }
        let mut used_before = tag;
        for slot in set {
            used_before = std::mem::replace(slot, used_before);
            if used_before == tag {
                return true;
            }
        }
        false
    }

    pub(super) fn contains(&self, core: usize, line: u32) -> bool {
        self.tags[self.place(core, line)].contains(&(line + 1))
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
/// take 26 cycles for numbers of 32 bits, two multiplications 8, and a mask 1.
enum Sets {
    PowerOfTwo {
        mask: u32,
    },
    Any {
        count: u64,
        /// 2^64 / count, rounded up (Lemire, Kaser, Kurz: Faster remainder by direct
        /// computation, 2019).
        inverse: u64,
    },
}

impl Sets {
    fn new(count: u32) -> Self {
        match count.is_power_of_two() {
            true => Self::PowerOfTwo { mask: count - 1 },
            false => Self::Any {
                count: u64::from(count),
                inverse: u64::MAX / u64::from(count) + 1,
            },
        }
    }

    #[inline]
    fn of(&self, line: u32) -> usize {
        match *self {
            Self::PowerOfTwo { mask } => (line & mask) as usize,
            Self::Any { count, inverse } => {
                let fraction = inverse.wrapping_mul(u64::from(line));
                ((u128::from(fraction) * u128::from(count)) >> 64) as usize
            }
        }
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
