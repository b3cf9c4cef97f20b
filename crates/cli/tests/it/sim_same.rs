//! The simulator says the same every time: each of its commands, twice, in fresh processes.
//!
//! `sim calibrate` and `sim check` are not here: they measure the machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::process::mely;
use crate::trace::record;

/// All that a command says and writes, by the name of the file; `{}` in an argument is a
/// directory of its own.
fn outputs(arguments: &[&str], directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::create_dir(directory).unwrap();
    let to = directory.to_str().unwrap();
    let arguments = arguments.iter().map(|argument| argument.replace("{}", to));
    let output = mely().arg("sim").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut all = BTreeMap::from([
        ("stdout".to_owned(), output.stdout),
        ("stderr".to_owned(), output.stderr),
    ]);
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        all.insert(name, fs::read(&path).unwrap());
    }
    all
}

/// The paths of the second run are longer, which moves what is allocated. Returns how many
/// files a run writes.
fn check(arguments: &[&str]) -> usize {
    let root = tempfile::tempdir().unwrap();
    let once = outputs(arguments, &root.path().join("a"));
    let again = outputs(arguments, &root.path().join("another-directory"));
    assert_eq!(
        once.keys().collect::<Vec<_>>(),
        again.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &once {
        // The command stands there, with the paths that differ.
        if !name.ends_with(".machine.json") {
            let differ = || format!("{arguments:?}: {name} differs");
            assert!(*bytes == again[name], "{}", differ());
        }
    }
    assert!(!once["stdout"].is_empty());
    once.len() - 2
}

#[test]
fn tables_of_the_papers_are_the_same_every_time() {
    let written = check(&["paper", "--small", "--json", "{}/paper.json"]);
    assert_eq!(written, 2);
}

#[test]
fn workloads_on_many_cores_are_the_same_every_time() {
    let scale = ["scale", "--small", "--cores", "1,4,16"];
    let policies = ["--policy", "libasync-smp,mely-nosteal,mely,adaptive"];
    let into = ["--json", "{}/scale.json", "--svg", "{}"];
    let written = check(&[&scale[..], &policies, &into].concat());
    assert_eq!(written, 2 + 4);
}

#[test]
fn replays_are_the_same_every_time() {
    let root = tempfile::tempdir().unwrap();
    let file = record(root.path());
    let file = file.to_str().unwrap();
    let into = ["--json", "{}/replay.json"];
    for how in [&["--cores", "1,8", "--policy", "all"][..], &["--closed"]] {
        check(&[&["replay", file][..], how, &into].concat());
    }
}

#[test]
fn explored_programs_are_the_same_every_time() {
    let explore = ["explore", "--seeds", "30", "--policy", "all"];
    let into = ["--json", "{}/explore.json"];
    assert_eq!(check(&[&explore[..], &into].concat()), 1);
}

#[test]
fn machines_are_the_same_every_time() {
    check(&["machines"]);
    check(&["machines", "--json"]);
    check(&["machines", "--show", "epyc-9554"]);
}
