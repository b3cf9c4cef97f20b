//! The caches against the plain ones, and what they must do by themselves.

use proptest::prelude::*;

use super::super::{CacheLevel, Groups, MemoryCosts};
use super::reference::Reference;
use super::*;

/// Small enough that everything is evicted soon.
fn small(cores: usize, shapes: &[(u64, u32, usize)], package: usize, node: usize) -> Machine {
    let model = Machine::find("xeon-e5410").unwrap();
    let in_groups = |size: usize| {
        let first = (0..cores).step_by(size);
        Groups::listed(
            first.map(|core| (core..(core + size).min(cores)).collect()),
            cores,
        )
        .unwrap()
    };
    let nodes = in_groups(node);
    let near = |a: usize, b: usize| 10 + 7 * a.abs_diff(b) as u32;
    let row = |a| (0..nodes.len()).map(|b| near(a, b)).collect();
    let caches = shapes.iter().zip(1..);
    Machine {
        cores,
        packages: in_groups(package),
        node_distances: (0..nodes.len()).map(row).collect(),
        caches: caches
            .map(|(&(sets, ways, shared), level)| CacheLevel {
                level,
                size_bytes: sets * u64::from(ways) * 64,
                ways,
                shared_by: in_groups(shared),
                hit_cycles: 3 * u64::from(level),
            })
            .collect(),
        memory: MemoryCosts {
            local_cycles: 50,
            remote_cycles: 91,
            sequential_overlap: 3,
        },
        nodes,
        ..model
    }
}

fn machines() -> impl Strategy<Value = Machine> {
    // Each level is shared by a multiple of what the one within is, as is a package.
    let shape = || (1_u64..5, 1_u32..4, 1_usize..3);
    let shapes = prop::collection::vec(shape(), 1..=4);
    (1_usize..12, shapes, 1_usize..3, 1_usize..5).prop_map(|(cores, shapes, package, node)| {
        let mut shared = 1;
        let nested: Vec<_> = shapes
            .into_iter()
            .map(|(sets, ways, factor)| {
                shared *= factor;
                (sets, ways, shared)
            })
            .collect();
        small(cores, &nested, shared * package, node)
    })
}

fn accesses() -> impl Strategy<Value = Vec<(usize, u32, Access)>> {
    let how = prop_oneof![
        3 => Just(Access::Load),
        2 => Just(Access::Store),
        1 => Just(Access::Rmw),
    ];
    prop::collection::vec((0_usize..12, 0_u32..40, how), 1..400)
}

proptest! {
    #[test]
    fn they_cost_and_count_what_the_plain_ones_do(
        machine in machines(),
        accesses in accesses(),
    ) {
        let mut fast = Caches::new(&machine).unwrap();
        let mut plain = Reference::new(&machine);
        for (step, &(core, line, how)) in accesses.iter().enumerate() {
            let core = core % machine.cores;
            let costs = (fast.access(core, line, how), plain.access(core, line, how));
            prop_assert_eq!(costs.0, costs.1, "step {}: {} {} {:?}", step, core, line, how);
        }
        for core in 0..machine.cores {
            // Who lost a copy is not counted by the plain ones.
            let counted = Counts { invalidated: 0, ..*fast.counts(core) };
            prop_assert_eq!(counted, plain.counts[core], "core {}", core);
        }
    }

    #[test]
    fn every_access_is_counted_once(machine in machines(), accesses in accesses()) {
        let mut caches = Caches::new(&machine).unwrap();
        for &(core, line, how) in &accesses {
            caches.access(core % machine.cores, line, how);
        }
        let mut sum = Counts::default();
        (0..machine.cores).for_each(|core| sum += *caches.counts(core));
        prop_assert_eq!(sum.accesses(), accesses.len() as u64);
    }
}

#[test]
fn more_than_64_cores_lose_their_copies() {
    let machine = Machine::find("xeon-8592-2s").unwrap();
    let mut caches = Caches::new(&machine).unwrap();
    for core in 0..machine.cores {
        caches.access(core, 3, Access::Load);
    }
    let far = machine.transfer.other_package_cycles;
    assert_eq!(caches.access(127, 3, Access::Store), far);
    assert_eq!(caches.access(0, 3, Access::Load), far);
    // Core 0 brought it into its package's cache.
    assert_eq!(
        caches.access(1, 3, Access::Load),
        machine.caches[2].hit_cycles
    );
    for core in 0..127 {
        assert_eq!(caches.counts(core).invalidated, 1, "{core}");
    }
}

#[test]
fn a_walk_overlaps_what_it_waits_for() {
    let machine = small(1, &[(4, 2, 1)], 1, 1);
    let mut caches = Caches::new(&machine).unwrap();
    assert_eq!(
        caches.access_range(0, 0, 8, Access::Load),
        8_u64 * 50 / 3 + 1
    );
    assert_eq!(caches.access_range(0, 0, 8, Access::Load), 8 * 3);
    assert_eq!(caches.access_range(0, 0, 0, Access::Store), 0);
    caches.reset_counts();
    assert_eq!(caches.counts(0).accesses(), 0);
    assert_eq!(caches.access(0, 7, Access::Load), 3);
}

#[test]
fn a_working_set_beyond_the_cache_never_hits() {
    let machine = Machine::find("xeon-e5410").unwrap();
    let mut caches = Caches::new(&machine).unwrap();
    let l2_lines = 6 * 1024 * 1024 / 64;
    caches.access_range(0, 0, l2_lines, Access::Load);
    caches.reset_counts();
    caches.access_range(1, 0, l2_lines, Access::Load);
    assert_eq!(caches.counts(1).l2_misses, 0);
    caches.access_range(0, 0, 2 * l2_lines, Access::Load);
    caches.reset_counts();
    caches.access_range(0, 0, 2 * l2_lines, Access::Load);
    assert_eq!(caches.counts(0).l2_misses, u64::from(2 * l2_lines));
}
