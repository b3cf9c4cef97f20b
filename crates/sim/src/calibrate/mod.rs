//! Measures this machine by short microbenchmarks.
//!
//! | file | what |
//! |---|---|
//! | `shape` | what the kernel says of cores and caches |
//! | `chase` | cycles per second, latencies of caches and memory |
//! | `pair` | what two cores pay: transfers, locks, wake-ups |
//! | `samples` | medians, minima, waiting with a bound |

mod chase;
mod pair;
mod samples;
mod shape;

use std::fs;

use crate::Error;
use crate::machine::{
    CacheLevel, Distance, Machine, MemoryCosts, Notes, RuntimeCosts, SyncCosts, TransferCosts,
};
use pair::Pair;
use shape::Shape;

/// The runtime's costs are no property of a machine that a microbenchmark shows:
/// these are what one core of a current server takes, within a factor of two, as
/// `mely sim check` shows by real runs.
const RUNTIME: RuntimeCosts = RuntimeCosts {
    turn_cycles: 30,
    event_cycles: 20,
    post_cycles: 30,
    queue_cycles: 15,
    steal_cycles: 60,
};

/// Of a futex on Linux, where no second core can be woken: as the shipped servers.
const WAKE_CALL_CYCLES: u64 = 5_000;
const WAKE_LATENCY_CYCLES: u64 = 15_000;

/// Who waits for a lock of production sleeps after a short while.
const LOCK_SPINNER_CYCLES: u64 = 0;

/// A machine, and what its figures come from.
pub(crate) struct Measured {
    pub(crate) machine: Machine,
    pub(crate) notes: Notes,
    /// Of the file.
    pub(crate) head: Vec<String>,
}

/// Measures this machine; `progress` is told what comes next.
pub(crate) fn measure(name: &str, mut progress: impl FnMut(&str)) -> Result<Measured, Error> {
    let shape = Shape::detect()?;
    let mut bench = Bench {
        notes: Notes::new(),
        frequency_hz: 0,
        shape,
    };
    progress("cycles per second");
    bench.frequency_hz = bench.on_first(chase::cycles_per_second)?.round() as u64;
    let caches = bench.caches(&mut progress)?;
    let memory = bench.memory(&caches, &mut progress)?;
    let transfer = bench.transfer(&caches, &memory, &mut progress)?;
    let sync = bench.sync(&caches, &transfer, &mut progress)?;
    let Bench {
        mut notes,
        frequency_hz,
        shape,
    } = bench;
    notes.insert(
        "frequency_hz".to_owned(),
        "of the cores while measured, not of their counter".to_owned(),
    );
    notes.insert(
        "runtime.turn_cycles".to_owned(),
        "this table is not measured: first guesses".to_owned(),
    );
    let model = model();
    let machine = Machine {
        name: name.to_owned(),
        description: format!("{} cores of {model}, measured", shape.cpus.len()),
        frequency_hz,
        cores: shape.cpus.len(),
        line_bytes: shape.line_bytes,
        packages: shape.packages,
        nodes: shape.nodes,
        node_distances: shape.node_distances,
        caches,
        memory,
        transfer,
        sync,
        runtime: RUNTIME,
    };
    machine.check(name)?;
    let head = vec![
        format!("Measured on {model} with"),
        format!("    mely sim calibrate --name {name}"),
        format!("Shape of the machine: {}.", shape.source),
        "Latencies of outer caches and of memory hold their share of TLB misses.".to_owned(),
    ];
    Ok(Measured {
        machine,
        notes,
        head,
    })
}

/// The processor, as the kernel names it.
fn model() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = |line: &&str| line.starts_with("model name");
    let line = cpuinfo.lines().find(names);
    let model = line.and_then(|line| line.split_once(':'));
    model
        .map_or("an unnamed processor", |(_, name)| name.trim())
        .to_owned()
}

struct Bench {
    shape: Shape,
    frequency_hz: u64,
    notes: Notes,
}

impl Bench {
    /// Runs on the first core.
    fn on_first<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, Error> {
        pair::on_cpu(self.shape.cpus[0], run)
    }

    /// Nanoseconds as whole cycles, at least one, with a note under `key`.
    fn cycles(&mut self, key: &str, ns: f64, how: &str) -> u64 {
        self.notes
            .insert(key.to_owned(), format!("{ns:.1} ns{how}"));
        ((ns * self.frequency_hz as f64 / 1e9).round() as u64).max(1)
    }

    fn not_measured(&mut self, key: &str, why: &str) {
        self.notes
            .insert(key.to_owned(), format!("not measured: {why}"));
    }

    fn caches(&mut self, progress: &mut impl FnMut(&str)) -> Result<Vec<CacheLevel>, Error> {
        let mut caches: Vec<CacheLevel> = Vec::new();
        for level in self.shape.levels.clone() {
            progress(&format!("cache of level {}", level.level));
            let inner = caches.last().map(|cache| cache.size_bytes);
            // Beyond the cache within, which a ring walked in order then never hits,
            // and no farther: neighbours take their part of this cache, and address
            // translation reaches 6 MiB of small pages.
            let bytes = match inner {
                Some(inner) => {
                    let middle = ((inner as f64) * (level.size_bytes as f64)).sqrt() as u64;
                    middle.min(3 * inner)
                }
                None => level.size_bytes / 2,
            };
            let line_bytes = self.shape.line_bytes;
            let ns = self.on_first(move || chase::latency_ns(bytes, line_bytes))?;
            let key = format!("cache.{}.hit_cycles", level.level);
            let how = format!(", over {} KiB", bytes >> 10);
            let hit_cycles = self.cycles(&key, ns, &how);
            if !level.size_is_known {
                let key = format!("cache.{}.size_bytes", level.level);
                self.not_measured(&key, "the kernel does not say; a usual size");
            }
            caches.push(CacheLevel {
                // Measurements of levels that are near each other may cross.
                hit_cycles: hit_cycles.max(caches.last().map_or(1, |c| c.hit_cycles + 1)),
                level: level.level,
                size_bytes: level.size_bytes,
                ways: level.ways,
                shared_by: level.shared_by,
            });
        }
        Ok(caches)
    }

    fn memory(
        &mut self,
        caches: &[CacheLevel],
        progress: &mut impl FnMut(&str),
    ) -> Result<MemoryCosts, Error> {
        progress("memory");
        let outermost = caches.last();
        let bytes = chase::memory_bytes(outermost.map_or(0, |cache| cache.size_bytes));
        let line_bytes = self.shape.line_bytes;
        let (ns, walk_ns) = self.on_first(move || {
            let ring = chase::Ring::new(bytes, line_bytes);
            (ring.latency_ns(), ring.walk_ns())
        })?;
        let how = format!(", over {} MiB", bytes >> 20);
        let local_cycles = self.cycles("memory.local_cycles", ns, &how);
        let local_cycles = local_cycles.max(outermost.map_or(1, |cache| cache.hit_cycles + 1));
        let overlap = (ns / walk_ns).round().clamp(1.0, 64.0);
        self.notes.insert(
            "memory.sequential_overlap".to_owned(),
            format!("{walk_ns:.1} ns for a line of a walk"),
        );
        let remote_cycles = match self.shape.farthest_from_first() {
            Some(cpu) => {
                progress("memory of another node");
                // Linux puts a page where it is touched first.
                let ring = pair::on_cpu(cpu, move || chase::Ring::new(bytes, line_bytes))?;
                let ns = self.on_first(move || ring.latency_ns())?;
                let cycles = self.cycles("memory.remote_cycles", ns, &how);
                cycles.max(local_cycles)
            }
            None => {
                let why = "one memory node only; 1.7 times the local";
                self.not_measured("memory.remote_cycles", why);
                local_cycles * 17 / 10
            }
        };
        Ok(MemoryCosts {
            local_cycles,
            remote_cycles,
            sequential_overlap: overlap as u64,
        })
    }

    fn transfer(
        &mut self,
        caches: &[CacheLevel],
        memory: &MemoryCosts,
        progress: &mut impl FnMut(&str),
    ) -> Result<TransferCosts, Error> {
        progress("lines of other cores");
        let outermost = caches.last().map_or(1, |cache| cache.hit_cycles);
        let mut cycles = [0; 3];
        let fields = [
            ("transfer.same_cache_cycles", Distance::SameCache),
            ("transfer.same_package_cycles", Distance::SamePackage),
            ("transfer.other_package_cycles", Distance::OtherPackage),
        ];
        for (index, (key, distance)) in fields.into_iter().enumerate() {
            let nearer = match index {
                0 => 1,
                _ => cycles[index - 1],
            };
            let found = self.shape.pair(distance);
            let measured = match found {
                Some(pair) => {
                    let ns = pair.transfer_ns()?;
                    self.cycles(key, ns, "")
                }
                None => {
                    let (guess, why) = match distance {
                        Distance::SameCache => (2 * outermost, "twice the outermost cache's hit"),
                        Distance::SamePackage => (memory.local_cycles, "as memory"),
                        Distance::OtherPackage => (2 * memory.local_cycles, "twice as memory"),
                    };
                    let why = format!("no two usable cores are so near or far; {why}");
                    self.not_measured(key, &why);
                    guess
                }
            };
            cycles[index] = measured.max(nearer);
        }
        let [same_cache_cycles, same_package_cycles, other_package_cycles] = cycles;
        Ok(TransferCosts {
            same_cache_cycles,
            same_package_cycles,
            other_package_cycles,
        })
    }

    fn sync(
        &mut self,
        caches: &[CacheLevel],
        transfer: &TransferCosts,
        progress: &mut impl FnMut(&str),
    ) -> Result<SyncCosts, Error> {
        progress("atomics");
        let ns = self.on_first(chase::rmw_ns)?;
        let whole = self.cycles("sync.rmw_cycles", ns, ", the cache's hit within");
        let hit = caches.first().map_or(0, |cache| cache.hit_cycles);
        let rmw_cycles = whole.saturating_sub(hit).max(1);
        let Some(pair) = self.shape.nearest_pair() else {
            let why = "needs two cores";
            self.not_measured("sync.lock_handover_cycles", why);
            self.not_measured("sync.wake_call_cycles", why);
            self.not_measured("sync.wake_latency_cycles", why);
            self.not_measured("sync.list_link_cycles", why);
            return Ok(SyncCosts {
                rmw_cycles,
                lock_handover_cycles: 2 * transfer.same_package_cycles,
                lock_spinner_cycles: LOCK_SPINNER_CYCLES,
                wake_call_cycles: WAKE_CALL_CYCLES,
                wake_latency_cycles: WAKE_LATENCY_CYCLES,
                list_link_cycles: transfer.same_package_cycles,
            });
        };
        progress("locks");
        let lock_ns = pair.lock_handover_ns()?;
        progress("wake-ups");
        let wake = pair.wake()?;
        let link_ns = pair.list_link_ns()?;
        Ok(SyncCosts {
            rmw_cycles,
            lock_handover_cycles: self.cycles("sync.lock_handover_cycles", lock_ns, ""),
            lock_spinner_cycles: LOCK_SPINNER_CYCLES,
            wake_call_cycles: self.cycles("sync.wake_call_cycles", wake.call_ns, ""),
            wake_latency_cycles: self.cycles("sync.wake_latency_cycles", wake.latency_ns, ""),
            list_link_cycles: self.cycles("sync.list_link_cycles", link_ns, ""),
        })
    }
}

impl Shape {
    /// Two cores at that distance, with an innermost cache each if possible.
    fn pair(&self, distance: Distance) -> Option<Pair> {
        let cores = self.cpus.len();
        let all = (0..cores).flat_map(|one| (one + 1..cores).map(move |other| (one, other)));
        let mut found = None;
        for (one, other) in all {
            if self.distance(one, other) == distance {
                let pair = Pair {
                    cpus: [self.cpus[one], self.cpus[other]],
                };
                if !self.share_innermost(one, other) {
                    return Some(pair);
                }
                found.get_or_insert(pair);
            }
        }
        found
    }

    fn nearest_pair(&self) -> Option<Pair> {
        let distances = [
            Distance::SameCache,
            Distance::SamePackage,
            Distance::OtherPackage,
        ];
        distances.into_iter().find_map(|d| self.pair(d))
    }
}
