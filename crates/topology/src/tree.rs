//! The topology as a text tree.

use std::collections::HashMap;
use std::fmt;

use crate::cpuset::CpuSet;
use crate::{Cache, CacheKind, CoreInfo, Topology};

/// A topology as it is printed: packages, memory nodes, shared caches, cores.
///
/// A level with a single branch is joined to it, and cores that are alike share a
/// line, so that a machine of hundreds of CPUs fits a screen.
///
/// ```
/// use mely_topology::{Spec, Topology};
///
/// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
/// let tree = xeon.tree().to_string();
/// assert!(tree.starts_with("8 CPUs on 8 cores, 2 packages, 1 NUMA node (synthetic)\n"));
/// assert!(tree.contains("├─ Package 0 · NUMA node 0\n"));
/// assert!(tree.contains("│  ├─ L2 6 MiB · 2 cores: CPUs 0-1 · each L1d 32 KiB, L1i 32 KiB\n"));
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    topology: &'a Topology,
}

impl Topology {
    /// A view that prints as a tree of several lines, the last one without a line end.
    ///
    /// ```
    /// println!("{}", mely_topology::Topology::detect().tree());
    /// ```
    #[must_use]
    pub fn tree(&self) -> Tree<'_> {
        Tree { topology: self }
    }
}

struct Branch {
    label: String,
    children: Vec<Branch>,
}

impl Branch {
    /// A branch whose only child, if it has just one, continues its line.
    fn joined(label: String, mut children: Vec<Self>) -> Self {
        if children.len() != 1 {
            return Self { label, children };
        }
        let only = children.remove(0);
        Self {
            label: format!("{label} · {}", only.label),
            children: only.children,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str, is_last: bool) -> fmt::Result {
        let (elbow, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        write!(f, "\n{indent}{elbow}{}", self.label)?;
        write_all(&self.children, f, &format!("{indent}{below}"))
    }
}

fn write_all(branches: &[Branch], f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
    for (index, branch) in branches.iter().enumerate() {
        branch.write(f, indent, index + 1 == branches.len())?;
    }
    Ok(())
}

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<&CoreInfo> = self.topology.cores().iter().collect();
        let mut packages = grouped(&all, |core| core.package);
        packages.sort_unstable_by_key(|(package, _)| *package);
        write!(
            f,
            "{} on {}, {}",
            counted(all.len(), "CPU"),
            counted(grouped(&all, |core| &core.smt_siblings).len(), "core"),
            counted(packages.len(), "package"),
        )?;
        let nodes = self.topology.nodes().len();
        if nodes > 0 {
            write!(f, ", {}", counted(nodes, "NUMA node"))?;
        }
        write!(f, " ({})", self.topology.source())?;
        let branches: Vec<Branch> = packages
            .into_iter()
            .map(|(package, cores)| {
                Branch::joined(format!("Package {package}"), node_branches(&cores))
            })
            .collect();
        write_all(&branches, f, "")
    }
}

fn node_branches(cores: &[&CoreInfo]) -> Vec<Branch> {
    let mut nodes = grouped(cores, |core| core.numa_node);
    nodes.sort_unstable_by_key(|(node, _)| *node);
    nodes
        .into_iter()
        .map(|(node, cores)| {
            Branch::joined(format!("NUMA node {node}"), cache_branches(&cores, u8::MAX))
        })
        .collect()
}

/// The branches of the highest level, `highest` at most, at which cores share caches.
fn cache_branches(cores: &[&CoreInfo], highest: u8) -> Vec<Branch> {
    let shared = |core: &CoreInfo, cache: &Cache| cache.level <= highest && is_shared(core, cache);
    let levels = cores.iter().flat_map(|core| {
        let caches = core.caches.iter().filter(|cache| shared(core, cache));
        caches.map(|cache| cache.level)
    });
    let Some(level) = levels.max() else {
        return core_branches(cores);
    };
    let at_level = |core: &&CoreInfo| {
        let caches: &[Cache] = &core.caches;
        let of_core = |cache: &&Cache| cache.level == level && is_shared(core, cache);
        caches
            .iter()
            .find(of_core)
            .map(|cache| cache.shared_by.clone())
    };
    let mut branches = Vec::new();
    for (shared_by, group) in grouped(cores, |core| at_level(&core)) {
        let children = cache_branches(&group, level - 1);
        let cache = group[0].caches.iter().find(|cache| {
            cache.level == level
                && cache.kind != CacheKind::Instruction
                && Some(&cache.shared_by) == shared_by.as_ref()
        });
        match cache {
            Some(cache) => branches.push(Branch::joined(cache_label(cache), children)),
            None => branches.extend(children),
        }
    }
    branches
}

/// Whether cores other than this one use the cache for data.
fn is_shared(core: &CoreInfo, cache: &Cache) -> bool {
    cache.kind != CacheKind::Instruction && !cache.shared_by.is_subset(&core.smt_siblings)
}

/// One branch for all cores of the same threads and private caches.
fn core_branches(cpus: &[&CoreInfo]) -> Vec<Branch> {
    let alike = grouped(cpus, |core| (core.smt_siblings.len(), private_caches(core)));
    let label = |((threads, caches), cpus): ((usize, String), Vec<&CoreInfo>)| {
        let cores = grouped(&cpus, |core| &core.smt_siblings).len();
        let threads = if threads > 1 {
            format!(" × {threads} threads")
        } else {
            String::new()
        };
        let each = if cores > 1 { "each " } else { "" };
        let caches = if caches.is_empty() {
            caches
        } else {
            format!(" · {each}{caches}")
        };
        format!(
            "{}{threads}: {}{caches}",
            counted(cores, "core"),
            cpu_list(&cpus)
        )
    };
    alike
        .into_iter()
        .map(|group| Branch {
            label: label(group),
            children: Vec::new(),
        })
        .collect()
}

/// The caches of a core that no line above it shows, the largest level first.
fn private_caches(core: &CoreInfo) -> String {
    let mut caches: Vec<&Cache> = core
        .caches
        .iter()
        .filter(|cache| !is_shared(core, cache))
        .collect();
    caches.sort_by_key(|cache| (std::cmp::Reverse(cache.level), cache.kind));
    let labels: Vec<String> = caches.into_iter().map(cache_label).collect();
    labels.join(", ")
}

fn cache_label(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    let size = cache
        .size_bytes
        .map(|bytes| format!(" {}", size_text(bytes)));
    format!("L{}{kind}{}", cache.level, size.unwrap_or_default())
}

/// A size in the largest binary unit that leaves at least 1, with a decimal if it
/// needs one.
fn size_text(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0x4000_0000.. => (1_u64 << 30, "GiB"),
        0x10_0000.. => (1 << 20, "MiB"),
        0x400.. => (1 << 10, "KiB"),
        _ => (1, "B"),
    };
    if bytes.is_multiple_of(unit) {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{:.1} {name}", bytes as f64 / unit as f64)
    }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn cpu_list(cpus: &[&CoreInfo]) -> String {
    // Numbers of a topology are in range, so that the set is whole.
    let set = CpuSet::of(cpus.iter().map(|core| core.cpu)).unwrap_or_default();
    let plural = if set.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {set}")
}

/// Parts cores by a key, in the order in which keys first appear.
fn grouped<'a, K: std::hash::Hash + Eq + Clone>(
    cores: &[&'a CoreInfo],
    key_of: impl Fn(&'a CoreInfo) -> K,
) -> Vec<(K, Vec<&'a CoreInfo>)> {
    let mut index_of: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<&CoreInfo>)> = Vec::new();
    for &core in cores {
        let key = key_of(core);
        let index = *index_of.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(index) {
            Some((_, group)) => group.push(core),
            None => groups.push((key, vec![core])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheSpec, Spec};

    fn unified(level: u8, kib: u64, cores: usize) -> CacheSpec {
        CacheSpec {
            level,
            kind: CacheKind::Unified,
            size_bytes: kib << 10,
            cores,
        }
    }

    #[test]
    fn the_papers_machine() {
        let xeon = Topology::synthetic(&Spec::xeon_e5410()).unwrap();
        let expected = "\
8 CPUs on 8 cores, 2 packages, 1 NUMA node (synthetic)
├─ Package 0 · NUMA node 0
│  ├─ L2 6 MiB · 2 cores: CPUs 0-1 · each L1d 32 KiB, L1i 32 KiB
│  └─ L2 6 MiB · 2 cores: CPUs 2-3 · each L1d 32 KiB, L1i 32 KiB
└─ Package 1 · NUMA node 0
   ├─ L2 6 MiB · 2 cores: CPUs 4-5 · each L1d 32 KiB, L1i 32 KiB
   └─ L2 6 MiB · 2 cores: CPUs 6-7 · each L1d 32 KiB, L1i 32 KiB";
        assert_eq!(xeon.tree().to_string(), expected);
    }

    #[test]
    fn smt_nodes_within_a_package_and_odd_sizes() {
        let spec = Spec {
            packages: 1,
            cores_per_package: 4,
            threads_per_core: 2,
            cores_per_node: 2,
            remote_numa_distance: 12,
            caches: vec![unified(2, 1024, 1), unified(3, 36_608, 2)],
        };
        let expected = "\
8 CPUs on 4 cores, 1 package, 2 NUMA nodes (synthetic)
└─ Package 0
   ├─ NUMA node 0 · L3 35.8 MiB · 2 cores × 2 threads: CPUs 0-1,4-5 · each L2 1 MiB
   └─ NUMA node 1 · L3 35.8 MiB · 2 cores × 2 threads: CPUs 2-3,6-7 · each L2 1 MiB";
        assert_eq!(
            Topology::synthetic(&spec).unwrap().tree().to_string(),
            expected
        );
    }

    #[test]
    fn three_levels_of_sharing() {
        let spec = Spec {
            caches: vec![
                unified(2, 512, 2),
                unified(3, 8192, 4),
                unified(4, 65_536, 8),
            ],
            ..Spec::flat(8)
        };
        let expected = "\
8 CPUs on 8 cores, 1 package, 1 NUMA node (synthetic)
└─ Package 0 · NUMA node 0 · L4 64 MiB
   ├─ L3 8 MiB
   │  ├─ L2 512 KiB · 2 cores: CPUs 0-1
   │  └─ L2 512 KiB · 2 cores: CPUs 2-3
   └─ L3 8 MiB
      ├─ L2 512 KiB · 2 cores: CPUs 4-5
      └─ L2 512 KiB · 2 cores: CPUs 6-7";
        assert_eq!(
            Topology::synthetic(&spec).unwrap().tree().to_string(),
            expected
        );
    }

    #[test]
    fn a_fallback_says_why() {
        let flat = Topology::flat(&"4".parse().unwrap(), "/sys is hidden");
        let expected = "\
1 CPU on 1 core, 1 package, 1 NUMA node (fallback: /sys is hidden)
└─ Package 0 · NUMA node 0 · 1 core: CPU 4";
        assert_eq!(flat.tree().to_string(), expected);
    }

    #[test]
    fn sizes() {
        assert_eq!(size_text(512), "512 B");
        assert_eq!(size_text(32 << 10), "32 KiB");
        assert_eq!(size_text(36_608 << 10), "35.8 MiB");
        assert_eq!(size_text(1 << 30), "1 GiB");
    }
}
