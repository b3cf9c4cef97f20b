//! The machines that the reader is tried on.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{FixtureTree, cores};
use crate::{CacheSpec, Distance, Spec};

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
