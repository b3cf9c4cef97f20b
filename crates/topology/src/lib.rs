//! The machine's shape: which CPUs share what, and how far they are apart.
//!
//! Users of the runtime find all of it as `mely::topology`.
//!
//! At start-up the runtime builds the *cache map* of the paper (sections III-A and
//! IV-B) from `/sys`, so that each core knows its neighbors and steals from near
//! before far. It also learns here which CPUs it may use ([`allowed_cpus`]), how
//! much of them ([`cpu_quota`]), and pins its workers ([`pin_current_thread`]).
//!
//! ```
//! use mely_topology::{Topology, allowed_cpus, cpu_quota, default_workers};
//!
//! let topology = Topology::detect();
//! let allowed = allowed_cpus();
//! let workers = default_workers(&allowed, cpu_quota());
//! let cpus: Vec<usize> = allowed.iter().take(workers).collect();
//! for &cpu in &cpus {
//!     println!("CPU {cpu} looks for work at {:?}", topology.victim_order(cpu, &cpus));
//! }
//! println!("{}", topology.tree());
//! ```

use std::fmt;
use std::path::Path;

mod affinity;
mod cpu_times;
mod cpuset;
mod distance;
mod error;
mod files;
#[cfg(test)]
mod fixtures;
mod quota;
mod synthetic;
mod sysfs;
mod tree;

pub use affinity::{allowed_cpus, default_workers, pin_current_thread, restrict_current_thread};
pub use cpu_times::{CpuAccount, CpuTimes};
pub use cpuset::CpuSet;
pub use distance::Distance;
pub use error::TopologyError;
pub use quota::{cpu_quota, cpu_quota_under};
pub use synthetic::{CacheSpec, Spec};
pub use tree::Tree;

/// One more than the largest CPU number a [`CpuSet`] holds.
///
/// Linux is built for at most 8192 CPUs (`CONFIG_NR_CPUS` with `MAXSMP` on
/// x86-64), so a file that names more is garbage, and must not cost memory.
pub const MAX_CPU: usize = 8192;

/// The CPUs of a machine, the caches they share, and their memory nodes.
///
/// ```
/// use mely_topology::{Source, Topology};
///
/// let topology = Topology::detect();
/// assert!(!topology.cores().is_empty());
/// if let Source::Fallback { reason } = topology.source() {
///     eprintln!("cores are taken as equally near: {reason}");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Topology {
    source: Source,
    /// In increasing CPU number.
    cores: Vec<CoreInfo>,
    /// In increasing node number.
    nodes: Vec<NumaNode>,
}

/// Where a [`Topology`] comes from.
///
/// ```
/// use mely_topology::Source;
///
/// let hidden = Source::Fallback { reason: "/sys is hidden".into() };
/// assert_eq!(hidden.to_string(), "fallback: /sys is hidden");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Source {
    /// The kernel's description under `/sys`.
    Sysfs,
    /// A [`Spec`].
    Synthetic,
    /// The number of allowed CPUs alone: all are taken as equally near.
    Fallback {
        /// Why the kernel's description could not be used.
        reason: String,
    },
}

/// One CPU: a hardware thread that the operating system schedules on.
///
/// ```
/// use mely_topology::{Spec, Topology};
///
/// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
/// let core = xeon.core(5).unwrap();
/// assert_eq!((core.package, core.numa_node, core.caches.len()), (1, 0, 3));
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CoreInfo {
    /// The operating system's number.
    pub cpu: usize,
    /// The socket; 0 where it is not known.
    pub package: usize,
    /// The memory node; 0 where it is not known.
    pub numa_node: usize,
    /// The physical core's number, unique within its package at most; the CPU's own
    /// number where it is not known.
    pub core_id: usize,
    /// The online CPUs of the same physical core, this one included.
    pub smt_siblings: CpuSet,
    /// The caches that this CPU uses, nearest level first.
    pub caches: Vec<Cache>,
}

/// A cache as one of its CPUs sees it.
///
/// ```
/// use mely_topology::{Spec, Topology};
///
/// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
/// let l2 = &xeon.core(5).unwrap().caches[2];
/// assert_eq!((l2.level, l2.size_bytes), (2, Some(6 << 20)));
/// assert_eq!(l2.shared_by.to_string(), "4-5");
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cache {
    /// The level, from 1.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// The size in bytes, where it is known.
    pub size_bytes: Option<u64>,
    /// The line size in bytes, where it is known.
    pub line_bytes: Option<u32>,
    /// The online CPUs that use it, this one included.
    pub shared_by: CpuSet,
}

/// What a cache holds.
///
/// Instruction caches never make two cores near: stolen work drags its data along.
///
/// ```
/// use mely_topology::CacheKind;
///
/// assert!(CacheKind::Data < CacheKind::Unified);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// A memory node, possibly without CPUs.
///
/// ```
/// use mely_topology::{Spec, Topology};
///
/// let two_nodes = Spec { cores_per_node: 2, ..Spec::flat(4) };
/// let topology = Topology::synthetic(&two_nodes)?;
/// assert_eq!(topology.nodes()[1].cpus.to_string(), "2-3");
/// assert_eq!(topology.nodes()[1].distances, [20, 10]);
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NumaNode {
    /// The operating system's number.
    pub id: usize,
    /// The online CPUs for which this memory is local.
    pub cpus: CpuSet,
    /// The firmware's distances to the nodes of [`Topology::nodes`], in that order;
    /// empty where firmware says nothing. 10 is local.
    pub distances: Vec<u32>,
}

impl Topology {
    /// The topology of this machine: from `/sys`, or, where that is hidden or makes
    /// no sense, flat over the CPUs that the process may use.
    ///
    /// Never fails: [`source`](Self::source) tells which of the two it is.
    ///
    /// ```
    /// use mely_topology::Topology;
    ///
    /// assert!(!Topology::detect().cores().is_empty());
    /// ```
    #[must_use]
    pub fn detect() -> Self {
        if cfg!(miri) {
            // Hundreds of small files are slow to interpret, and tell of another machine.
            return Self::flat(&allowed_cpus(), "an interpreter does not read /sys");
        }
        Self::read(Path::new("/"))
            .unwrap_or_else(|error| Self::flat(&allowed_cpus(), error.to_string()))
    }

    /// A topology in which the given CPUs are equally near; `reason` says why nothing
    /// better is known.
    ///
    /// ```
    /// use mely_topology::{Distance, Topology};
    ///
    /// let flat = Topology::flat(&"2-3".parse()?, "/sys is hidden");
    /// assert_eq!(flat.distance(2, 3), Distance::SameNode);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn flat(cpus: &CpuSet, reason: impl Into<String>) -> Self {
        let alone = |cpu| CoreInfo {
            cpu,
            package: 0,
            numa_node: 0,
            core_id: cpu,
            smt_siblings: CpuSet::single(cpu),
            caches: Vec::new(),
        };
        let node = NumaNode {
            id: 0,
            cpus: cpus.clone(),
            distances: Vec::new(),
        };
        let source = Source::Fallback {
            reason: reason.into(),
        };
        Self::assemble(cpus.iter().map(alone).collect(), vec![node], source)
    }

    /// Puts the parts in the order on which look-ups rely.
    fn assemble(mut cores: Vec<CoreInfo>, mut nodes: Vec<NumaNode>, source: Source) -> Self {
        cores.sort_unstable_by_key(|core| core.cpu);
        for core in &mut cores {
            core.caches.sort_by_key(|cache| (cache.level, cache.kind));
        }
        nodes.sort_unstable_by_key(|node| node.id);
        Self {
            source,
            cores,
            nodes,
        }
    }

    /// Where this description comes from.
    ///
    /// ```
    /// println!("{}", mely_topology::Topology::detect().source());
    /// ```
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The online CPUs, in increasing number.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let topology = Topology::synthetic(&Spec::flat(3))?;
    /// let cpus: Vec<usize> = topology.cores().iter().map(|core| core.cpu).collect();
    /// assert_eq!(cpus, [0, 1, 2]);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn cores(&self) -> &[CoreInfo] {
        &self.cores
    }

    /// The CPU of that number, if it is known and online.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let topology = Topology::synthetic(&Spec::flat(3))?;
    /// assert!(topology.core(2).is_some() && topology.core(3).is_none());
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn core(&self, cpu: usize) -> Option<&CoreInfo> {
        let index = self.cores.binary_search_by_key(&cpu, |core| core.cpu);
        index.ok().map(|index| &self.cores[index])
    }

    /// The memory nodes, in increasing number; empty where none is known.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
    /// assert_eq!(xeon.nodes().len(), 1);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn nodes(&self) -> &[NumaNode] {
        &self.nodes
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysfs => f.write_str("sysfs"),
            Self::Synthetic => f.write_str("synthetic"),
            Self::Fallback { reason } => write!(f, "fallback: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_found() {
        let topology = Topology::detect();
        assert!(!topology.cores().is_empty());
        for core in topology.cores() {
            assert!(core.smt_siblings.contains(core.cpu));
            assert!(
                core.caches
                    .iter()
                    .all(|cache| cache.shared_by.contains(core.cpu))
            );
        }
        assert!(!topology.tree().to_string().is_empty());
    }

    #[test]
    fn a_flat_topology_of_no_cpu_is_empty_but_whole() {
        let nothing = Topology::flat(&CpuSet::new(), "no reason");
        assert!(nothing.cores().is_empty());
        assert!(nothing.victim_order(0, &[]).is_empty());
        assert!(nothing.tree().to_string().contains("0 CPUs"));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serialises_sets_as_lists() {
        let xeon = Topology::synthetic(&Spec::xeon_e5410()).unwrap();
        let json = serde_json::to_value(&xeon).unwrap();
        assert_eq!(json["source"], "synthetic");
        assert_eq!(json["cores"][5]["caches"][2]["shared_by"], "4-5");
        assert_eq!(json["cores"][5]["caches"][2]["kind"], "unified");
        assert_eq!(json["nodes"][0]["cpus"], "0-7");
    }
}
