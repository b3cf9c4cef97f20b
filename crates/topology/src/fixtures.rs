//! Trees of `/sys` and `/proc` files in temporary folders, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{CacheKind, Topology};

/// The CPU numbers of a topology.
pub(crate) fn cores(topology: &Topology) -> Vec<usize> {
    topology.cores().iter().map(|core| core.cpu).collect()
}

/// A root folder that is removed with the value.
pub(crate) struct FixtureTree {
    root: PathBuf,
}

/// Level, kind, size, and the lists of which a CPU takes the one that holds it; no
/// such list makes the cache its own.
type CacheFiles<'a> = (u8, &'a str, &'a str, &'a [&'a str]);

impl FixtureTree {
    pub(crate) fn new() -> Self {
        // Relaxed: only uniqueness matters, and any read-modify-write gives it.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mely-topology-{}-{unique}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file below `sys/devices/system`.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        self.root_file(&format!("sys/devices/system/{path}"), content);
    }

    /// Writes a file below the root.
    pub(crate) fn root_file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn core(
        &self,
        cpu: usize,
        package: usize,
        core_id: usize,
        siblings: &str,
        caches: &[CacheFiles<'_>],
    ) {
        let alone = cpu.to_string();
        let topology = format!("cpu/cpu{cpu}/topology");
        self.file(
            &format!("{topology}/physical_package_id"),
            format!("{package}\n"),
        );
        self.file(&format!("{topology}/core_id"), format!("{core_id}\n"));
        let siblings = if siblings.is_empty() {
            &alone
        } else {
            siblings
        };
        self.file(
            &format!("{topology}/core_cpus_list"),
            format!("{siblings}\n"),
        );
        for (index, (level, kind, size, lists)) in caches.iter().enumerate() {
            let holds_cpu = |list: &&&str| list.parse::<super::CpuSet>().unwrap().contains(cpu);
            let list = lists
                .iter()
                .find(holds_cpu)
                .map_or(alone.as_str(), |list| list);
            let cache = format!("cpu/cpu{cpu}/cache/index{index}");
            self.file(&format!("{cache}/level"), format!("{level}\n"));
            self.file(&format!("{cache}/type"), format!("{kind}\n"));
            self.file(&format!("{cache}/size"), format!("{size}\n"));
            self.file(&format!("{cache}/coherency_line_size"), "64\n");
            self.file(&format!("{cache}/shared_cpu_list"), format!("{list}\n"));
        }
    }

    pub(crate) fn node(&self, id: usize, cpus: &str, distances: &str) {
        self.file(&format!("node/node{id}/cpulist"), format!("{cpus}\n"));
        self.file(&format!("node/node{id}/distance"), format!("{distances}\n"));
    }

    /// The files by which the kernel would describe that machine.
    pub(crate) fn of(machine: &Topology) -> Self {
        let tree = Self::new();
        let online = super::CpuSet::of(cores(machine)).unwrap();
        tree.file("cpu/online", format!("{online}\n"));
        for core in machine.cores() {
            let texts: Vec<(String, String)> = core
                .caches
                .iter()
                .map(|cache| {
                    (
                        format!("{}K", cache.size_bytes.unwrap() >> 10),
                        cache.shared_by.to_string(),
                    )
                })
                .collect();
            let lists: Vec<[&str; 1]> = texts.iter().map(|(_, list)| [list.as_str()]).collect();
            let caches: Vec<CacheFiles<'_>> = (core.caches.iter().zip(&texts).zip(&lists))
                .map(|((cache, (size, _)), list)| {
                    (cache.level, kind_text(cache.kind), size.as_str(), &list[..])
                })
                .collect();
            tree.core(
                core.cpu,
                core.package,
                core.core_id,
                &core.smt_siblings.to_string(),
                &caches,
            );
        }
        for node in machine.nodes() {
            let columns: Vec<String> = node.distances.iter().map(u32::to_string).collect();
            tree.node(node.id, &node.cpus.to_string(), &columns.join(" "));
        }
        tree
    }
}

fn kind_text(kind: CacheKind) -> &'static str {
    match kind {
        CacheKind::Data => "Data",
        CacheKind::Instruction => "Instruction",
        CacheKind::Unified => "Unified",
    }
}

impl Drop for FixtureTree {
    fn drop(&mut self) {
        // A folder left behind in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.root);
    }
}
