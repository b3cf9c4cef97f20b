//! The same caches, as plainly as they can be written: everything is searched for
//! where it could be. Slow, and the judge of the fast ones.

use std::collections::BTreeMap;

use super::super::{Access, Machine, Memory};
use super::{Counts, Distance};

struct Cache {
    level: usize,
    cores: Vec<usize>,
    ways: usize,
    /// Lines of each set, the one used last first.
    sets: Vec<Vec<u32>>,
}

impl Cache {
    fn set(&mut self, line: u32) -> &mut Vec<u32> {
        let index = line as usize % self.sets.len();
        &mut self.sets[index]
    }

    fn has(&self, line: u32) -> bool {
        self.sets.iter().flatten().any(|&held| held == line)
    }

    fn forget(&mut self, line: u32) {
        self.set(line).retain(|&held| held != line);
    }

    fn use_now(&mut self, line: u32) {
        let ways = self.ways;
        let set = self.set(line);
        set.retain(|&held| held != line);
        set.insert(0, line);
        set.truncate(ways);
    }
}

pub(super) struct Reference {
    machine: Machine,
    caches: Vec<Cache>,
    owner: BTreeMap<u32, usize>,
    home: BTreeMap<u32, usize>,
    pub(super) counts: Vec<Counts>,
}

impl Reference {
    pub(super) fn new(machine: &Machine) -> Self {
        let mut caches = Vec::new();
        for (level, of_level) in machine.caches.iter().enumerate() {
            let lines = of_level.size_bytes as usize / machine.line_bytes as usize;
            for cores in of_level.shared_by.iter() {
                caches.push(Cache {
                    level,
                    cores: cores.to_vec(),
                    ways: of_level.ways as usize,
                    sets: vec![Vec::new(); lines / of_level.ways as usize],
                });
            }
        }
        Self {
            machine: machine.clone(),
            caches,
            owner: BTreeMap::new(),
            home: BTreeMap::new(),
            counts: vec![Counts::default(); machine.cores],
        }
    }

    fn transfer(&self, one: usize, other: usize) -> (u64, Distance) {
        let transfer = &self.machine.transfer;
        let distance = self.machine.distance(one, other).unwrap();
        let cycles = match distance {
            Distance::SameCache => transfer.same_cache_cycles,
            Distance::SamePackage => transfer.same_package_cycles,
            Distance::OtherPackage => transfer.other_package_cycles,
        };
        (cycles, distance)
    }

    /// The core that must send the line.
    fn sender(&self, core: usize, line: u32) -> Option<usize> {
        let owner = *self.owner.get(&line).filter(|&&owner| owner != core)?;
        let mut of_owner = self.caches.iter().filter(|c| c.cores.contains(&owner));
        let innermost = of_owner.find(|cache| cache.has(line))?;
        (!innermost.cores.contains(&core)).then_some(owner)
    }

    fn fetch(&mut self, core: usize, line: u32) -> (u64, bool) {
        let mut of_core = self.caches.iter().filter(|c| c.cores.contains(&core));
        let hit = of_core.find(|cache| cache.has(line)).map(|c| c.level);
        let sender = match hit {
            Some(0) => None,
            _ => self.sender(core, line),
        };
        if hit != Some(0) && self.owner.get(&line) != Some(&core) {
            self.owner.remove(&line);
        }
        for cache in &mut self.caches {
            if cache.cores.contains(&core) && cache.level <= hit.unwrap_or(usize::MAX) {
                cache.use_now(line);
            }
        }
        if let Some(sender) = sender {
            let (cycles, distance) = self.transfer(core, sender);
            self.counts[core].transfers[distance as usize] += 1;
            let near = self.caches.iter().any(|cache| {
                cache.level < 2 && cache.cores.contains(&core) && cache.cores.contains(&sender)
            });
            self.counts[core].l2_misses += u64::from(!near);
            return (cycles, true);
        }
        let counts = &mut self.counts[core];
        if let Some(level) = hit {
            counts.hits[level] += 1;
            counts.l2_misses += u64::from(level > 1);
            return (self.machine.caches[level].hit_cycles, false);
        }
        let node = self.machine.nodes.of(core);
        let home = *self.home.entry(line).or_insert(node);
        match home == node {
            true => counts.memory_local += 1,
            false => counts.memory_remote += 1,
        }
        counts.l2_misses += 1;
        (self.machine.memory_cycles(node, home), false)
    }
}

impl Memory for Reference {
    fn access(&mut self, core: usize, line: u32, how: Access) -> u64 {
        let (mut cycles, transferred) = self.fetch(core, line);
        if how == Access::Load {
            return cycles;
        }
        let mut losers: Vec<usize> = Vec::new();
        for cache in &mut self.caches {
            if !cache.cores.contains(&core) && cache.has(line) {
                cache.forget(line);
                losers.extend(&cache.cores);
            }
        }
        losers.sort_unstable();
        losers.dedup();
        let farthest = losers.iter().map(|&other| self.transfer(core, other).0);
        if let Some(farthest) = farthest.max() {
            self.counts[core].upgrades += u64::from(!transferred);
            cycles = cycles.max(farthest);
        }
        self.owner.insert(line, core);
        match how {
            Access::Rmw => cycles + self.machine.sync.rmw_cycles,
            _ => cycles,
        }
    }
}
