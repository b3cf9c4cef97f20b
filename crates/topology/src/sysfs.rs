//! Reading the kernel's description of the machine.
//!
//! Containers, sandboxes and virtual machines hide or fake parts of `/sys`. Only the
//! list of CPUs is indispensable: any other file that is missing or makes no sense
//! costs the fact it holds, and no more.

use std::path::Path;

use crate::MAX_CPU;
use crate::cpuset::CpuSet;
use crate::error::TopologyError;
use crate::files::{numbered_entries, read_parsed, read_text};
use crate::{Cache, CacheKind, CoreInfo, NumaNode, Source, Topology};

/// More than any machine has: four or five are usual.
const CACHES_MAX: usize = 16;

/// Linux is built for at most 1024 nodes (`CONFIG_NODES_SHIFT` of 10).
const NODES_MAX: usize = 1024;

impl Topology {
    /// The topology described by `sys/devices/system/{cpu,node}` under `root`, which
    /// is `/` but for tests and saved descriptions of other machines.
    ///
    /// Offline CPUs are left out. What is missing or garbage, apart from the list of
    /// CPUs, is taken as not known: package 0, node 0, no cache.
    ///
    /// # Errors
    /// [`TopologyError::Unreadable`] or [`TopologyError::NoCpus`] when there is no
    /// usable list of CPUs, as where `/sys` is hidden.
    ///
    /// ```
    /// use std::path::Path;
    /// use mely_topology::{Topology, TopologyError};
    ///
    /// let hidden = Topology::read(Path::new("/nowhere"));
    /// assert!(matches!(hidden, Err(TopologyError::Unreadable { .. })));
    /// ```
    pub fn read(root: &Path) -> Result<Self, TopologyError> {
        let system = root.join("sys/devices/system");
        let cpu_dir = system.join("cpu");
        let online = online_cpus(&cpu_dir)?;
        let nodes = read_nodes(&system.join("node"), &online);
        let cores = online
            .iter()
            .map(|cpu| read_core(&cpu_dir.join(format!("cpu{cpu}")), cpu, &online, &nodes))
            .collect();
        Ok(Self::assemble(cores, nodes, Source::Sysfs))
    }
}

/// The CPUs of the `online` file that also have a folder; where one of the two is
/// not usable, those of the other.
fn online_cpus(cpu_dir: &Path) -> Result<CpuSet, TopologyError> {
    let listed: CpuSet = read_parsed(&cpu_dir.join("online")).unwrap_or_default();
    let found = numbered_entries(cpu_dir, "cpu", MAX_CPU);
    let folders = match &found {
        Ok(cpus) => CpuSet::of(cpus.iter().copied())?,
        Err(_) => CpuSet::new(),
    };
    let both = listed.intersection(&folders);
    let best = [both, listed, folders]
        .into_iter()
        .find(|cpus| !cpus.is_empty());
    match (best, found) {
        (Some(cpus), _) => Ok(cpus),
        (None, Ok(_)) => Err(TopologyError::NoCpus {
            path: cpu_dir.into(),
        }),
        (None, Err(error)) => Err(TopologyError::Unreadable {
            path: cpu_dir.into(),
            kind: error.kind(),
        }),
    }
}

fn read_core(dir: &Path, cpu: usize, online: &CpuSet, nodes: &[NumaNode]) -> CoreInfo {
    let topology = dir.join("topology");
    // Kernels before 5.4 know only the second name.
    let siblings = ["core_cpus_list", "thread_siblings_list"]
        .into_iter()
        .find_map(|name| read_parsed(&topology.join(name)));
    let node = nodes.iter().find(|node| node.cpus.contains(cpu));
    CoreInfo {
        cpu,
        package: read_parsed(&topology.join("physical_package_id")).unwrap_or(0),
        numa_node: node.map_or(0, |node| node.id),
        core_id: read_parsed(&topology.join("core_id")).unwrap_or(cpu),
        smt_siblings: with_self(siblings.as_ref(), cpu, online),
        caches: read_caches(&dir.join("cache"), cpu, online),
    }
}

/// The set that CPU `cpu` belongs to: `cpu` alone when the file is missing, or says
/// something that cannot be so.
fn with_self(set: Option<&CpuSet>, cpu: usize, online: &CpuSet) -> CpuSet {
    set.filter(|set| set.contains(cpu))
        .map_or_else(|| CpuSet::single(cpu), |set| set.intersection(online))
}

fn read_caches(dir: &Path, cpu: usize, online: &CpuSet) -> Vec<Cache> {
    (0..CACHES_MAX)
        .map(|index| dir.join(format!("index{index}")))
        .take_while(|index| index.is_dir())
        .filter_map(|index| {
            let shared_by: Option<CpuSet> = read_parsed(&index.join("shared_cpu_list"));
            Some(Cache {
                level: read_parsed(&index.join("level")).filter(|&level| level > 0)?,
                kind: parse_kind(&read_text(&index.join("type"))?)?,
                size_bytes: read_text(&index.join("size")).and_then(|text| parse_size(&text)),
                line_bytes: read_parsed(&index.join("coherency_line_size"))
                    .filter(|&bytes| bytes > 0),
                shared_by: with_self(shared_by.as_ref(), cpu, online),
            })
        })
        .collect()
}

fn parse_kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// A size such as `36608K`, in bytes.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let size: u64 = digits.parse().ok()?;
    size.checked_mul(unit).filter(|&bytes| bytes > 0)
}

/// The memory nodes; none where the kernel is built without them.
fn read_nodes(dir: &Path, online: &CpuSet) -> Vec<NumaNode> {
    let ids = numbered_entries(dir, "node", NODES_MAX).unwrap_or_default();
    let read = |&id: &usize| {
        let node = dir.join(format!("node{id}"));
        let cpus: CpuSet = read_parsed(&node.join("cpulist")).unwrap_or_default();
        NumaNode {
            id,
            cpus: cpus.intersection(online),
            distances: read_distances(&node.join("distance"), ids.len()),
        }
    };
    ids.iter().map(read).collect()
}

/// One column for each node in increasing number; anything else is garbage.
fn read_distances(path: &Path, nodes: usize) -> Vec<u32> {
    let Some(text) = read_text(path) else {
        return Vec::new();
    };
    let columns: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    columns
        .ok()
        .filter(|columns| columns.len() == nodes)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
