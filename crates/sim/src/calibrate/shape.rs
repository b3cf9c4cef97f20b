//! What the kernel says of this machine, for the cores that may be used.

use mely::topology::{Cache, CacheKind, CoreInfo, Topology, allowed_cpus};

use crate::Error;
use crate::machine::{CORES_MAX, Distance, Groups, LEVELS_MAX};

/// Where the kernel says nothing: those of most servers.
const LINE_BYTES: u32 = 64;
const USUAL: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];

/// Linux does not tell the ways through `mely`: the largest of these that divides
/// the cache's lines. Most caches have 8 to 16.
const WAYS: [u32; 8] = [16, 12, 11, 10, 8, 4, 2, 1];
const WAYS_INNERMOST: [u32; 5] = [8, 12, 4, 2, 1];

/// The caches of a level.
#[derive(Clone)]
pub(super) struct ShapeLevel {
    pub(super) level: u8,
    pub(super) size_bytes: u64,
    pub(super) size_is_known: bool,
    pub(super) ways: u32,
    pub(super) shared_by: Groups,
}

/// Cores, with CPUs in an order in which those that share stand together.
pub(super) struct Shape {
    /// The CPU of each core.
    pub(super) cpus: Vec<usize>,
    pub(super) line_bytes: u32,
    pub(super) packages: Groups,
    pub(super) nodes: Groups,
    pub(super) node_distances: Vec<Vec<u32>>,
    pub(super) levels: Vec<ShapeLevel>,
    /// Where all this comes from.
    pub(super) source: String,
}

impl Shape {
    pub(super) fn detect() -> Result<Self, Error> {
        let topology = Topology::detect();
        let allowed = allowed_cpus();
        let usable = |core: &&CoreInfo| allowed.contains(core.cpu);
        let cores: Vec<&CoreInfo> = topology.cores().iter().filter(usable).collect();
        Self::of(&topology, cores)
    }

    fn of(topology: &Topology, mut cores: Vec<&CoreInfo>) -> Result<Self, Error> {
        if cores.is_empty() || cores.len() > CORES_MAX {
            let what = format!("{} usable cores; 1 to {CORES_MAX} can be", cores.len());
            return Err(Error::Calibration(what));
        }
        let levels = common_levels(&cores);
        cores.sort_by_key(|core| {
            let first =
                |&level: &u8| data_cache(core, level).and_then(|c| c.shared_by.iter().next());
            let caches: Vec<_> = levels.iter().rev().map(first).collect();
            (core.package, core.numa_node, caches, core.cpu)
        });
        let line_bytes = data_cache(cores[0], 1).and_then(|cache| cache.line_bytes);
        let line_bytes = line_bytes.filter(|bytes| bytes.is_power_of_two() && *bytes >= 8);
        let line_bytes = line_bytes.unwrap_or(LINE_BYTES);
        let shape_level = |&level: &u8| {
            let group = |core: &CoreInfo| {
                let cache = data_cache(core, level);
                cache.and_then(|cache| cache.shared_by.iter().next())
            };
            let known = data_cache(cores[0], level).and_then(|cache| cache.size_bytes);
            sized(level, known, line_bytes, grouped(&cores, group))
        };
        let mut shape_levels: Vec<ShapeLevel> = levels.iter().map(shape_level).collect();
        if shape_levels.is_empty() {
            // Nothing is known: two caches for each core.
            let alone = |level| sized(level, None, line_bytes, grouped(&cores, |core| core.cpu));
            shape_levels = vec![alone(1), alone(2)];
        }
        let nodes = grouped(&cores, |core| core.numa_node);
        Ok(Self {
            line_bytes,
            packages: grouped(&cores, |core| core.package),
            node_distances: distances(topology, &cores, &nodes),
            nodes,
            levels: shape_levels,
            source: topology.source().to_string(),
            cpus: cores.iter().map(|core| core.cpu).collect(),
        })
    }

    pub(super) fn distance(&self, one: usize, other: usize) -> Distance {
        let share = |groups: &Groups| groups.of(one) == groups.of(other);
        match () {
            () if self.levels.iter().any(|l| share(&l.shared_by)) => Distance::SameCache,
            () if share(&self.packages) => Distance::SamePackage,
            () => Distance::OtherPackage,
        }
    }

    pub(super) fn share_innermost(&self, one: usize, other: usize) -> bool {
        let innermost = self.levels.first();
        innermost.is_some_and(|l| l.shared_by.of(one) == l.shared_by.of(other))
    }

    /// A CPU of the node that is farthest from the first core's.
    pub(super) fn farthest_from_first(&self) -> Option<usize> {
        let home = self.nodes.of(0);
        let others = (0..self.nodes.len()).filter(|&node| node != home);
        let far = others.max_by_key(|&node| self.node_distances[home][node])?;
        Some(self.cpus[self.nodes.members(far)[0]])
    }
}

fn data_cache(core: &CoreInfo, level: u8) -> Option<&Cache> {
    let holds_data = |cache: &&Cache| cache.kind != CacheKind::Instruction;
    let mut caches = core.caches.iter().filter(holds_data);
    caches.find(|cache| cache.level == level)
}

/// Levels from 1 that every core has a cache of.
fn common_levels(cores: &[&CoreInfo]) -> Vec<u8> {
    let of_all = |level: &u8| cores.iter().all(|core| data_cache(core, *level).is_some());
    (1..=LEVELS_MAX as u8).take_while(of_all).collect()
}

fn sized(level: u8, known: Option<u64>, line_bytes: u32, shared_by: Groups) -> ShapeLevel {
    let line = u64::from(line_bytes);
    let known = known.filter(|bytes| *bytes >= line);
    let usual = USUAL[usize::from(level - 1).min(USUAL.len() - 1)];
    let lines = known.unwrap_or(usual) / line;
    let ways: &[u32] = match level {
        1 => &WAYS_INNERMOST,
        _ => &WAYS,
    };
    let divides = |ways: &&u32| lines.is_multiple_of(u64::from(**ways));
    ShapeLevel {
        level,
        size_bytes: lines * line,
        size_is_known: known.is_some(),
        ways: ways.iter().find(divides).copied().unwrap_or(1),
        shared_by,
    }
}

/// Cores in groups of the same key, in the order of their first.
fn grouped<K: PartialEq>(cores: &[&CoreInfo], key: impl Fn(&CoreInfo) -> K) -> Groups {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    for (core, info) in cores.iter().enumerate() {
        let key = key(info);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(core),
            None => groups.push((key, vec![core])),
        }
    }
    let members = groups.into_iter().map(|(_, members)| members);
    match Groups::listed(members, cores.len()) {
        Ok(groups) => groups,
        Err(wrong) => unreachable!("each core was put into one group: {wrong}"),
    }
}

/// From each node to each, where firmware gives sound ones; 10 and 20 elsewhere.
fn distances(topology: &Topology, cores: &[&CoreInfo], nodes: &Groups) -> Vec<Vec<u32>> {
    let id = |node: usize| cores[nodes.members(node)[0]].numa_node;
    let place = |node: usize| topology.nodes().iter().position(|n| n.id == id(node));
    let between = |from: usize, to: usize| {
        if from == to {
            return 10;
        }
        let row = place(from).map(|at| &topology.nodes()[at].distances);
        let told = row.zip(place(to)).and_then(|(row, at)| row.get(at));
        told.copied()
            .filter(|&distance| distance > 10)
            .unwrap_or(20)
    };
    let count = nodes.len();
    let row = |from| (0..count).map(|to| between(from, to)).collect();
    (0..count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mely::topology::{CacheSpec, Spec};

    fn shape(spec: &Spec, skip: usize) -> Shape {
        let topology = Topology::synthetic(spec).unwrap();
        let cores = topology.cores().iter().skip(skip).collect();
        Shape::of(&topology, cores).unwrap()
    }

    #[test]
    fn the_papers_machine_is_recognised() {
        let shape = shape(&Spec::xeon_e5410(), 0);
        assert_eq!(shape.packages.size(), Some(4));
        assert_eq!(shape.nodes.size(), Some(8));
        let levels: Vec<_> = shape
            .levels
            .iter()
            .map(|l| (l.level, l.size_bytes))
            .collect();
        assert_eq!(levels, [(1, 32 << 10), (2, 6 << 20)]);
        assert_eq!(shape.levels[1].shared_by.size(), Some(2));
        assert_eq!(shape.distance(0, 1), Distance::SameCache);
        assert_eq!(shape.distance(0, 7), Distance::OtherPackage);
        assert_eq!(shape.farthest_from_first(), None);
    }

    #[test]
    fn hardware_threads_stand_together() {
        let smt = Spec {
            packages: 2,
            cores_per_package: 2,
            threads_per_core: 2,
            cores_per_node: 2,
            remote_numa_distance: 31,
            caches: vec![CacheSpec {
                level: 1,
                kind: CacheKind::Data,
                size_bytes: 48 << 10,
                cores: 1,
            }],
        };
        let shape = shape(&smt, 0);
        assert_eq!(shape.cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(shape.levels[0].shared_by.size(), Some(2));
        assert!(shape.share_innermost(0, 1));
        assert_eq!(shape.node_distances, [[10, 31], [31, 10]]);
        assert_eq!(shape.farthest_from_first(), Some(2));
    }

    #[test]
    fn what_the_process_may_not_use_is_left_out() {
        let shape = shape(&Spec::xeon_e5410(), 3);
        assert_eq!(shape.cpus, [3, 4, 5, 6, 7]);
        assert_eq!(shape.packages.size(), None);
        assert_eq!(shape.levels[1].shared_by.members(0), [0]);
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_has_two_caches() {
        let shape = shape(&Spec::flat(2), 0);
        let known: Vec<_> = shape.levels.iter().map(|l| l.size_is_known).collect();
        assert_eq!(known, [false, false]);
        assert_eq!(shape.distance(0, 1), Distance::SamePackage);
    }
}
