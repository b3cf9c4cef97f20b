//! How far two CPUs are from each other, and the order of victims it gives.

use crate::{CacheKind, CoreInfo, Topology};

/// NUMA distances as firmware gives them: 10 is local, 20 twice as far.
const NUMA_LOCAL: u32 = 10;
const NUMA_REMOTE: u32 = 20;

/// How far a CPU is from another: the smaller, the cheaper to steal from.
///
/// A cache shared at any level counts, so hierarchies deeper than the papers'
/// need no further code.
///
/// ```
/// use mely_topology::Distance;
///
/// assert!(Distance::Smt < Distance::SharedCache { level: 2 });
/// assert!(Distance::SharedCache { level: 2 } < Distance::SharedCache { level: 3 });
/// assert!(Distance::SamePackage < Distance::Remote { numa: 10 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Distance {
    /// The CPU itself.
    Same,
    /// Two hardware threads of one physical core.
    Smt,
    /// Two physical cores that share a data or unified cache.
    SharedCache {
        /// The nearest level that they share.
        level: u8,
    },
    /// One package and one NUMA node, but no cache in common.
    SameNode,
    /// One package, two NUMA nodes.
    SamePackage,
    /// Two packages.
    Remote {
        /// The firmware's NUMA distance: 10 when both packages use one memory
        /// node, `u32::MAX` when a CPU is not in the topology.
        numa: u32,
    },
}

impl Topology {
    /// The distance between two CPUs, given by their operating-system numbers.
    ///
    /// It is the same in both directions. A CPU that the topology does not know
    /// is as far as can be from every other.
    ///
    /// Paper: section III-A.
    ///
    /// ```
    /// use mely_topology::{Distance, Spec, Topology};
    ///
    /// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
    /// assert_eq!(xeon.distance(0, 1), Distance::SharedCache { level: 2 });
    /// assert_eq!(xeon.distance(0, 2), Distance::SameNode);
    /// assert_eq!(xeon.distance(0, 4), Distance::Remote { numa: 10 });
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        if a == b {
            return Distance::Same;
        }
        let (Some(a), Some(b)) = (self.core(a), self.core(b)) else {
            return Distance::Remote { numa: u32::MAX };
        };
        if a.smt_siblings.contains(b.cpu) && b.smt_siblings.contains(a.cpu) {
            Distance::Smt
        } else if let Some(level) = nearest_shared_level(a, b) {
            Distance::SharedCache { level }
        } else if a.package != b.package {
            let numa = self.numa_distance(a.numa_node, b.numa_node);
            Distance::Remote { numa }
        } else if a.numa_node == b.numa_node {
            Distance::SameNode
        } else {
            Distance::SamePackage
        }
    }

    /// The firmware's distance between two NUMA nodes: the larger of the two
    /// directions; 10 within a node and 20 across where firmware says nothing.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let flat = Topology::synthetic(&Spec::flat(4))?;
    /// assert_eq!(flat.numa_distance(0, 0), 10);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn numa_distance(&self, a: usize, b: usize) -> u32 {
        let index = |id| self.nodes.binary_search_by_key(&id, |node| node.id).ok();
        let told = index(a).zip(index(b)).and_then(|(a, b)| {
            let there = self.nodes[a].distances.get(b)?;
            let back = self.nodes[b].distances.get(a)?;
            Some(*there.max(back))
        });
        told.unwrap_or(if a == b { NUMA_LOCAL } else { NUMA_REMOTE })
    }

    /// The CPUs of `among` in the order in which CPU `of` should look for work.
    ///
    /// Near ones come first; equally near ones come in increasing number starting
    /// after `of` and wrapping round, so that thieves spread over their victims
    /// rather than all looking at CPU 0 first. `of` itself is left out, and a CPU
    /// named several times stays so.
    ///
    /// Paper: `construct_core_set`, sections III-A and IV-B.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
    /// let all: Vec<usize> = (0..8).collect();
    /// assert_eq!(xeon.victim_order(2, &all), [3, 0, 1, 4, 5, 6, 7]);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn victim_order(&self, of: usize, among: &[usize]) -> Vec<usize> {
        let mut victims: Vec<usize> = among.iter().copied().filter(|&cpu| cpu != of).collect();
        victims.sort_by_cached_key(|&cpu| (self.distance(of, cpu), cpu.wrapping_sub(of)));
        victims
    }

    /// Like [`victim_order`](Self::victim_order), for workers rather than CPUs:
    /// `cpu_of[w]` is the CPU of worker `w`, and the answer names the workers other
    /// than `of`. Several workers may be on one CPU; they are each other's nearest.
    ///
    /// The answer is empty when there is no worker `of`.
    ///
    /// ```
    /// use mely_topology::{Spec, Topology};
    ///
    /// let xeon = Topology::synthetic(&Spec::xeon_e5410())?;
    /// // Workers 0 to 3, on CPUs 0, 4, 1 and 0.
    /// assert_eq!(xeon.victim_workers(0, &[0, 4, 1, 0]), [3, 2, 1]);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn victim_workers(&self, of: usize, cpu_of: &[usize]) -> Vec<usize> {
        let Some(&home) = cpu_of.get(of) else {
            return Vec::new();
        };
        let mut victims: Vec<usize> = (0..cpu_of.len()).filter(|&worker| worker != of).collect();
        victims.sort_by_cached_key(|&worker| {
            (self.distance(home, cpu_of[worker]), worker.wrapping_sub(of))
        });
        victims
    }
}

/// The nearest level at which both cores use one cache of data.
///
/// Both must say so: where garbage files disagree, distance stays symmetrical.
fn nearest_shared_level(a: &CoreInfo, b: &CoreInfo) -> Option<u8> {
    let shares = |from: &CoreInfo, level: u8, with: usize| {
        from.caches.iter().any(|cache| {
            cache.level == level
                && cache.kind != CacheKind::Instruction
                && cache.shared_by.contains(with)
        })
    };
    let levels = a.caches.iter().map(|cache| cache.level);
    levels
        .filter(|&level| shares(a, level, b.cpu) && shares(b, level, a.cpu))
        .min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CacheSpec, Spec};

    fn all_cpus(topology: &Topology) -> Vec<usize> {
        topology.cores().iter().map(|core| core.cpu).collect()
    }

    #[test]
    fn thieves_do_not_all_look_at_the_same_victim_first() {
        let flat = Topology::synthetic(&Spec::flat(4)).unwrap();
        let firsts: Vec<usize> = (0..4)
            .map(|cpu| flat.victim_order(cpu, &all_cpus(&flat))[0])
            .collect();
        assert_eq!(firsts, [1, 2, 3, 0]);
    }

    #[test]
    fn unknown_cpus_come_last() {
        let xeon = Topology::synthetic(&Spec::xeon_e5410()).unwrap();
        assert_eq!(xeon.victim_order(0, &[99, 7, 1]), [1, 7, 99]);
        assert_eq!(xeon.victim_order(99, &[99, 7, 1]), [1, 7]);
        assert_eq!(xeon.distance(99, 99), Distance::Same);
    }

    #[test]
    fn no_worker_has_no_victims() {
        let flat = Topology::synthetic(&Spec::flat(2)).unwrap();
        assert!(flat.victim_workers(2, &[0, 1]).is_empty());
        assert!(flat.victim_workers(0, &[0]).is_empty());
    }

    fn specs() -> impl Strategy<Value = Spec> {
        let cache = (1..5_u8, 1..9_usize).prop_map(|(level, cores)| CacheSpec {
            level,
            kind: CacheKind::Unified,
            size_bytes: 1 << 20,
            cores,
        });
        let caches = prop::collection::vec(cache, 0..4);
        (1..4_usize, 1..7_usize, 1..3_usize, 1..9_usize, caches).prop_map(
            |(packages, cores_per_package, threads_per_core, cores_per_node, caches)| Spec {
                packages,
                cores_per_package,
                threads_per_core,
                cores_per_node,
                remote_numa_distance: 21,
                caches,
            },
        )
    }

    proptest! {
        #[test]
        fn victims_are_everybody_else_nearest_first(spec in specs(), of in 0..40_usize, skip in 0..5_usize) {
            let topology = Topology::synthetic(&spec).unwrap();
            let among: Vec<usize> = all_cpus(&topology).into_iter().skip(skip).collect();
            let order = topology.victim_order(of, &among);

            let mut sorted = order.clone();
            sorted.sort_unstable();
            let others: Vec<usize> = among.iter().copied().filter(|&cpu| cpu != of).collect();
            prop_assert_eq!(sorted, others);

            for pair in order.windows(2) {
                let (near, far) = (topology.distance(of, pair[0]), topology.distance(of, pair[1]));
                prop_assert!(near <= far);
                // Among equals, numbers fall once at most: where they wrap round.
                if near == far && pair[0] > pair[1] {
                    prop_assert!(pair[0] > of && pair[1] < of);
                }
            }
        }

        #[test]
        fn distance_is_symmetrical(spec in specs()) {
            let topology = Topology::synthetic(&spec).unwrap();
            for a in 0..topology.cores().len() {
                for b in 0..topology.cores().len() {
                    prop_assert_eq!(topology.distance(a, b), topology.distance(b, a));
                    prop_assert_eq!(topology.distance(a, b) == Distance::Same, a == b);
                }
            }
        }

        #[test]
        fn worker_order_agrees_with_cpu_order(spec in specs(), of in 0..40_usize) {
            let topology = Topology::synthetic(&spec).unwrap();
            let cpus = all_cpus(&topology);
            if of < cpus.len() {
                prop_assert_eq!(topology.victim_workers(of, &cpus), topology.victim_order(of, &cpus));
            }
        }
    }
}
