//! Which workers a workload loads: one of each pair of neighbors.
//!
//! The papers' machine has pairs of cores with a level-2 cache in common, and their
//! uneven workloads begin on one core of each pair. Elsewhere a worker's partner is
//! the nearest that has none yet: a hardware thread of its core, a core that shares
//! a cache, any other. So on two cores the first is loaded, on eight every second
//! one. A worker that stays without a partner is loaded too.

use mely::Handle;
use mely::topology::Topology;

/// The workers of `handle` that are loaded, by number: at least worker 0.
pub(super) fn loaded(handle: &Handle) -> Vec<usize> {
    let workers = handle.metrics().workers;
    // Workers that are pinned nowhere have no neighbors: they are paired in order.
    let cpus = workers.iter().map(|worker| worker.core.unwrap_or(0));
    one_of_each_pair(&Topology::detect(), &cpus.collect::<Vec<_>>())
}

fn one_of_each_pair(topology: &Topology, cpu_of: &[usize]) -> Vec<usize> {
    let mut paired = vec![false; cpu_of.len()];
    let mut loaded = Vec::new();
    for worker in 0..cpu_of.len() {
        if paired[worker] {
            continue;
        }
        paired[worker] = true;
        loaded.push(worker);
        let near_first = topology.victim_workers(worker, cpu_of);
        if let Some(partner) = near_first.into_iter().find(|&other| !paired[other]) {
            paired[partner] = true;
        }
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;
    use mely::topology::Spec;

    #[test]
    fn partners_share_a_cache_where_there_is_one() {
        let xeon = Topology::synthetic(&Spec::xeon_e5410()).unwrap();
        assert_eq!(
            one_of_each_pair(&xeon, &[0, 1, 2, 3, 4, 5, 6, 7]),
            [0, 2, 4, 6]
        );
        // Workers 0 and 2 are neighbors, so are 1 and 3.
        assert_eq!(one_of_each_pair(&xeon, &[0, 4, 1, 5]), [0, 1]);
    }

    #[test]
    fn two_cores_are_one_pair_and_a_third_stays_alone() {
        let flat = Topology::synthetic(&Spec::flat(3)).unwrap();
        assert_eq!(one_of_each_pair(&flat, &[0, 1]), [0]);
        assert_eq!(one_of_each_pair(&flat, &[0, 1, 2]), [0, 2]);
        assert_eq!(one_of_each_pair(&flat, &[0]), [0]);
    }
}
