//! The running server, seen from outside its process.

use crate::process::{PATIENCE, Web, mely};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Instant;

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// One request over HTTP/1.0, and all that comes back.
fn get(address: &str, path: &str) -> Vec<u8> {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

fn site(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(root.path().join(name), content).unwrap();
    }
    root
}

#[test]
fn a_directory_is_served_until_it_is_asked_to_end() {
    let root = site(&[("index.html", b"<p>hello")]);
    for signal in [Signal::INT, Signal::TERM] {
        let mut web = Web::start(root.path(), &[]);
        let answer = get(&web.address, "/");
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(answer.ends_with(b"<p>hello"));
        web.signal(signal);
        assert!(web.end().success());
        let said = web.said();
        assert!(said.contains("1 files"), "{said}");
        assert!(said.contains("finishing"), "{said}");
    }
}

#[test]
fn quiet_is_quiet() {
    let root = site(&[]);
    let mut web = Web::start(root.path(), &["--quiet"]);
    web.signal(Signal::TERM);
    assert!(web.end().success());
    assert_eq!(web.said(), "");
}

#[test]
fn the_sample_site_is_the_default() {
    let mut command = mely();
    command.args(["web", "--listen", "127.0.0.1:0"]);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let web = Web::spawn(command);
    assert!(get(&web.address, "/").starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(get(&web.address, "/no-such-page").starts_with(b"HTTP/1.1 404 "));
}

/// A file that does not fit the buffers between the processes.
const LARGE_BYTES: u64 = 300 << 20;

#[test]
fn a_download_is_finished_after_sigterm() {
    let root = site(&[]);
    let file = std::fs::File::create(root.path().join("large")).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    let mut web = Web::start(root.path(), &[]);
    let mut stream = connect(&web.address);
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut start = [0; 1000];
    stream.read_exact(&mut start).unwrap();
    web.signal(Signal::TERM);
    web.line_with("SIGTERM: finishing 1 connections");
    let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    let head = start.windows(4).position(|end| end == b"\r\n\r\n").unwrap() as u64 + 4;
    assert_eq!(1000 + rest, head + LARGE_BYTES);
    assert!(web.end().success());
}

#[test]
fn a_second_signal_ends_at_once() {
    let root = site(&[]);
    let file = std::fs::File::create(root.path().join("large")).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    let mut web = Web::start(root.path(), &[]);
    let mut stream = connect(&web.address);
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    web.signal(Signal::TERM);
    web.line_with("SIGTERM");
    web.signal(Signal::TERM);
    assert_eq!(web.end().code(), Some(128 + 15));
}

#[test]
fn what_does_not_finish_is_cut_and_counted() {
    let root = site(&[]);
    let file = std::fs::File::create(root.path().join("large")).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    let mut web = Web::start(root.path(), &["--grace", "10ms"]);
    let mut stream = connect(&web.address);
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    web.signal(Signal::TERM);
    web.line_with("cut 1 connections");
    assert!(web.end().success());
}

#[test]
fn the_metrics_list_the_nine_handlers() {
    let root = site(&[("a", b"a")]);
    let arguments = ["--metrics", "127.0.0.1:0", "--reactor", "single"];
    let mut web = Web::start(root.path(), &arguments);
    let line = web.line_with("metrics on http://");
    let url = line.trim().rsplit_once("http://").unwrap().1;
    let metrics = url.strip_suffix("/metrics").unwrap();
    // Neither silence nor half a request keeps others from the metrics.
    let silent: Vec<_> = (0..10).map(|_| connect(metrics)).collect();
    let mut half = connect(metrics);
    half.write_all(b"GET /metr").unwrap();
    assert!(get(&web.address, "/a").ends_with(b"\r\n\r\na"));
    let mut text = String::new();
    let give_up = Instant::now() + PATIENCE;
    // The connection above is counted off after its answer was read.
    while !text.contains("handler_events_total{handler=\"DecClientAccepted\"}") {
        text = String::from_utf8(get(metrics, "/metrics")).unwrap();
        assert!(Instant::now() < give_up, "{text}");
    }
    for name in [
        "Epoll",
        "RegisterFdInEpoll",
        "Accept",
        "ReadRequest",
        "ParseRequest",
        "CheckInCache",
        "WriteResponse",
        "Close",
        "DecClientAccepted",
    ] {
        let sample = format!("mely_handler_events_total{{handler=\"{name}\"}}");
        assert!(text.contains(&sample), "no {name} in {text}");
    }
    assert!(text.contains("mely_http_answers_total{class=\"2xx\"} 1\n"));
    drop((silent, half));
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let root = site(&[("a", b"a")]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_mely"))
        .args(["web", "--listen", "127.0.0.1:0"])
        .arg(root.path());
    let mut web = Web::spawn(command);
    web.line_with("the limit of 40 open descriptors");
    let clients: Vec<_> = (0..100).map(|_| connect(&web.address)).collect();
    let line = web.line_with("cannot accept connections");
    assert!(
        line.contains("Too many open files") || line.contains("os error 24"),
        "{line}"
    );
    drop(clients);
    for _ in 0..100 {
        assert!(get(&web.address, "/a").ends_with(b"\r\n\r\na"));
    }
    web.signal(Signal::TERM);
    assert!(web.end().success());
}

#[test]
fn several_addresses_are_served() {
    let root = site(&[("a", b"a")]);
    let socket = root.path().join(".socket");
    let listen = format!("unix:{}", socket.display());
    let mut web = Web::start(root.path(), &["--listen", &listen]);
    assert!(get(&web.address, "/a").ends_with(b"\r\n\r\na"));
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /a HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(b"\r\n\r\na"));
    web.signal(Signal::TERM);
    assert!(web.end().success());
    assert!(!socket.exists());
}
