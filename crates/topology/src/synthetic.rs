//! Machines made from a description, for simulation and tests.

use crate::MAX_CPU;
use crate::cpuset::CpuSet;
use crate::error::TopologyError;
use crate::{Cache, CacheKind, CoreInfo, NumaNode, Source, Topology};

/// The line size of every machine of the papers, and of nearly all of today's.
const LINE_BYTES: u32 = 64;
const NUMA_LOCAL: u32 = 10;

/// A regular machine: every package is like every other.
///
/// CPUs are numbered as Linux does on x86-64: first one thread of every core,
/// package after package, then the second threads in the same order.
///
/// ```
/// use mely_topology::{Spec, Topology};
///
/// let two_sockets_smt = Spec {
///     packages: 2,
///     cores_per_package: 4,
///     threads_per_core: 2,
///     cores_per_node: 4,
///     ..Spec::flat(0)
/// };
/// let topology = Topology::synthetic(&two_sockets_smt)?;
/// assert_eq!(topology.core(0).unwrap().smt_siblings.to_string(), "0,8");
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Sockets; at least 1.
    pub packages: usize,
    /// Physical cores in each package; at least 1.
    pub cores_per_package: usize,
    /// Hardware threads, each a CPU, of each physical core; at least 1.
    pub threads_per_core: usize,
    /// Physical cores in each NUMA node; more than a package has makes packages
    /// share a node. At least 1.
    pub cores_per_node: usize,
    /// The NUMA distance between any two nodes; 10 would be local.
    pub remote_numa_distance: u32,
    /// The caches, in any order.
    pub caches: Vec<CacheSpec>,
}

/// The caches of one level and kind of a [`Spec`].
///
/// ```
/// use mely_topology::{CacheKind, CacheSpec};
///
/// let l3_of_four_cores = CacheSpec {
///     level: 3,
///     kind: CacheKind::Unified,
///     size_bytes: 2 << 20,
///     cores: 4,
/// };
/// assert_eq!(l3_of_four_cores.cores, 4);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSpec {
    /// The level, from 1.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// The size of one instance, in bytes.
    pub size_bytes: u64,
    /// How many physical cores of one package share an instance; at least 1.
    pub cores: usize,
}

impl Spec {
    /// A machine of `cpus` equal cores that share nothing known.
    ///
    /// ```
    /// use mely_topology::{Distance, Spec, Topology};
    ///
    /// let flat = Topology::synthetic(&Spec::flat(4))?;
    /// assert_eq!(flat.distance(0, 3), Distance::SameNode);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn flat(cpus: usize) -> Self {
        Self {
            packages: 1,
            cores_per_package: cpus,
            threads_per_core: 1,
            cores_per_node: cpus,
            remote_numa_distance: 20,
            caches: Vec::new(),
        }
    }

    /// The papers' machine: two quad-core Xeon E5410 packages, a 6 MiB L2 cache for
    /// each pair of cores, uniform memory (section V-A).
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// assert_eq!(Topology::synthetic(&Spec::xeon_e5410())?.cores().len(), 8);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn xeon_e5410() -> Self {
        let l1 = |kind| CacheSpec {
            level: 1,
            kind,
            size_bytes: 32 << 10,
            cores: 1,
        };
        Self {
            packages: 2,
            cores_per_package: 4,
            threads_per_core: 1,
            cores_per_node: 8,
            remote_numa_distance: 20,
            caches: vec![
                l1(CacheKind::Data),
                l1(CacheKind::Instruction),
                CacheSpec {
                    level: 2,
                    kind: CacheKind::Unified,
                    size_bytes: 6 << 20,
                    cores: 2,
                },
            ],
        }
    }

    /// How many physical cores the machine has, once it is known to be possible.
    fn checked_cores(&self) -> Result<usize, TopologyError> {
        let refuse = |reason| Err(TopologyError::Spec { reason });
        let counts = [
            self.packages,
            self.cores_per_package,
            self.threads_per_core,
            self.cores_per_node,
        ];
        if counts.contains(&0) {
            return refuse("packages, cores, threads and cores of a node are at least 1");
        }
        if self
            .caches
            .iter()
            .any(|cache| cache.cores == 0 || cache.level == 0)
        {
            return refuse("a cache has a level from 1 and serves at least 1 core");
        }
        let cores = self.packages.checked_mul(self.cores_per_package);
        match cores.and_then(|cores| cores.checked_mul(self.threads_per_core)) {
            Some(cpus) if cpus <= MAX_CPU => Ok(cpus / self.threads_per_core),
            _ => refuse("more than 8192 CPUs"),
        }
    }
}

impl Topology {
    /// The machine that a description gives.
    ///
    /// # Errors
    /// [`TopologyError::Spec`] when a count is zero, or there are more CPUs than
    /// [`MAX_CPU`].
    ///
    /// ```
    /// use mely_topology::{Source, Spec, Topology};
    ///
    /// assert_eq!(Topology::synthetic(&Spec::flat(2))?.source(), &Source::Synthetic);
    /// assert!(Topology::synthetic(&Spec::flat(0)).is_err());
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    pub fn synthetic(spec: &Spec) -> Result<Self, TopologyError> {
        let cores = spec.checked_cores()?;
        let threads_of = |range: std::ops::Range<usize>| {
            CpuSet::of(
                (0..spec.threads_per_core)
                    .flat_map(|t| range.clone().map(move |core| t * cores + core)),
            )
        };
        let mut infos = Vec::with_capacity(cores * spec.threads_per_core);
        for cpu in 0..cores * spec.threads_per_core {
            let core = cpu % cores;
            let package = core / spec.cores_per_package;
            let in_package = core % spec.cores_per_package;
            let end = (package + 1) * spec.cores_per_package;
            let mut caches = Vec::with_capacity(spec.caches.len());
            for cache in &spec.caches {
                let first = core - in_package % cache.cores;
                caches.push(Cache {
                    level: cache.level,
                    kind: cache.kind,
                    size_bytes: Some(cache.size_bytes),
                    line_bytes: Some(LINE_BYTES),
                    shared_by: threads_of(first..first.saturating_add(cache.cores).min(end))?,
                });
            }
            infos.push(CoreInfo {
                cpu,
                package,
                numa_node: core / spec.cores_per_node,
                core_id: in_package,
                smt_siblings: threads_of(core..core + 1)?,
                caches,
            });
        }
        let node_count = cores.div_ceil(spec.cores_per_node);
        let mut nodes = Vec::with_capacity(node_count);
        for id in 0..node_count {
            let first = id * spec.cores_per_node;
            let distance_to = |other| {
                if other == id {
                    NUMA_LOCAL
                } else {
                    spec.remote_numa_distance
                }
            };
            nodes.push(NumaNode {
                id,
                cpus: threads_of(first..first.saturating_add(spec.cores_per_node).min(cores))?,
                distances: (0..node_count).map(distance_to).collect(),
            });
        }
        Ok(Self::assemble(infos, nodes, Source::Synthetic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distance;

    #[test]
    fn impossible_machines_are_refused() {
        let flat = Spec::flat(4);
        for spec in [
            Spec::flat(0),
            Spec::flat(MAX_CPU + 1),
            Spec::flat(usize::MAX),
            Spec {
                packages: 0,
                ..flat.clone()
            },
            Spec {
                packages: usize::MAX,
                ..flat.clone()
            },
            Spec {
                threads_per_core: usize::MAX,
                ..flat.clone()
            },
            Spec {
                cores_per_node: 0,
                ..flat.clone()
            },
            Spec {
                caches: vec![CacheSpec {
                    level: 1,
                    kind: CacheKind::Data,
                    size_bytes: 1,
                    cores: 0,
                }],
                ..flat
            },
        ] {
            let refused = Topology::synthetic(&spec);
            assert!(
                matches!(refused, Err(TopologyError::Spec { .. })),
                "{spec:?}"
            );
        }
    }

    #[test]
    fn an_enormous_cache_stays_within_its_package() {
        let spec = Spec {
            packages: 2,
            caches: vec![CacheSpec {
                level: 4,
                kind: CacheKind::Unified,
                size_bytes: 1,
                cores: usize::MAX,
            }],
            ..Spec::flat(3)
        };
        let topology = Topology::synthetic(&spec).unwrap();
        assert_eq!(topology.distance(0, 2), Distance::SharedCache { level: 4 });
        assert_eq!(topology.distance(2, 3), Distance::Remote { numa: 20 });
    }
}
