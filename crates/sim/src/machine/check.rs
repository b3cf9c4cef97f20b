//! What makes no sense in a machine.

use super::{CACHE_LINES_MAX, CORES_MAX, CYCLES_MAX, LEVELS_MAX};
use super::{CacheLevel, Machine, MachineError};

/// Processors clock between these.
const FREQUENCY_HZ: std::ops::RangeInclusive<u64> = 1_000_000..=100_000_000_000;

/// Cache lines are powers of two between these.
const LINE_BYTES: std::ops::RangeInclusive<u32> = 8..=4096;

/// A set is searched from its first way to its last.
const WAYS_MAX: u32 = 128;

/// The key at fault, and what is wrong with it.
type Wrong = (String, String);

impl Machine {
    /// Refuses what makes no sense; `file` names the machine in the error.
    ///
    /// # Errors
    /// [`MachineError::Value`] for the first thing that is wrong.
    pub fn check(&self, file: &str) -> Result<(), MachineError> {
        let checks = [
            Self::check_name,
            Self::check_size,
            Self::check_nodes,
            Self::check_caches,
            Self::check_nesting,
            Self::check_costs,
        ];
        for check in checks {
            check(self).map_err(|(key, what)| MachineError::Value {
                file: file.to_owned(),
                key,
                what,
            })?;
        }
        Ok(())
    }

    fn check_name(&self) -> Result<(), Wrong> {
        let name = self.name.escape_debug();
        match is_name(&self.name) {
            true => Ok(()),
            false => wrong(
                "name",
                format!("`{name}`: take lower-case letters, digits, dots and dashes"),
            ),
        }
    }

    fn check_size(&self) -> Result<(), Wrong> {
        if !(1..=CORES_MAX).contains(&self.cores) {
            let what = format!("{} cores: give 1 to {CORES_MAX}", self.cores);
            return wrong("cores", what);
        }
        if !FREQUENCY_HZ.contains(&self.frequency_hz) {
            let what = format!(
                "{} Hz is no processor's: give cycles per second, such as 2_330_000_000",
                self.frequency_hz
            );
            return wrong("frequency_hz", what);
        }
        if !LINE_BYTES.contains(&self.line_bytes) || !self.line_bytes.is_power_of_two() {
            let what = format!(
                "{} bytes: give a power of two from {} to {}, 64 on most machines",
                self.line_bytes,
                LINE_BYTES.start(),
                LINE_BYTES.end()
            );
            return wrong("line_bytes", what);
        }
        let groups = [
            ("cores_per_package", &self.packages),
            ("cores_per_node", &self.nodes),
        ];
        for (key, groups) in groups {
            if groups.cores() != self.cores {
                return wrong(key, covers(groups.cores(), self.cores));
            }
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), Wrong> {
        let nodes = self.nodes.len();
        let square = self.node_distances.len() == nodes
            && self.node_distances.iter().all(|row| row.len() == nodes);
        if !square {
            let what = format!("give a row for each of {nodes} nodes, and {nodes} numbers in it");
            return wrong("node_distances", what);
        }
        for (from, row) in self.node_distances.iter().enumerate() {
            for (to, &distance) in row.iter().enumerate() {
                if (from == to) != (distance == 10) || distance < 10 {
                    let what = format!(
                        "{distance} from node {from} to node {to}: 10 is from a node to \
                         itself, and all else is more"
                    );
                    return wrong("node_distances", what);
                }
            }
        }
        Ok(())
    }

    fn check_caches(&self) -> Result<(), Wrong> {
        if self.caches.is_empty() || self.caches.len() > LEVELS_MAX {
            let what = format!(
                "{} levels: give 1 to {LEVELS_MAX}, each as a table [[cache]]",
                self.caches.len()
            );
            return wrong("cache", what);
        }
        let mut lines_total: u64 = 0;
        for (cache, expected) in self.caches.iter().zip(1..) {
            if cache.level != expected {
                let what = format!(
                    "{}: levels are 1, 2 and so on, each once; level {expected} is missing",
                    cache.level
                );
                return wrong("cache.level", what);
            }
            if cache.shared_by.cores() != self.cores {
                let what = covers(cache.shared_by.cores(), self.cores);
                return wrong_of(cache, "shared_by", what);
            }
            self.check_geometry(cache)?;
            let lines = cache.size_bytes / u64::from(self.line_bytes);
            let count = cache.shared_by.len() as u64;
            lines_total = lines_total.saturating_add(lines.saturating_mul(count));
        }
        if lines_total > CACHE_LINES_MAX {
            let what = format!(
                "all caches together hold {lines_total} lines: the simulator takes up to \
                 {CACHE_LINES_MAX}; make the outermost smaller"
            );
            return wrong("cache.size_bytes", what);
        }
        Ok(())
    }

    fn check_geometry(&self, cache: &CacheLevel) -> Result<(), Wrong> {
        if !(1..=WAYS_MAX).contains(&cache.ways) {
            let what = format!("{}: give 1 to {WAYS_MAX} lines of a set", cache.ways);
            return wrong_of(cache, "ways", what);
        }
        let way_bytes = u64::from(self.line_bytes) * u64::from(cache.ways);
        if cache.size_bytes == 0 || !cache.size_bytes.is_multiple_of(way_bytes) {
            let below = cache.size_bytes / way_bytes * way_bytes;
            let what = format!(
                "{} bytes are no multiple of {} ways of {} bytes: give {}",
                cache.size_bytes,
                cache.ways,
                self.line_bytes,
                below.max(way_bytes)
            );
            return wrong_of(cache, "size_bytes", what);
        }
        Ok(())
    }

    /// A cache lies within each of the next level, and all within a package.
    fn check_nesting(&self) -> Result<(), Wrong> {
        for (index, cache) in self.caches.iter().enumerate() {
            let (outer, called) = match self.caches.get(index + 1) {
                Some(next) => (&next.shared_by, format!("caches of level {}", next.level)),
                None => (&self.packages, "packages".to_owned()),
            };
            if let Some((one, other)) = cache.shared_by.split_by(outer) {
                let what = format!(
                    "cores {one} and {other} share this cache, but are in two {called}: \
                     let whoever shares a cache share all that is around it"
                );
                return wrong_of(cache, "shared_by", what);
            }
        }
        Ok(())
    }

    fn check_costs(&self) -> Result<(), Wrong> {
        let mut before = ("0".to_owned(), 0);
        let hits = self.caches.iter().map(|cache| {
            let key = format!("cache of level {}, hit_cycles", cache.level);
            (key, cache.hit_cycles)
        });
        let memory = ("memory.local_cycles".to_owned(), self.memory.local_cycles);
        for (key, cycles) in hits.chain([memory]) {
            if cycles <= before.1 {
                let what = format!("{cycles}: give more than {} = {}", before.0, before.1);
                return Err((key, what));
            }
            before = (key, cycles);
        }
        let (memory, transfer, sync) = (&self.memory, &self.transfer, &self.sync);
        ordered([
            ("memory.local_cycles", memory.local_cycles),
            ("memory.remote_cycles", memory.remote_cycles),
        ])?;
        ordered([
            ("transfer.same_cache_cycles", transfer.same_cache_cycles),
            ("transfer.same_package_cycles", transfer.same_package_cycles),
            (
                "transfer.other_package_cycles",
                transfer.other_package_cycles,
            ),
        ])?;
        let runtime = &self.runtime;
        let charged = [
            ("memory.sequential_overlap", memory.sequential_overlap, 1),
            ("memory.remote_cycles", memory.remote_cycles, 1),
            ("transfer.same_cache_cycles", transfer.same_cache_cycles, 1),
            (
                "transfer.other_package_cycles",
                transfer.other_package_cycles,
                1,
            ),
            ("sync.rmw_cycles", sync.rmw_cycles, 1),
            ("sync.lock_handover_cycles", sync.lock_handover_cycles, 1),
            ("sync.lock_spinner_cycles", sync.lock_spinner_cycles, 0),
            ("sync.wake_call_cycles", sync.wake_call_cycles, 1),
            ("sync.wake_latency_cycles", sync.wake_latency_cycles, 1),
            ("sync.list_link_cycles", sync.list_link_cycles, 1),
            // Nothing is a base cost that a model may leave out.
            ("runtime.turn_cycles", runtime.turn_cycles, 0),
            ("runtime.event_cycles", runtime.event_cycles, 0),
            ("runtime.post_cycles", runtime.post_cycles, 0),
            ("runtime.queue_cycles", runtime.queue_cycles, 0),
            ("runtime.steal_cycles", runtime.steal_cycles, 0),
        ];
        for (key, cycles, least) in charged {
            if !(least..=CYCLES_MAX).contains(&cycles) {
                return wrong(key, format!("{cycles}: give {least} to {CYCLES_MAX}"));
            }
        }
        Ok(())
    }
}

/// Whether a machine may be called so: names become names of files.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

fn wrong(key: &str, what: String) -> Result<(), Wrong> {
    Err((key.to_owned(), what))
}

fn wrong_of(cache: &CacheLevel, key: &str, what: String) -> Result<(), Wrong> {
    Err((format!("cache of level {}, {key}", cache.level), what))
}

fn covers(grouped: usize, cores: usize) -> String {
    format!("groups {grouped} cores of {cores}: list every core once")
}

/// What is farther costs no less.
fn ordered<const N: usize>(costs: [(&str, u64); N]) -> Result<(), Wrong> {
    for pair in costs.windows(2) {
        let ((near, least), (far, cycles)) = (pair[0], pair[1]);
        if cycles < least {
            return wrong(far, format!("{cycles}: give no less than {near} = {least}"));
        }
    }
    Ok(())
}
