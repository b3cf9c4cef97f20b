//! A machine's shape as plain data, for whoever builds a topology of it.

use super::Machine;

/// Who shares what, in numbers.
///
/// ```
/// use mely_sim::machine::Machine;
///
/// let layout = Machine::find("xeon-e5410")?.layout();
/// assert_eq!(layout.cores[5].package, 1);
/// let regular = layout.regular().unwrap();
/// assert_eq!((regular.packages, regular.cores_per_package), (2, 4));
/// # Ok::<(), mely_sim::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// A core for each number.
    pub cores: Vec<LayoutCore>,
    /// Each cache, from level 1.
    pub caches: Vec<LayoutCache>,
    /// The memory nodes.
    pub nodes: Vec<LayoutNode>,
    /// The size of a line.
    pub line_bytes: u32,
}

/// Where a core is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutCore {
    /// Its socket.
    pub package: usize,
    /// Its memory node.
    pub node: usize,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutCache {
    /// From 1.
    pub level: u8,
    /// Its size.
    pub size_bytes: u64,
    /// The cores that use it.
    pub shared_by: Vec<usize>,
}

/// One memory node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutNode {
    /// The cores for which it is local.
    pub cores: Vec<usize>,
    /// To each node; 10 is local.
    pub distances: Vec<u32>,
}

/// A machine whose packages are alike, in the terms of `mely::topology::Spec`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regular {
    /// Sockets.
    pub packages: usize,
    /// Consecutive cores of each.
    pub cores_per_package: usize,
    /// Consecutive cores of each memory node.
    pub cores_per_node: usize,
    /// Between any two nodes; the largest, where they differ.
    pub remote_numa_distance: u32,
    /// One entry for each level.
    pub caches: Vec<RegularCache>,
}

/// The caches of one level of a [`Regular`] machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegularCache {
    /// From 1.
    pub level: u8,
    /// The size of one.
    pub size_bytes: u64,
    /// Consecutive cores that share one; the last of a package may serve fewer.
    pub cores: usize,
}

impl Machine {
    /// Its shape.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let core = |core| LayoutCore {
            package: self.packages.of(core),
            node: self.nodes.of(core),
        };
        let caches = self.caches.iter().flat_map(|level| {
            level.shared_by.iter().map(|cores| LayoutCache {
                level: level.level,
                size_bytes: level.size_bytes,
                shared_by: cores.to_vec(),
            })
        });
        let nodes = self.nodes.iter().zip(&self.node_distances);
        Layout {
            cores: (0..self.cores).map(core).collect(),
            caches: caches.collect(),
            nodes: nodes
                .map(|(cores, distances)| LayoutNode {
                    cores: cores.to_vec(),
                    distances: distances.clone(),
                })
                .collect(),
            line_bytes: self.line_bytes,
        }
    }
}

impl Layout {
    /// The same in fewer numbers, if cores are numbered package by package, node by
    /// node, and cache by cache, and packages are alike.
    #[must_use]
    pub fn regular(&self) -> Option<Regular> {
        let cores = self.cores.len();
        let of_package = |package| self.cores.iter().filter(move |c| c.package == package);
        let cores_per_package = of_package(0).count();
        if cores_per_package == 0 {
            return None;
        }
        let cores_per_node = self.nodes.first()?.cores.len();
        let in_order = |core: usize| {
            let LayoutCore { package, node } = self.cores[core];
            package == core / cores_per_package && node == core / cores_per_node
        };
        if !cores.is_multiple_of(cores_per_package) || !(0..cores).all(in_order) {
            return None;
        }
        let mut caches: Vec<RegularCache> = Vec::new();
        for cache in &self.caches {
            let shared_by = &cache.shared_by;
            let first = *shared_by.first()?;
            if caches.last().is_none_or(|last| last.level != cache.level) {
                caches.push(RegularCache {
                    level: cache.level,
                    size_bytes: cache.size_bytes,
                    cores: shared_by.len(),
                });
            }
            let size = caches.last()?.cores;
            let end = (first / cores_per_package + 1) * cores_per_package;
            let expected = first..(first + size).min(end);
            let aligned = (first % cores_per_package).is_multiple_of(size);
            if !aligned || !shared_by.iter().copied().eq(expected) {
                return None;
            }
        }
        let distances = self.nodes.iter().flat_map(|node| &node.distances);
        Some(Regular {
            packages: cores / cores_per_package,
            cores_per_package,
            cores_per_node,
            remote_numa_distance: distances.copied().filter(|&d| d > 10).max().unwrap_or(20),
            caches,
        })
    }
}
