//! Files of machines that are wrong, and what is said of them.

use mely_sim::machine::{Caches, Machine, MachineError, shipped};

/// The paper's machine, with one text replaced.
fn changed(from: &str, to: &str) -> Result<Machine, MachineError> {
    let toml = shipped::toml("xeon-e5410").unwrap();
    assert!(toml.contains(from), "{from}");
    Machine::parse("changed.toml", &toml.replacen(from, to, 1))
}

/// What is replaced, by what, and words of what is said.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("cores = 8", "beads = 8", &["beads", "unknown field"]),
    ("cores = 8", "", &["cores", "missing"]),
    ("cores = 8", "cores = 0", &["`cores`", "1 to 1024"]),
    ("cores = 8", "cores = 1025", &["`cores`", "1 to 1024"]),
    ("cores = 8", "cores = -8", &["cores = -8"]),
    (
        "cores = 8",
        "cores = \"8\"",
        &["cores = \"8\"", "expected usize"],
    ),
    (
        "cores = 8",
        "cores = 9",
        &["`cores_per_node`", "9 cores", "list"],
    ),
    ("cores = 8", "cores = 8\ncores = 8", &["duplicate key"]),
    ("[memory]", "[memory", &["[memory"]),
    ("\"xeon-e5410\"", "\"../x\"", &["`name`", "lower-case"]),
    (
        "frequency_hz = 2_330_000_000",
        "frequency_hz = 2",
        &["`frequency_hz`", "2 Hz"],
    ),
    (
        "line_bytes = 64",
        "line_bytes = 60",
        &["`line_bytes`", "power of two"],
    ),
    (
        "line_bytes = 64",
        "line_bytes = 0",
        &["`line_bytes`", "power of two"],
    ),
    (
        "cores_per_package = 4",
        "cores_per_package = 3",
        &["`cores_per_package`", "divide"],
    ),
    (
        "cores_per_package = 4",
        "cores_per_package = 0",
        &["`cores_per_package`", "at least 1"],
    ),
    (
        "cores_per_node = 8",
        "cores_per_node = 4\nnode_distances = [[10]]",
        &["`node_distances`", "2 nodes"],
    ),
    (
        "cores_per_node = 8",
        "cores_per_node = 4\nnode_distances = [[10, 10], [20, 10]]",
        &["`node_distances`", "node 1"],
    ),
    (
        L2,
        "shared_by = [[0, 1, 2, 3], [4, 5, 6]]",
        &["level 2, shared_by", "core 7 is in no group"],
    ),
    (
        L2,
        "shared_by = [[0, 1, 2, 3], [3, 4, 5, 6, 7]]",
        &["core 3 is listed twice"],
    ),
    (
        L2,
        "shared_by = [[0, 1, 2, 3], [4, 5, 6, 8]]",
        &["no core 8", "7"],
    ),
    (
        L2,
        "shared_by = [[0, 1, 2], [3, 4], [5, 6, 7]]",
        &["cores 3 and 4", "packages"],
    ),
    (L2, "shared_by = 8", &["level 2, shared_by", "packages"]),
    (
        L2,
        "shared_by = \"pairs\"",
        &["shared_by", "lists of cores"],
    ),
    (L2, "shared_by = -1", &["shared_by", "lists of cores"]),
    (
        "shared_by = 1",
        "shared_by = 4",
        &["level 1, shared_by", "level 2"],
    ),
    (
        "level = 2",
        "level = 3",
        &["cache.level", "level 2 is missing"],
    ),
    (
        "level = 2",
        "level = 1",
        &["cache.level", "level 2 is missing"],
    ),
    (
        "level = 2",
        "level = 2\nsize = 3",
        &["size", "unknown field"],
    ),
    ("ways = 24", "ways = 0", &["level 2, ways", "1 to 128"]),
    (
        "ways = 24",
        "ways = 23",
        &["level 2, size_bytes", "23 ways", "give 6291328"],
    ),
    (
        "size_bytes = 32_768",
        "size_bytes = 0",
        &["level 1, size_bytes", "give 512"],
    ),
    (
        "size_bytes = 32_768",
        "size_bytes = 32_769",
        &["level 1, size_bytes", "give 32768"],
    ),
    (
        "size_bytes = 6_291_456",
        "size_bytes = 6_597_069_766_656",
        &["cache.size_bytes", "smaller"],
    ),
    ("hit_cycles = 4", "hit_cycles = 0", &["level 1, hit_cycles"]),
    (
        "hit_cycles = 15",
        "hit_cycles = 4",
        &["level 2, hit_cycles", "more than", "level 1"],
    ),
    (
        "\nlocal_cycles = 110",
        "\nlocal_cycles = 15",
        &["memory.local_cycles", "level 2"],
    ),
    (
        "remote_cycles = 110",
        "remote_cycles = 90",
        &["memory.remote_cycles", "no less than"],
    ),
    (
        "sequential_overlap = 2",
        "sequential_overlap = 0",
        &["memory.sequential_overlap"],
    ),
    (
        "same_package_cycles = 140",
        "same_package_cycles = 1",
        &["transfer.same_package_cycles"],
    ),
    ("rmw_cycles = 54", "rmw_cycles = 0", &["sync.rmw_cycles"]),
    (
        "rmw_cycles = 54",
        "rmw_cycles = 54_000_000_000",
        &["sync.rmw_cycles", "10000000000"],
    ),
    ("turn_cycles = 10", "", &["turn_cycles", "missing"]),
    (
        "turn_cycles = 10",
        "turn_cycles = 4.5",
        &["turn_cycles = 4.5"],
    ),
];

const L2: &str = "shared_by = 2";

#[test]
fn wrong_files_name_the_file_the_key_and_the_way_out() {
    for &(from, to, words) in WRONG {
        let said = changed(from, to).expect_err(to).to_string();
        assert!(said.starts_with("changed.toml: "), "{to}: {said}");
        for word in words {
            assert!(said.contains(word), "{to}: no {word:?} in {said}");
        }
    }
}

#[test]
fn a_machine_without_caches_is_refused() {
    let toml = shipped::toml("xeon-e5410").unwrap();
    let (head, rest) = toml.split_once("[[cache]]").unwrap();
    let (_, tail) = rest.split_once("[memory]").unwrap();
    let said = Machine::parse("bare.toml", &format!("{head}\n[memory]{tail}")).unwrap_err();
    assert!(said.to_string().contains("cache"), "{said}");
}

#[test]
fn other_texts_are_no_machines() {
    for text in [
        "",
        "\0",
        "{\"cores\": 8}",
        "[[cache]]",
        "cache = 3",
        "é = 1",
    ] {
        let said = Machine::parse("other.toml", text)
            .expect_err(text)
            .to_string();
        assert!(said.starts_with("other.toml: "), "{said}");
    }
}

#[test]
fn a_machine_that_was_made_wrong_has_no_caches() {
    let mut machine = Machine::find("xeon-e5410").unwrap();
    machine.caches[0].ways = 0;
    assert!(Caches::new(&machine).is_err());
}

#[test]
fn irregular_machines_are_read_and_cannot_be_scaled() {
    let machine = changed(
        "shared_by = 2",
        "shared_by = [[0, 2], [1, 3], [4, 5, 6], [7]]",
    );
    let machine = machine.unwrap();
    assert_eq!(machine.layout().regular(), None);
    assert_eq!(machine.layout().caches.len(), 12);
    let said = machine.with_cores(16).unwrap_err().to_string();
    assert!(said.contains("packages differ"), "{said}");
}
