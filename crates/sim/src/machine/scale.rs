//! The same machine with another number of cores.

use super::file::plain_distances;
use super::{CORES_MAX, CacheLevel, Groups, Machine, MachineError};

impl Machine {
    /// A machine of `cores` cores that are like this one's.
    ///
    /// As many packages as are needed, all equal, and each with the same caches as
    /// this machine's: a smaller package has fewer cores in its last caches. Memory
    /// nodes go with packages as they do here. The name tells: `epyc-9554.128`.
    ///
    /// ```
    /// use mely_sim::machine::Machine;
    ///
    /// let xeon = Machine::find("xeon-e5410")?;
    /// let large = xeon.with_cores(64)?;
    /// assert_eq!((large.packages.len(), large.caches[1].shared_by.len()), (16, 32));
    /// assert_eq!(xeon.with_cores(1)?.cores, 1);
    /// assert!(xeon.with_cores(7).is_err());
    /// # Ok::<(), mely_sim::machine::MachineError>(())
    /// ```
    ///
    /// # Errors
    /// [`MachineError::Cores`] when packages cannot be equal, when there are too many
    /// cores, or when this machine is irregular itself.
    pub fn with_cores(&self, cores: usize) -> Result<Self, MachineError> {
        if cores == self.cores {
            return Ok(self.clone());
        }
        let refuse = |what: String| MachineError::Cores {
            name: self.name.clone(),
            cores,
            what,
        };
        if !(1..=CORES_MAX).contains(&cores) {
            return Err(refuse(format!("give 1 to {CORES_MAX}")));
        }
        let Some(model) = self.layout().regular() else {
            return Err(refuse(
                "its packages differ, so that none can be repeated".to_owned(),
            ));
        };
        let packages = cores.div_ceil(model.cores_per_package);
        if !cores.is_multiple_of(packages) {
            let fitting = cores / packages * packages;
            return Err(refuse(format!(
                "{packages} packages of {} need equal shares: give {fitting} or {}",
                model.cores_per_package,
                fitting + packages
            )));
        }
        let per_package = cores / packages;
        let packed = |size: usize| packed(cores, per_package, size);
        let in_groups = |groups: Vec<Vec<usize>>| Groups::listed(groups, cores).map_err(refuse);
        let mut caches = Vec::with_capacity(self.caches.len());
        for (cache, of_model) in self.caches.iter().zip(&model.caches) {
            caches.push(CacheLevel {
                shared_by: in_groups(packed(of_model.cores))?,
                ..cache.clone()
            });
        }
        let nodes = match model.cores_per_node > model.cores_per_package {
            // Whole packages share a node.
            true => {
                let sharing = model.cores_per_node / model.cores_per_package;
                self::packed(cores, cores, sharing * per_package)
            }
            false => packed(model.cores_per_node),
        };
        Ok(Self {
            name: format!("{}.{cores}", self.name),
            description: format!("{}; with {cores} cores", self.description),
            cores,
            packages: in_groups(packed(per_package))?,
            node_distances: self.distances_of(nodes.len()),
            nodes: in_groups(nodes)?,
            caches,
            ..self.clone()
        })
    }

    /// This machine's distances as far as they go, and its largest beyond.
    fn distances_of(&self, nodes: usize) -> Vec<Vec<u32>> {
        let known = self.node_distances.len();
        let far = self.node_distances.iter().flatten().max().copied();
        let mut distances = plain_distances(nodes);
        for (from, row) in distances.iter_mut().enumerate() {
            for (to, distance) in row.iter_mut().enumerate() {
                if from < known && to < known {
                    *distance = self.node_distances[from][to];
                } else if from != to && known > 1 {
                    *distance = far.unwrap_or(*distance);
                }
            }
        }
        distances
    }
}

/// Groups of `size` consecutive cores, none across two of `within` cores.
fn packed(cores: usize, within: usize, size: usize) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    for start in (0..cores).step_by(within) {
        let end = (start + within).min(cores);
        for first in (start..end).step_by(size) {
            groups.push((first..(first + size).min(end)).collect());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_of_two_to_256_is_a_sound_machine() {
        for name in super::super::shipped::names() {
            let model = Machine::find(name).unwrap();
            for cores in (0..9).map(|power| 1 << power) {
                let scaled = model.with_cores(cores).unwrap();
                scaled
                    .check(name)
                    .unwrap_or_else(|e| panic!("{cores}: {e}"));
                assert_eq!(scaled.cores, cores);
                assert!(scaled.layout().regular().is_some(), "{name} {cores}");
            }
        }
    }

    #[test]
    fn a_smaller_package_keeps_its_caches() {
        let epyc = Machine::find("epyc-9554").unwrap().with_cores(12).unwrap();
        let l3: Vec<usize> = epyc.caches[2]
            .shared_by
            .iter()
            .map(<[usize]>::len)
            .collect();
        assert_eq!(l3, [8, 4]);
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let xeon = Machine::find("xeon-e5410").unwrap();
        for (cores, words) in [(0, "1 to 1024"), (1025, "1 to 1024"), (7, "give 6 or 8")] {
            let wrong = xeon.with_cores(cores).unwrap_err().to_string();
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
