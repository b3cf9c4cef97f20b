//! Reading the kernel's description of the machine.
//!
//! Containers, sandboxes and virtual machines hide or fake parts of `/sys`. Only the
//! list of CPUs is indispensable: any other file that is missing or makes no sense
//! costs the fact it holds, and no more.

use std::path::Path;

use super::cpuset::{CpuSet, MAX_CPU};
use super::error::TopologyError;
use super::files::{numbered_entries, read_parsed, read_text};
use super::{Cache, CacheKind, CoreInfo, NumaNode, Source, Topology};

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
    /// use mely::topology::{Topology, TopologyError};
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
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures::{FixtureTree, cores};
    use super::super::{CacheSpec, Distance, Spec};
    use super::*;

    const PRIVATE_L1: (u8, &str, &str, &[&str]) = (1, "Data", "32K", &[]);

    fn shared(level: u8) -> Distance {
        Distance::SharedCache { level }
    }

    #[test]
    fn reads_back_every_synthetic_machine() {
        let l3 = CacheSpec {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: 36_608 << 10,
            cores: 4,
        };
        let two_sockets_smt = Spec {
            packages: 2,
            cores_per_package: 4,
            threads_per_core: 2,
            cores_per_node: 2,
            remote_numa_distance: 21,
            caches: vec![l3],
        };
        for spec in [Spec::xeon_e5410(), Spec::flat(3), two_sockets_smt] {
            let machine = Topology::synthetic(&spec).unwrap();
            let tree = FixtureTree::of(&machine);
            let read = Topology::read(tree.root()).unwrap();
            assert_eq!(read.cores(), machine.cores());
            assert_eq!(read.nodes(), machine.nodes());
            assert_eq!(read.source(), &Source::Sysfs);
        }
    }

    #[test]
    fn amd_with_four_groups_of_four() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0-15\n");
        for cpu in 0..16 {
            let group = ["0-3", "4-7", "8-11", "12-15"];
            tree.core(
                cpu,
                cpu / 8,
                cpu % 8,
                "",
                &[PRIVATE_L1, (3, "Unified", "2048K", &group)],
            );
        }
        for (id, (cpus, row)) in [
            ("0-3", "10 16 16 22"),
            ("4-7", "16 10 22 16"),
            ("8-11", "16 22 10 16"),
            ("12-15", "22 16 16 10"),
        ]
        .into_iter()
        .enumerate()
        {
            tree.node(id, cpus, row);
        }
        let amd = Topology::read(tree.root()).unwrap();
        assert_eq!(amd.distance(5, 7), shared(3));
        assert_eq!(amd.distance(0, 4), Distance::SamePackage);
        assert_eq!(amd.distance(0, 8), Distance::Remote { numa: 16 });
        assert_eq!(amd.distance(0, 12), Distance::Remote { numa: 22 });
        let order = amd.victim_order(5, &cores(&amd));
        assert_eq!(order, [6, 7, 4, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11]);
    }

    #[test]
    fn two_sockets_with_smt() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0-7\n");
        for cpu in 0..8 {
            let pairs = ["0,4", "1,5", "2,6", "3,7"];
            let siblings = pairs[cpu % 4];
            let caches = [
                (2, "Unified", "1024K", &pairs[..]),
                (3, "Unified", "36608K", &["0-1,4-5", "2-3,6-7"]),
            ];
            tree.core(cpu, cpu % 4 / 2, cpu % 2, siblings, &caches);
        }
        tree.node(0, "0-1,4-5", "10 21");
        tree.node(1, "2-3,6-7", "21 10");
        let machine = Topology::read(tree.root()).unwrap();
        assert_eq!(machine.distance(0, 4), Distance::Smt);
        assert_eq!(machine.distance(0, 5), shared(3));
        assert_eq!(machine.distance(0, 7), Distance::Remote { numa: 21 });
        assert_eq!(
            machine.victim_order(4, &cores(&machine)),
            [0, 5, 1, 6, 7, 2, 3]
        );
        assert_eq!(
            machine.core(0).unwrap().caches[1].size_bytes,
            Some(36_608 << 10)
        );
    }

    #[test]
    fn hybrid_with_one_smt_core_and_a_cluster() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0-6\n");
        let l3: (u8, &str, &str, &[&str]) = (3, "Unified", "12M", &["0-6"]);
        for cpu in 0..7 {
            let big = cpu < 2;
            let siblings = if big { "0-1" } else { "" };
            let l2: &[&str] = if big { &["0-1"] } else { &["2-3,5-6"] };
            // CPU 4 has an L2 of its own: neither in a pair nor in the cluster.
            let l2 = if cpu == 4 { &[] } else { l2 };
            tree.core(
                cpu,
                0,
                cpu,
                siblings,
                &[PRIVATE_L1, (2, "Unified", "2048K", l2), l3],
            );
        }
        let hybrid = Topology::read(tree.root()).unwrap();
        assert!(hybrid.nodes().is_empty());
        assert_eq!(hybrid.distance(0, 1), Distance::Smt);
        assert_eq!(hybrid.distance(2, 6), shared(2));
        assert_eq!(hybrid.distance(4, 6), shared(3));
        assert_eq!(hybrid.victim_order(5, &cores(&hybrid)), [6, 2, 3, 0, 1, 4]);
    }

    #[test]
    fn offline_cpus_leave_a_hole() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0,3,64-65\n");
        for cpu in [0, 1, 2, 3, 64, 65] {
            tree.core(
                cpu,
                0,
                cpu,
                "",
                &[(2, "Unified", "512K", &["0-3", "64-65"])],
            );
        }
        let holed = Topology::read(tree.root()).unwrap();
        assert_eq!(cores(&holed), [0, 3, 64, 65]);
        assert_eq!(
            holed.core(0).unwrap().caches[0].shared_by.to_string(),
            "0,3"
        );
        assert_eq!(holed.victim_order(3, &cores(&holed)), [0, 64, 65]);
    }

    #[test]
    fn a_shared_instruction_cache_makes_nobody_near() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0-3\n");
        for cpu in 0..4 {
            let instructions = (1, "Instruction", "64K", &["0-1", "2-3"][..]);
            let data = (2, "Unified", "1M", &["0,2", "1,3"][..]);
            tree.core(cpu, 0, cpu, "", &[instructions, data]);
        }
        let machine = Topology::read(tree.root()).unwrap();
        assert_eq!(machine.distance(0, 1), Distance::SameNode);
        assert_eq!(machine.distance(0, 2), shared(2));
    }

    #[test]
    fn the_longer_way_between_two_nodes_counts() {
        let tree = FixtureTree::new();
        tree.file("cpu/online", "0-1\n");
        for cpu in 0..2 {
            tree.core(cpu, cpu, 0, "", &[]);
        }
        tree.node(0, "0", "10 17");
        tree.node(1, "1", "28 10");
        let machine = Topology::read(tree.root()).unwrap();
        assert_eq!(machine.distance(0, 1), Distance::Remote { numa: 28 });
        assert_eq!(machine.distance(1, 0), Distance::Remote { numa: 28 });
    }

    #[test]
    fn hidden_sys_is_an_error_that_names_the_folder() {
        let tree = FixtureTree::new();
        let hidden = Topology::read(tree.root()).unwrap_err();
        assert!(
            hidden.to_string().contains("sys/devices/system/cpu"),
            "{hidden}"
        );
        tree.file("cpu/online", "");
        let empty = Topology::read(tree.root()).unwrap_err();
        assert!(matches!(empty, TopologyError::NoCpus { .. }));
    }

    #[test]
    fn sandboxes_that_show_only_one_half_of_the_list() {
        let only_list = FixtureTree::new();
        only_list.file("cpu/online", "0-1");
        assert_eq!(cores(&Topology::read(only_list.root()).unwrap()), [0, 1]);
        let only_folders = FixtureTree::new();
        only_folders.file("cpu/online", "\u{0}garbage");
        for name in [
            "cpu0",
            "cpu2",
            "cpu02",
            "cpu+3",
            "cpu99999999999999999999",
            "cpuidle",
        ] {
            only_folders.file(&format!("cpu/{name}/uevent"), "");
        }
        assert_eq!(cores(&Topology::read(only_folders.root()).unwrap()), [0, 2]);
    }

    #[test]
    fn sizes_in_every_unit() {
        assert_eq!(parse_size("32K"), Some(32 << 10));
        assert_eq!(parse_size("12M"), Some(12 << 20));
        assert_eq!(parse_size("1G"), Some(1 << 30));
        assert_eq!(parse_size("512"), Some(512));
        for garbage in ["", "K", "0K", "-1K", "18446744073709551615K", "é", "32é"] {
            assert_eq!(parse_size(garbage), None, "{garbage:?}");
        }
    }

    /// What a file may hold when it is garbage.
    fn contents() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(Vec::new()),
            Just(b"18446744073709551616".to_vec()),
            Just(b"-1".to_vec()),
            Just(b"0-8191".to_vec()),
            Just(b"0-1,3".to_vec()),
            Just(b"999999999999K".to_vec()),
            Just(vec![b'9'; 70_000]),
            prop::collection::vec(any::<u8>(), 0..64),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn garbage_never_panics(
            files in prop::collection::vec((0..GARBAGE_PATHS.len(), contents()), 0..12),
        ) {
            let tree = FixtureTree::of(&Topology::synthetic(&Spec::xeon_e5410()).unwrap());
            for (path, content) in files {
                tree.file(GARBAGE_PATHS[path], content);
            }
            let machine = Topology::read(tree.root()).unwrap();
            let cpus = cores(&machine);
            prop_assert!(!cpus.is_empty());
            for &cpu in &cpus {
                prop_assert_eq!(machine.victim_order(cpu, &cpus).len(), cpus.len() - 1);
                prop_assert_eq!(machine.distance(0, cpu), machine.distance(cpu, 0));
            }
            prop_assert!(!machine.tree().to_string().is_empty());
        }
    }

    const GARBAGE_PATHS: [&str; 12] = [
        "cpu/online",
        "cpu/cpu0/topology/physical_package_id",
        "cpu/cpu0/topology/core_id",
        "cpu/cpu1/topology/core_cpus_list",
        "cpu/cpu0/cache/index0/level",
        "cpu/cpu0/cache/index0/type",
        "cpu/cpu1/cache/index2/size",
        "cpu/cpu1/cache/index2/coherency_line_size",
        "cpu/cpu2/cache/index2/shared_cpu_list",
        "node/node0/cpulist",
        "node/node0/distance",
        "node/node7/cpulist",
    ];
}
