//! What a core's accesses were.

pub(super) const HITS: usize = super::LEVELS_MAX;

/// How far the core is that a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The two cores share a cache.
    SameCache,
    /// They share a package only.
    SamePackage,
    /// They share nothing.
    OtherPackage,
}

/// The accesses of a core, each in one of `hits`, `transfers` and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Served by a cache of the core's path, from level 1.
    pub hits: [u64; HITS],
    /// Served by memory of the core's node.
    pub memory_local: u64,
    /// Served by memory of another node.
    pub memory_remote: u64,
    /// Served by a core that had the line modified, by [`Distance`].
    pub transfers: [u64; 3],
    /// Stores to a line whose data was there, but that others had copies of.
    pub upgrades: u64,
    /// Copies that this core lost to stores of others.
    pub invalidated: u64,
    /// Accesses that the caches of levels 1 and 2 could not serve: what the papers'
    /// tables count.
    pub l2_misses: u64,
}

impl Counts {
    /// All accesses.
    ///
    /// ```
    /// use mely_sim::machine::Counts;
    ///
    /// let counts = Counts { hits: [5, 2, 0, 0], memory_local: 1, ..Counts::default() };
    /// assert_eq!(counts.accesses(), 8);
    /// ```
    #[must_use]
    pub fn accesses(&self) -> u64 {
        let served = self.hits.iter().chain(&self.transfers).sum::<u64>();
        served + self.memory_local + self.memory_remote
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let pairs = self.hits.iter_mut().zip(other.hits);
        let pairs = pairs.chain(self.transfers.iter_mut().zip(other.transfers));
        pairs.for_each(|(sum, more)| *sum += more);
        self.memory_local += other.memory_local;
        self.memory_remote += other.memory_remote;
        self.upgrades += other.upgrades;
        self.invalidated += other.invalidated;
        self.l2_misses += other.l2_misses;
    }
}
