//! A machine: its cores, caches and memory, and what each of their doings costs.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the machine |
//! | `file`, `check`, `groups` | reading its TOML file, and what is refused |
//! | `write` | writing one |
//! | `shipped` | the machines of this crate, in `machines/` |
//! | `scale` | the same machine with another number of cores |
//! | `layout` | its shape as plain data |
//! | `memory` | the trait through which accesses are charged |
//! | `caches` | caches and ownership of lines, which charge them |

mod caches;
mod check;
mod error;
mod file;
mod groups;
mod layout;
mod memory;
mod scale;
pub mod shipped;
mod write;

pub use caches::{Caches, Counts, Distance};
pub(crate) use check::is_name;
pub use error::MachineError;
pub use groups::Groups;
pub use layout::{Layout, LayoutCache, LayoutCore, LayoutNode, Regular, RegularCache};
pub use memory::{Access, Memory};
pub(crate) use write::Notes;

use std::path::Path;

/// No machine has more cores: the papers' future, and what a table of all pairs of
/// cores can still be printed for.
pub const CORES_MAX: usize = 1024;

/// No machine has more levels of caches.
pub const LEVELS_MAX: usize = 4;

/// All caches of a machine together hold no more lines: each takes 4 bytes of the
/// simulator, 1 GiB in all.
pub const CACHE_LINES_MAX: u64 = 1 << 28;

/// No single doing takes longer: a second of the fastest processors.
pub const CYCLES_MAX: u64 = 10_000_000_000;

/// A machine.
///
/// ```
/// use mely_sim::machine::Machine;
///
/// let xeon = Machine::find("xeon-e5410")?;
/// assert_eq!((xeon.cores, xeon.memory.local_cycles), (8, 110));
/// assert_eq!(xeon.caches[1].shared_by.members(3), [6, 7]);
/// # Ok::<(), mely_sim::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What it is called: lower-case letters, digits, dots and dashes.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// Core cycles in a second.
    pub frequency_hz: u64,
    /// Its cores, numbered from 0.
    pub cores: usize,
    /// The size of a cache line, in bytes: of all caches.
    pub line_bytes: u32,
    /// The sockets.
    pub packages: Groups,
    /// The memory nodes.
    pub nodes: Groups,
    /// From each node to each: 10 is local.
    pub node_distances: Vec<Vec<u32>>,
    /// The caches, from level 1; instruction caches are left out.
    pub caches: Vec<CacheLevel>,
    /// What memory costs.
    pub memory: MemoryCosts,
    /// What it costs to fetch a line that another core has modified.
    pub transfer: TransferCosts,
    /// What cores pay to agree.
    pub sync: SyncCosts,
    /// What the runtime's operations cost, apart from the lines that they touch.
    pub runtime: RuntimeCosts,
}

/// The caches of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLevel {
    /// From 1.
    pub level: u8,
    /// The size of one, in bytes.
    pub size_bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Who shares one.
    pub shared_by: Groups,
    /// What a hit costs, from the core.
    pub hit_cycles: u64,
}

/// What memory costs, in cycles.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    /// From the core's own node.
    pub local_cycles: u64,
    /// From the farthest node; nodes between are charged in proportion.
    pub remote_cycles: u64,
    /// How many fetches of a walk over consecutive lines overlap.
    pub sequential_overlap: u64,
}

/// What it costs to fetch a line that another core has modified, in cycles.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferCosts {
    /// The two cores share a cache.
    pub same_cache_cycles: u64,
    /// They share a package only.
    pub same_package_cycles: u64,
    /// They share nothing.
    pub other_package_cycles: u64,
}

/// What cores pay to agree, in cycles.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncCosts {
    /// An atomic read-modify-write, on top of a store to the same line.
    pub rmw_cycles: u64,
    /// From the release of a contended lock until the next holder has it.
    pub lock_handover_cycles: u64,
    /// How much longer that takes for each other core that spins on the lock: 0 where
    /// waiters sleep, or spin each on a line of its own.
    #[serde(default)]
    pub lock_spinner_cycles: u64,
    /// What waking a sleeper takes of the waker.
    pub wake_call_cycles: u64,
    /// From the begin of that call until the sleeper runs.
    pub wake_latency_cycles: u64,
    /// Following one link of another core's list of events, and reading the color
    /// there (CFSE, section II-B).
    pub list_link_cycles: u64,
}

/// What the runtime's operations cost in cycles, apart from the lines they touch.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeCosts {
    /// A turn of a worker: choosing what is next.
    pub turn_cycles: u64,
    /// An event: taking it, calling its handler, giving its memory back.
    pub event_cycles: u64,
    /// A post: making the event and handing it over.
    pub post_cycles: u64,
    /// Adding the queue of a color to the queue of a core, or taking it from there:
    /// what policies without queues of colors do not do.
    pub queue_cycles: u64,
    /// An attempt to steal: choosing and looking at one victim.
    pub steal_cycles: u64,
}

impl Machine {
    /// The shipped machine of that name, or that of a file: whatever ends in `.toml`
    /// or has a `/` is a path.
    ///
    /// # Errors
    /// [`MachineError`] when there is none, or the file is wrong.
    pub fn find(name_or_path: &str) -> Result<Self, MachineError> {
        Self::parse(name_or_path, &source_of(name_or_path)?)
    }

    /// The machine of a TOML text; `file` names it in errors.
    ///
    /// ```
    /// use mely_sim::machine::Machine;
    ///
    /// let wrong = Machine::parse("abacus.toml", "beads = 10").unwrap_err();
    /// assert!(wrong.to_string().contains("abacus.toml"));
    /// ```
    ///
    /// # Errors
    /// [`MachineError::Syntax`] and [`MachineError::Value`].
    pub fn parse(file: &str, toml: &str) -> Result<Self, MachineError> {
        let machine = file::read(file, toml)?;
        machine.check(file)?;
        Ok(machine)
    }

    /// How far two cores are apart, as the transfer of a line counts it; none for a
    /// core and itself.
    ///
    /// ```
    /// use mely_sim::machine::{Distance, Machine};
    ///
    /// let xeon = Machine::find("xeon-e5410")?;
    /// assert_eq!(xeon.distance(0, 1), Some(Distance::SameCache));
    /// assert_eq!(xeon.distance(0, 3), Some(Distance::SamePackage));
    /// assert_eq!(xeon.distance(0, 4), Some(Distance::OtherPackage));
    /// # Ok::<(), mely_sim::machine::MachineError>(())
    /// ```
    ///
    /// # Panics
    /// If the machine has no such core.
    #[must_use]
    pub fn distance(&self, one: usize, other: usize) -> Option<Distance> {
        let share = |groups: &Groups| groups.of(one) == groups.of(other);
        match () {
            () if one == other => None,
            () if self.caches.iter().any(|cache| share(&cache.shared_by)) => {
                Some(Distance::SameCache)
            }
            () if share(&self.packages) => Some(Distance::SamePackage),
            () => Some(Distance::OtherPackage),
        }
    }

    /// What a load costs that memory of `home` answers for a core of `node`.
    pub(crate) fn memory_cycles(&self, node: usize, home: usize) -> u64 {
        const LOCAL: u32 = 10;
        let MemoryCosts {
            local_cycles,
            remote_cycles,
            ..
        } = self.memory;
        let farthest = self.node_distances.iter().flatten().max();
        let span = farthest.map_or(0, |max| max.saturating_sub(LOCAL));
        let beyond = self.node_distances[node][home].saturating_sub(LOCAL);
        let more = remote_cycles.saturating_sub(local_cycles) * u64::from(beyond);
        local_cycles + more.checked_div(u64::from(span)).unwrap_or(0)
    }
}

/// The TOML text of a shipped machine or of a file.
pub(crate) fn source_of(name_or_path: &str) -> Result<String, MachineError> {
    if let Some(toml) = shipped::toml(name_or_path) {
        return Ok(toml.to_owned());
    }
    if !name_or_path.contains('/') && !name_or_path.ends_with(".toml") {
        let name = name_or_path.to_owned();
        return Err(MachineError::Unknown { name });
    }
    std::fs::read_to_string(Path::new(name_or_path)).map_err(|source| MachineError::Read {
        file: name_or_path.to_owned(),
        source,
    })
}
