//! Benchmarks of servers in processes of their own.

use crate::process::mely;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

/// Runs a benchmark: whether it succeeded, and what it said.
fn bench(arguments: &[&str]) -> (bool, String) {
    let output = mely().arg("bench").args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn programs_that_are_not_there_are_told_with_the_way_to_them() {
    for (arguments, words) in [
        (
            &["chat", "--server", "/no/such/chat"][..],
            "cargo build --release -p mely-examples",
        ),
        (&["chat", "--server", "sh", "--clients", "2"], "must read"),
        (&["kv", "--server", "/no/such/kv"], "mely-examples"),
        (
            &["kv", "--server", "sh", "--redis", "/no/such/redis"],
            "redis-server",
        ),
    ] {
        let (success, said) = bench(arguments);
        assert!(!success && said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn a_server_is_measured_beside_redis() {
    for program in ["redis-server", "redis-benchmark"] {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        if command.status().is_err() {
            eprintln!("skipped: {program} is not installed (`cargo xtask packages` installs it)");
            return;
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let server = directory.path().join("kv");
    let script = "#!/bin/sh\nexec redis-server --port \"${1##*:}\" --save '' --appendonly no\n";
    std::fs::write(&server, script).unwrap();
    std::fs::set_permissions(&server, Permissions::from_mode(0o755)).unwrap();
    let (success, said) = bench(&[
        "kv",
        "--requests=2000",
        "--repeat=1",
        "--workers=1",
        "--keep-disturbed",
        "--server",
        server.to_str().unwrap(),
    ]);
    assert!(success, "{said}");
    for (kind, who) in [("set, 1 key", "kv"), ("get, 100000 keys", "redis-server")] {
        let of = |line: &&str| line.starts_with(kind) && line.contains(who);
        assert_eq!(said.lines().filter(of).count(), 2, "{said}");
    }
}
