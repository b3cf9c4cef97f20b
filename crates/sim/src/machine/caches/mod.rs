//! Caches, and who has a line modified: what an access costs, and why.
//!
//! Every cache is set-associative and forgets the line of a set that was used
//! longest ago. A line that a core misses is put into all caches of its path; a hit
//! is looked at by the levels up to it only, so that an outer cache may forget what
//! an inner one still has. Ownership is as in MESI: a store takes the line from
//! every cache that the core does not use itself, and makes it this core's; the
//! first load by another core makes it shared, as if it had been written back.
//!
//! A modified line costs a transfer by distance where the owner still has it in a
//! cache that the two do not share, a hit where they share that cache, and a memory
//! access once the owner's caches have forgotten it. Clean lines never come from
//! another core's caches. A store to a line that others have copies of costs a
//! transfer from the farthest of them, if that is more than getting the data.

mod counts;
mod directory;
mod level;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

pub use counts::{Counts, Distance};

use super::{Access, LEVELS_MAX, Machine, MachineError, Memory};
use directory::{Directory, NOBODY};
use level::Level;

/// The caches and the memory of a machine.
///
/// ```
/// use mely_sim::machine::{Access, Caches, Machine, Memory};
///
/// let mut caches = Caches::new(&Machine::find("xeon-e5410")?)?;
/// assert_eq!(caches.access(0, 7, Access::Load), 110); // from memory
/// assert_eq!(caches.access(0, 7, Access::Load), 4); // from the core's own cache
/// assert_eq!(caches.access(1, 7, Access::Load), 15); // from that of the pair
/// assert_eq!(caches.counts(1).l2_misses, 0);
/// # Ok::<(), mely_sim::machine::MachineError>(())
/// ```
pub struct Caches {
    /// From level 1.
    levels: Vec<Level>,
    directory: Directory,
    counts: Vec<Counts>,
    /// Of each core.
    packages: Vec<u32>,
    nodes: Vec<u16>,
    /// From each node (row) to each.
    memory_cycles: Vec<Vec<u64>>,
    /// By [`Distance`].
    transfer_cycles: [u64; 3],
    rmw_cycles: u64,
    sequential_overlap: u64,
}

/// Where a core got the data.
struct Fetched {
    cycles: u64,
    /// It came from another core, or was already in a cache of this one's path.
    transferred: bool,
}

impl Caches {
    /// The empty caches of a machine.
    ///
    /// # Errors
    /// [`MachineError::Value`] when the machine makes no sense.
    pub fn new(machine: &Machine) -> Result<Self, MachineError> {
        machine.check(&machine.name)?;
        let cores = 0..machine.cores;
        let nodes = 0..machine.nodes.len();
        let row = |node| {
            let homes = nodes.clone();
            homes
                .map(|home| machine.memory_cycles(node, home))
                .collect()
        };
        // `CORES_MAX` fits into all of these.
        let package = |core| machine.packages.of(core) as u32;
        let node = |core| machine.nodes.of(core) as u16;
        let transfer = &machine.transfer;
        Ok(Self {
            levels: machine
                .caches
                .iter()
                .map(|cache| Level::new(cache, machine.line_bytes, machine.cores))
                .collect(),
            directory: Directory::new(machine.cores),
            counts: vec![Counts::default(); machine.cores],
            packages: cores.clone().map(package).collect(),
            nodes: cores.map(node).collect(),
            memory_cycles: nodes.clone().map(row).collect(),
            transfer_cycles: [
                transfer.same_cache_cycles,
                transfer.same_package_cycles,
                transfer.other_package_cycles,
            ],
            rmw_cycles: machine.sync.rmw_cycles,
            sequential_overlap: machine.memory.sequential_overlap,
        })
    }

    /// What a core's accesses were so far.
    ///
    /// # Panics
    /// If the machine has no such core.
    #[must_use]
    pub fn counts(&self, core: usize) -> &Counts {
        &self.counts[core]
    }

    /// Forgets what was counted, and no line.
    pub fn reset_counts(&mut self) {
        self.counts.fill(Counts::default());
    }

    /// Puts lines into the memory of a node. Others go to the node of the core that
    /// touches them first, as Linux does it.
    ///
    /// ```
    /// use mely_sim::machine::{Access, Caches, Machine, Memory};
    ///
    /// let machine = Machine::find("xeon-8592-2s")?;
    /// let mut caches = Caches::new(&machine)?;
    /// caches.place(0, 10, 1);
    /// assert_eq!(caches.access(0, 9, Access::Load), machine.memory.remote_cycles);
    /// assert_eq!(caches.access(0, 10, Access::Load), machine.memory.local_cycles);
    /// # Ok::<(), mely_sim::machine::MachineError>(())
    /// ```
    ///
    /// # Panics
    /// If the machine has no such node.
    pub fn place(&mut self, first_line: u32, lines: u32, node: usize) {
        assert!(node < self.memory_cycles.len(), "no memory node {node}");
        for line in first_line..first_line.saturating_add(lines) {
            self.directory.entry(line).home = node as u16;
        }
    }

    /// What is left when the core's innermost cache does not settle it.
    #[cold]
    #[inline(never)]
    fn access_beyond(&mut self, core: usize, line: u32, how: Access, in_first: bool) -> u64 {
        let fetched = match in_first {
            true => {
                self.counts[core].hits[0] += 1;
                Fetched {
                    cycles: self.levels[0].hit_cycles,
                    transferred: false,
                }
            }
            false => self.fetch(core, line),
        };
        if how == Access::Load {
            self.directory.add_reader(line, core);
            return fetched.cycles;
        }
        let mut cycles = fetched.cycles;
        if let Some(farthest) = self.invalidate_others(core, line) {
            if !fetched.transferred {
                self.counts[core].upgrades += 1;
            }
            cycles = cycles.max(self.transfer_cycles[farthest as usize]);
        }
        self.directory.own(line, core);
        match how {
            Access::Rmw => cycles + self.rmw_cycles,
            _ => cycles,
        }
    }

    /// Gets a line that the innermost cache had not, and keeps it in the core's path.
    fn fetch(&mut self, core: usize, line: u32) -> Fetched {
        let depth = self.levels.len();
        let hit = (1..depth).find(|&level| self.levels[level].touch(core, line));
        let dirty_in = self.take_modified(core, line);
        let counts = &mut self.counts[core];
        if let Some(owner) = dirty_in {
            let distance = self.distance(core, owner);
            let shares_l2 = self.levels.iter().take(2).any(|l| l.is_shared(core, owner));
            let counts = &mut self.counts[core];
            counts.transfers[distance as usize] += 1;
            counts.l2_misses += u64::from(!shares_l2);
            return Fetched {
                cycles: self.transfer_cycles[distance as usize],
                transferred: true,
            };
        }
        if let Some(level) = hit {
            counts.hits[level] += 1;
            counts.l2_misses += u64::from(level >= 2);
            return Fetched {
                cycles: self.levels[level].hit_cycles,
                transferred: false,
            };
        }
        let node = self.nodes[core];
        let entry = self.directory.entry(line);
        if entry.home == NOBODY {
            entry.home = node;
        }
        let home = entry.home;
        match home == node {
            true => counts.memory_local += 1,
            false => counts.memory_remote += 1,
        }
        counts.l2_misses += 1;
        Fetched {
            cycles: self.memory_cycles[usize::from(node)][usize::from(home)],
            transferred: false,
        }
    }

    /// Makes a line clean that another core has modified. Names that core if it has
    /// the line in a cache that `core` does not use.
    fn take_modified(&mut self, core: usize, line: u32) -> Option<usize> {
        let entry = self.directory.entry(line);
        let owner = usize::from(entry.owner);
        if entry.owner == NOBODY || owner == core {
            return None;
        }
        entry.owner = NOBODY;
        // In a cache that both use it is as good as clean.
        let mut apart = self.levels.iter().filter(|l| !l.is_shared(core, owner));
        apart
            .any(|level| level.contains(owner, line))
            .then_some(owner)
    }

    /// Takes a line from all caches that `core` does not use, and tells how far the
    /// farthest was.
    fn invalidate_others(&mut self, core: usize, line: u32) -> Option<Distance> {
        let mut farthest = None;
        for word in 0..self.directory.words() {
            let mut readers = self.directory.readers(line, word, core);
            while readers != 0 {
                let other = word * 64 + readers.trailing_zeros() as usize;
                readers &= readers - 1;
                let mut had_it = false;
                for level in &mut self.levels {
                    had_it |= !level.is_shared(core, other) && level.remove(other, line);
                }
                if had_it {
                    self.counts[other].invalidated += 1;
                    farthest = farthest.max(Some(self.distance(core, other)));
                }
            }
        }
        farthest
    }

    fn distance(&self, one: usize, other: usize) -> Distance {
        match () {
            () if self.levels.iter().any(|level| level.is_shared(one, other)) => {
                Distance::SameCache
            }
            () if self.packages[one] == self.packages[other] => Distance::SamePackage,
            () => Distance::OtherPackage,
        }
    }
}

impl Memory for Caches {
    /// # Panics
    /// If the machine has no such core, or for the last line, [`u32::MAX`].
    #[inline]
    fn access(&mut self, core: usize, line: u32, how: Access) -> u64 {
        let in_first = self.levels[0].touch(core, line);
        let settled = in_first
            && match how {
                Access::Load => true,
                _ => self.directory.is_owner(line, core),
            };
        if !settled {
            return self.access_beyond(core, line, how, in_first);
        }
        self.counts[core].hits[0] += 1;
        match how {
            Access::Rmw => self.levels[0].hit_cycles + self.rmw_cycles,
            _ => self.levels[0].hit_cycles,
        }
    }

    /// As many accesses, but what they wait for beyond the innermost cache overlaps
    /// as far as the machine fetches ahead.
    fn access_range(&mut self, core: usize, first_line: u32, lines: u32, how: Access) -> u64 {
        let near_cycles = self.levels[0].hit_cycles;
        let (mut near, mut far) = (0, 0);
        for line in first_line..first_line.saturating_add(lines) {
            let cycles = self.access(core, line, how);
            match cycles > near_cycles {
                true => far += cycles,
                false => near += cycles,
            }
        }
        near + far.div_ceil(self.sequential_overlap)
    }
}

const _: () = assert!(LEVELS_MAX == counts::HITS);
