//! `mely sim replay`, from outside: a server that records, and how it would run elsewhere.

use std::path::Path;
use std::process::Output;

use crate::process::mely;
use crate::trace::record;
use serde_json::Value;

fn replay(file: &Path, arguments: &[&str]) -> Output {
    let mut command = mely();
    command.args(["sim", "replay"]).arg(file).args(arguments);
    command.output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code(), text)
}

#[test]
fn a_server_is_replayed_on_other_machines() {
    let root = tempfile::tempdir().unwrap();
    let file = record(root.path());
    let json = root.path().join("replay.json");
    let output = replay(
        &file,
        &[
            "--machine",
            "xeon-e5410",
            "--cores",
            "1,8",
            "--policy",
            "mely,adaptive",
            "--json",
            json.to_str().unwrap(),
        ],
    );
    assert_eq!(said(&output), (Some(0), String::new()));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "recorded: adaptive",
        "xeon-e5410: mely",
        "xeon-e5410.1: adaptive",
        "steals",
        "p99",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let rows = json["replayed"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!(row["events"], json["recorded"]["events"], "{row}");
        assert!(row["seconds"].as_f64().unwrap() > 0.0, "{row}");
        let cores = if row["machine"] == "xeon-e5410" { 8 } else { 1 };
        assert_eq!(row["utilisation"].as_array().unwrap().len(), cores);
    }
}

#[test]
fn what_is_cut_off_is_replayed_only_if_asked() {
    let root = tempfile::tempdir().unwrap();
    let file = record(root.path());
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let (code, text) = said(&replay(&file, &[]));
    assert_eq!(code, Some(1), "{text}");
    let place = format!("cut off at byte {}", bytes.len() - 1);
    for word in ["web.trace", &place, "--whole-blocks"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let (code, text) = said(&replay(&file, &["--whole-blocks", "--closed"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("note") && text.contains(&place), "{text}");
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("page.html");
    std::fs::write(&file, "<!doctype html><title>No trace at all</title>").unwrap();
    let none = root.path().join("none");
    for (file, arguments, code, word) in [
        (&file, &[][..], 1, "no trace of Mely"),
        (&none, &[], 1, "none"),
        (&file, &["--policy", "fastest"], 2, "fastest"),
        (&file, &["--machine", "abacus"], 2, "abacus"),
        (&file, &["--cores", "0"], 2, "1 to 1024"),
        (&file, &["--speed", "0"], 2, "above 0"),
        (&file, &["--speed", "2", "--closed"], 2, "--closed"),
    ] {
        let output = replay(file, arguments);
        let (got, text) = said(&output);
        assert_eq!((got, output.stdout.len()), (Some(code), 0), "{text}");
        assert!(text.contains(word), "{word}: {text}");
        let names_the_file = code == 2 || text.contains(file.to_str().unwrap());
        assert!(names_the_file, "{text}");
    }
}
