//! A machine's TOML file, before anyone asks whether it makes sense.

use serde::Deserialize;

use super::groups::{Described, Groups};
use super::{CORES_MAX, TransferCosts};
use super::{CacheLevel, Machine, MachineError, MemoryCosts, RuntimeCosts, SyncCosts};

/// Linux's distances of memory nodes, where a file gives none.
const NODE_LOCAL: u32 = 10;
const NODE_REMOTE: u32 = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    frequency_hz: u64,
    cores: usize,
    line_bytes: u32,
    cores_per_package: Described,
    cores_per_node: Described,
    node_distances: Option<Vec<Vec<u32>>>,
    cache: Vec<FileCache>,
    memory: MemoryCosts,
    transfer: TransferCosts,
    sync: SyncCosts,
    runtime: RuntimeCosts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCache {
    level: u8,
    size_bytes: u64,
    ways: u32,
    shared_by: Described,
    hit_cycles: u64,
}

/// Distances of `nodes` nodes of which nothing is known.
pub(super) fn plain_distances(nodes: usize) -> Vec<Vec<u32>> {
    let between = |one: usize, other: usize| match one == other {
        true => NODE_LOCAL,
        false => NODE_REMOTE,
    };
    let row = |one| (0..nodes).map(|other| between(one, other)).collect();
    (0..nodes).map(row).collect()
}

pub(super) fn read(file: &str, toml: &str) -> Result<Machine, MachineError> {
    let read: File = toml::from_str(toml).map_err(|error| MachineError::Syntax {
        file: file.to_owned(),
        what: error.to_string().trim_end().to_owned(),
    })?;
    let cores = read.cores;
    let wrong = |key: String, what: String| MachineError::Value {
        file: file.to_owned(),
        key,
        what,
    };
    // Before anything of that size is made.
    if cores == 0 || cores > CORES_MAX {
        let what = format!("{cores} cores: give 1 to {CORES_MAX}");
        return Err(wrong("cores".to_owned(), what));
    }
    let groups = |key: String, described: Described| -> Result<Groups, MachineError> {
        described.over(cores).map_err(|what| wrong(key, what))
    };
    let nodes = groups("cores_per_node".to_owned(), read.cores_per_node)?;
    let mut caches = Vec::with_capacity(read.cache.len());
    for cache in read.cache {
        caches.push(CacheLevel {
            level: cache.level,
            size_bytes: cache.size_bytes,
            ways: cache.ways,
            shared_by: groups(
                format!("cache of level {}, shared_by", cache.level),
                cache.shared_by,
            )?,
            hit_cycles: cache.hit_cycles,
        });
    }
    caches.sort_by_key(|cache| cache.level);
    Ok(Machine {
        name: read.name,
        description: read.description,
        frequency_hz: read.frequency_hz,
        cores,
        line_bytes: read.line_bytes,
        packages: groups("cores_per_package".to_owned(), read.cores_per_package)?,
        node_distances: read
            .node_distances
            .unwrap_or_else(|| plain_distances(nodes.len())),
        nodes,
        caches,
        memory: read.memory,
        transfer: read.transfer,
        sync: read.sync,
        runtime: read.runtime,
    })
}
