//! Messages and exit codes.

use crate::process::mely;
use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    mely().args(arguments).output().unwrap()
}

/// Runs what must fail, and returns the exit code and what it said.
fn fail(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.stdout, b"", "{arguments:?}");
    (output.status.code().unwrap(), said)
}

#[test]
fn what_the_command_line_gets_wrong_is_told() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().to_str().unwrap();
    for (arguments, words) in [
        (&["web", dir, "--policy", "fast"][..], "adaptive"),
        (&["web", dir, "--workers", "0"], "at least one worker"),
        (&["web", dir, "--cores", "8000"], "8000"),
        (&["web", dir, "--cores", "zero"], "zero"),
        (&["web", dir, "--reactor", "double"], "per-worker"),
        (&["web", dir, "--batch-threshold", "0"], "batch threshold"),
        (&["web", dir, "--listen", "8080"], "HOST:PORT"),
        (&["web", dir, "--listen", "unix:"], "empty"),
        (&["web", dir, "--idle-timeout", "1 hour"], "30s"),
        (&["web", dir, "--cache-bytes", "lots"], "256M"),
        (&["web", dir, "--color"], "--color"),
        (&["serve"], "serve"),
    ] {
        let (code, said) = fail(arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn what_the_system_refuses_is_told() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().to_str().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, words) in [
        (
            &["web", "/no/such/dir"][..],
            &["no such directory: /no/such/dir"][..],
        ),
        (&["web", file], &["not a directory", file]),
        (&["web", dir, "--listen", &address], &["in use", &address]),
        (
            &["web", dir, "--listen", "127.0.0.1:0", "--metrics", &address],
            &["in use", &address],
        ),
        (
            &["web", dir, "--listen", "unix:/no/such/dir/socket"],
            &["/no/such/dir/socket"],
        ),
        (
            &["web", dir, "--listen", "192.0.2.1:80"],
            &["192.0.2.1:80", "does not have"],
        ),
        (&["web", dir, "--index", "a/b"], &["a/b"]),
    ] {
        let (code, said) = fail(arguments);
        assert_eq!(code, 1, "{arguments:?}: {said}");
        assert!(said.starts_with("mely: "), "{said}");
        for word in words {
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn without_a_directory_the_default_is_named() {
    let root = tempfile::tempdir().unwrap();
    let output = mely().arg("web").current_dir(root.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("no such directory: site"), "{said}");
    assert!(said.contains("mely web DIR"), "{said}");
}

#[test]
fn the_topology_is_a_tree_or_json() {
    let tree = run(&["topology"]);
    assert!(tree.status.success());
    assert!(String::from_utf8(tree.stdout).unwrap().contains("CPU"));
    let json = run(&["topology", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json.is_object(), "{json}");
}

#[test]
fn completions_and_manual_name_the_jobs() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("topology"), "{shell}");
        assert!(script.contains("max-ultrapeers"), "{shell}");
    }
    let page = String::from_utf8(run(&["man"]).stdout).unwrap();
    assert!(page.contains("mely") && page.contains("topology"), "{page}");
    let dir = tempfile::tempdir().unwrap();
    assert!(run(&["man", dir.path().to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(dir.path().join("mely-web.1")).unwrap();
    assert!(page.contains("metrics"), "{page}");
    let page = std::fs::read_to_string(dir.path().join("mely-gnutella.1")).unwrap();
    assert!(page.contains("share"), "{page}");
}

#[test]
fn help_is_for_reading() {
    let help = run(&["web", "--help"]);
    assert!(help.status.success());
    let help = String::from_utf8(help.stdout).unwrap();
    for words in ["127.0.0.1:8080", "adaptive", "[default: site]", "Limits:"] {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn memory_is_measured_by_calling_the_command_again() {
    let output = run(&[
        "bench",
        "memory",
        "--workload=pending-events",
        "--impl=mely/adaptive,rayon,asio",
        "--pending-events=1000",
        "--repeat=1",
        "--keep-disturbed",
    ]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}");
    assert!(table.contains("skipped asio: "), "{table}");
    for who in ["mely/adaptive", "rayon"] {
        let of = |line: &&str| line.contains(who) && line.ends_with("bytes/event");
        assert_eq!(table.lines().filter(of).count(), 1, "{table}");
    }
}
