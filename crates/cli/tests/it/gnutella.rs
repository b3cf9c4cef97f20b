//! A node in a process of its own.

use crate::process::{PATIENCE, mely};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

/// A running `mely gnutella`, killed with the test.
struct Node {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Node {
    fn start(arguments: &[&str]) -> Self {
        let mut child = mely()
            .args(["gnutella", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        if arguments.contains(&"--json") {
            let mut stderr = BufReader::new(child.stderr.take().unwrap());
            while !line.contains("listening on ") {
                line.clear();
                assert!(stderr.read_line(&mut line).unwrap() > 0, "no address");
            }
            line = line.replace("mely: listening on ", "");
        } else {
            stdout.read_line(&mut line).unwrap();
        }
        let address = line.trim().to_owned();
        Self {
            child,
            stdout,
            address,
        }
    }

    /// Asks it to end, and waits: what it said on standard output.
    fn end(mut self, signal: Signal) -> String {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nodes_meet_share_and_end_in_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("free song.ogg"), "la la la").unwrap();
    let hosts = folder.path().join(".hosts");
    let hosts = hosts.to_str().unwrap();
    let shared = folder.path().to_str().unwrap();
    let first = Node::start(&["--share", shared, "--json"]);
    let second = Node::start(&["--connect", &first.address, "--leaf", "--hosts", hosts]);
    let mut stream = TcpStream::connect(&first.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = b"GET /get/1/free%20song.ogg HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("la la la"));
    let mut peer = TcpStream::connect(&first.address).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(b"GNUTELLA CONNECT/0.4\n\n").unwrap();
    let mut answer = [0; 13];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"GNUTELLA OK\n\n");
    // Its first message: from now on it says bye, too.
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(second.end(Signal::INT), "");
    let said = first.end(Signal::TERM);
    let figures: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(figures["uploads"], 1);
    assert!(figures["handshakes"].as_u64().unwrap() >= 1, "{figures}");
    assert_eq!(
        (&figures["ultrapeers"], &figures["sent"]["bye"]),
        (&1.into(), &1.into())
    );
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).unwrap();
    assert!(rest.windows(3).any(|part| part == b"\x02\x01\0"), "no bye");
    assert!(std::path::Path::new(hosts).exists());
}

#[test]
fn what_is_wrong_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, words) in [
        (&["--listen", "nowhere"][..], 2, "HOST:PORT"),
        (&["--connect", "a:b"], 2, "HOST:PORT"),
        (&["--when-full", "wait"], 2, "close"),
        (&["--workers", "0"], 2, "at least one worker"),
        (&["--share", "/no/such/dir"], 1, "/no/such/dir"),
        (&["--listen", &taken], 1, "in use"),
        (
            &["--listen", "127.0.0.1:0", "--hosts", "/"],
            1,
            "hosts in /",
        ),
    ] {
        let output = mely().arg("gnutella").args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
