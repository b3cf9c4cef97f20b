//! Files over HTTP, on the same port.

use super::raw::{PUSH, QUERY_HIT, Raw, Said, connect, head};
use super::{end, folder, node, options, runtime, sharing, until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Sends a request, and reads the head of the answer.
fn ask(stream: &mut TcpStream, line: &str, fields: &str) -> String {
    write!(stream, "{line} HTTP/1.1\r\nHost: x\r\n{fields}\r\n").unwrap();
    head(stream)
}

fn length(head: &str) -> usize {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    line.unwrap().parse().unwrap()
}

fn body(stream: &mut TcpStream, head: &str) -> Vec<u8> {
    let mut body = vec![0; length(head)];
    stream.read_exact(&mut body).unwrap();
    body
}

/// Downloads a file.
pub(crate) fn get(from: SocketAddr, target: &str) -> Vec<u8> {
    let mut stream = connect(from);
    let head = ask(&mut stream, &format!("GET {target}"), "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body(&mut stream, &head)
}

#[test]
fn ranges_heads_and_errors_on_one_connection() {
    let files = folder(&[("a b.txt", b"0123456789")]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), options());
    let mut stream = connect(node.address());
    let target = "/get/1/a%20b.txt";
    for (line, fields, status, content) in [
        (format!("GET {target}"), "", "200 OK", &b"0123456789"[..]),
        (
            format!("GET {target}"),
            "Range: bytes=2-4\r\n",
            "206 ",
            b"234",
        ),
        (
            format!("GET {target}"),
            "Range: bytes=-3\r\n",
            "206 ",
            b"789",
        ),
        (
            format!("GET {target}"),
            "Range: bytes=8-\r\n",
            "206 ",
            b"89",
        ),
        (format!("GET {target}"), "Range: bytes=10-\r\n", "416 ", b""),
        ("GET /get/1/other.txt".to_owned(), "", "404 ", b""),
        ("GET /get/2/a%20b.txt".to_owned(), "", "404 ", b""),
        ("GET /".to_owned(), "", "404 ", b""),
        (format!("DELETE {target}"), "", "405 ", b""),
    ] {
        let head = ask(&mut stream, &line, fields);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{line} {fields}: {head}"
        );
        assert_eq!(body(&mut stream, &head), content, "{line} {fields}");
    }
    let told = ask(
        &mut stream,
        &format!("GET {target}"),
        "Range: bytes=2-4\r\n",
    );
    assert!(
        told.contains("\r\nContent-Range: bytes 2-4/10\r\n"),
        "{told}"
    );
    assert!(
        told.contains("\r\nX-Gnutella-Content-URN: urn:sha1:Q7D6OQD3NHUQKBKZYFMZCGTRDHKCKEYB\r\n")
            || told.contains("urn:sha1:"),
        "{told}"
    );
    body(&mut stream, &told);
    let told = ask(&mut stream, &format!("HEAD {target}"), "");
    assert!(
        told.starts_with("HTTP/1.1 200 ") && length(&told) == 10,
        "{told}"
    );
    let told = ask(
        &mut stream,
        &format!("GET {target}"),
        "Connection: close\r\n",
    );
    assert_eq!(length(&told), 10);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"0123456789");
    assert_eq!(node.stats().uploads, 6);
    end(node, rt);
}

#[test]
fn names_that_climb_out_of_the_directory_lead_nowhere() {
    let outside = folder(&[("secret.txt", b"secret")]);
    let shared = outside.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("a.txt"), "a").unwrap();
    std::os::unix::fs::symlink("../secret.txt", shared.join("link.txt")).unwrap();
    let rt = runtime();
    let node = sharing(&rt, &shared, options());
    for target in [
        "/get/1/../secret.txt",
        "/get/1/%2e%2e%2fsecret.txt",
        "/get/1/..%2Fsecret.txt",
        "/get/../secret.txt",
        "/../secret.txt",
        "//etc/passwd",
        "/get/1//etc/passwd",
        "/get/1/a.txt%00../secret.txt",
        "/get/2/link.txt",
        "/get/0/a.txt",
        "/get/99999999999999999999/a.txt",
        "/uri-res/N2R?urn:sha1:../secret.txt",
    ] {
        let mut stream = connect(node.address());
        let told = ask(&mut stream, &format!("GET {target}"), "");
        let is_refused = told.starts_with("HTTP/1.1 404 ") || told.starts_with("HTTP/1.1 400 ");
        assert!(is_refused, "{target}: {told}");
    }
    assert_eq!(get(node.address(), "/get/1/a.txt"), b"a");
    end(node, rt);
}

#[test]
fn who_finds_no_place_is_asked_to_come_again() {
    let content = vec![7; 8 << 20];
    let files = folder(&[("large", &content), ("small", b"s")]);
    let rt = runtime();
    let mut options = options();
    options.node.max_uploads = 1;
    let node = sharing(&rt, files.path(), options);
    let mut first = connect(node.address());
    // The head is here, and the rest does not fit the buffers between the two.
    let told = ask(&mut first, "GET /get/1/large", "");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    let mut second = connect(node.address());
    let told = ask(&mut second, "GET /get/2/small", "");
    assert!(
        told.starts_with("HTTP/1.1 503 ") && told.contains("Retry-After: "),
        "{told}"
    );
    // A head takes no place.
    let told = ask(&mut second, "HEAD /get/2/small", "");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    // One that is given up makes room.
    drop(first);
    until("room", || {
        let told = ask(&mut second, "GET /get/2/small", "");
        body(&mut second, &told);
        told.starts_with("HTTP/1.1 200 ")
    });
    assert!(node.stats().uploads_refused >= 1);
    end(node, rt);
}

#[test]
fn a_push_is_answered_by_a_connection_with_the_file() {
    let files = folder(&[("free song.ogg", b"la la la")]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), options());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = Raw::ultrapeer(node.address());
    peer.send(&Said::query(7, 2, "free song"));
    let hit = peer.next_of(QUERY_HIT);
    let servent = &hit.payload[hit.payload.len() - 16..];
    assert_eq!(
        (hit.payload[0], &hit.payload[11..15]),
        (1, &[1, 0, 0, 0][..])
    );
    let port = listener.local_addr().unwrap().port().to_le_bytes();
    let push = [servent, &[1, 0, 0, 0], &[127, 0, 0, 1], &port].concat();
    peer.send(&Said::new(PUSH, 8, 2, &push));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
    let name: String = servent.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(head(&mut stream), format!("GIV 1:{name}/free song.ogg\n\n"));
    let told = ask(&mut stream, "GET /get/1/free%20song.ogg", "");
    assert_eq!(body(&mut stream, &told), b"la la la");
    // One for somebody else has no way there.
    let stray = [&[9; 16], &push[16..]].concat();
    peer.send(&Said::new(PUSH, 9, 2, &stray));
    peer.settle();
    assert_eq!(
        (node.stats().pushes, node.stats().dropped("no_route")),
        (1, 1)
    );
    drop(stream);
    end(node, rt);
}

#[test]
fn a_push_travels_the_way_back_of_the_hit() {
    let files = folder(&[("free song.ogg", b"la la la")]);
    let rt = runtime();
    let between = node(&rt, options());
    let has = sharing(&rt, files.path(), super::connected_to(options(), &between));
    until("connected", || between.stats().ultrapeers == 1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = Raw::ultrapeer(between.address());
    peer.settle();
    peer.send(&Said::query(7, 3, "free song"));
    let hit = peer.next_of(QUERY_HIT);
    let servent = &hit.payload[hit.payload.len() - 16..];
    let port = listener.local_addr().unwrap().port().to_le_bytes();
    let push = [servent, &[1, 0, 0, 0], &[127, 0, 0, 1], &port].concat();
    peer.send(&Said::new(PUSH, 8, 3, &push));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
    assert!(head(&mut stream).starts_with("GIV 1:"));
    assert_eq!(has.shutdown(super::PATIENCE).unwrap(), 0);
    end(between, rt);
}
