//! Traces, from outside: a server that records, and what is told of its file.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;

use crate::process::{Web, mely};
use rustix::process::Signal;
use serde_json::Value;

fn info(file: &Path, arguments: &[&str]) -> Output {
    let mut command = mely();
    command.args(["trace", "info"]).arg(file).args(arguments);
    command.output().unwrap()
}

/// Serves one request, and records it.
pub(crate) fn record(root: &Path) -> std::path::PathBuf {
    let (site, file) = (root.join("site"), root.join("web.trace"));
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("a.txt"), "hello").unwrap();
    let name = file.to_str().unwrap();
    let mut web = Web::start(&site, &["--workers", "2", "--trace", name]);
    let mut client = TcpStream::connect(&web.address).unwrap();
    client.write_all(b"GET /a.txt HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
    web.signal(Signal::TERM);
    assert!(web.line_with("traced ").contains(" 0 lost"));
    assert!(web.end().success());
    file
}

#[test]
fn a_server_records_what_the_command_sums_up() {
    let root = tempfile::tempdir().unwrap();
    let file = record(root.path());
    let json = info(&file, &["--json"]);
    assert!(json.status.success());
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["workers"], &json["lost"]), (&2.into(), &0.into()));
    assert_eq!(
        (&json["complete"], &json["policy"]),
        (&true.into(), &"adaptive".into())
    );
    let number = |name: &str| json[name].as_u64().unwrap();
    assert!(number("events") > 5 && number("colors") > 1, "{json}");
    assert_eq!(number("posts"), number("events"));
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    let handlers = json["handlers"].as_array().unwrap();
    let events: u64 = handlers.iter().map(|h| h["events"].as_u64().unwrap()).sum();
    assert_eq!(events, number("events"));
    for handler in handlers {
        let cost = |name: &str| handler[name].as_f64().unwrap();
        // Of so few events that is the most, but for what three digits leave out.
        let least = 0.99 * cost("mean_cycles");
        assert!(least > 0.0 && cost("p99_cycles") >= least, "{handler}");
    }

    let text = String::from_utf8(info(&file, &[]).stdout).unwrap();
    for word in [
        "workers         2",
        "lost records    0",
        "mean cycles",
        "Accept",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn what_is_cut_off_is_summed_up_and_told() {
    let root = tempfile::tempdir().unwrap();
    let file = record(root.path());
    let bytes = std::fs::read(&file).unwrap();
    // Without its end.
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let cut = info(&file, &["--json"]);
    assert_eq!(cut.status.code(), Some(1));
    let said = String::from_utf8(cut.stderr).unwrap();
    let place = format!("cut off at byte {}", bytes.len() - 1);
    assert!(
        said.contains(&place) && said.contains("web.trace"),
        "{said}"
    );
    let json: Value = serde_json::from_slice(&cut.stdout).unwrap();
    assert_eq!(json["complete"], false);
    assert!(json["events"].as_u64().unwrap() > 0);
}

#[test]
fn what_is_no_trace_is_told() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("page.html");
    std::fs::write(&file, "<!doctype html><title>No trace at all</title>").unwrap();
    for (file, word) in [
        (&file, "no trace of Mely"),
        (&root.path().join("none"), "open"),
    ] {
        let output = info(file, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(1), 0),
            "{said}"
        );
        assert!(
            said.contains(word) && said.contains(file.to_str().unwrap()),
            "{said}"
        );
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_told() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().to_str().unwrap();
    let output = mely().args(["web", dir, "--trace", dir]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot record a trace to") && said.contains(dir),
        "{said}"
    );
}
