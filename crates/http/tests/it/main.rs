//! The protocol and the server, on real sockets of the loopback.

mod files;
mod harness;
mod peers;
mod requests;
mod statuses;
mod text;

use mely_http::{Connection, DateCache, Limits, Now, Options, Output, Protocol, Site, Step};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

fn now() -> Now {
    DateCache::new().at(Instant::now(), SystemTime::now())
}

/// The simplest server there is on top of the protocol: blocking, one connection.
fn serve(mut stream: TcpStream, site: &Site, protocol: Arc<Protocol>) -> std::io::Result<()> {
    let mut connection = Connection::new(protocol, &now());
    for _ in 0..1_000_000 {
        match connection.parse(&now()) {
            Step::Read => {
                let count = stream.read(connection.read_buffer())?;
                connection.advance(count, &now());
            }
            Step::Request => {
                connection.check_in_cache(site, &now());
            }
            Step::Write => {
                let count = match connection.pending_output() {
                    Output::Empty => 0,
                    Output::Bytes(slices) => stream.write_vectored(&slices)?,
                    Output::File {
                        file,
                        offset,
                        length,
                    } => {
                        let mut part = vec![0; length.min(65_536) as usize];
                        let count = file.read_at(&mut part, offset)?;
                        stream.write(&part[..count])?
                    }
                };
                assert!(count > 0, "a write that goes nowhere");
                connection.advance_output(count as u64, &now());
            }
            Step::ShutdownWrite => stream.shutdown(Shutdown::Write)?,
            Step::Close => return Ok(()),
        }
    }
    panic!("a connection that never ends");
}

fn fetch(files: &[(&str, Vec<u8>)], request: &str) -> Vec<u8> {
    let root = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(root.path().join(name), content).unwrap();
    }
    let limits = Limits {
        cache_file_bytes: 100_000,
        ..Limits::default()
    };
    let site = Site::open(root.path(), Options::default(), &limits, &now()).unwrap();
    site.preload(&now(), |_| {});
    let protocol = Arc::new(Protocol::new(limits));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| serve(listener.accept().unwrap().0, &site, protocol).unwrap());
        client.write_all(request.as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        answer
    })
}

#[test]
fn pipelined_files_arrive_byte_for_byte() {
    let content = |length: usize, seed: usize| (0..length).map(|n| (n * 31 + seed) as u8).collect();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("small.bin", content(1000, 1)),
        ("large.bin", content(90_000, 2)),
        ("streamed.bin", content(3_000_000, 3)),
    ];
    let order = [
        "small.bin",
        "streamed.bin",
        "large.bin",
        "small.bin",
        "large.bin",
        "streamed.bin",
    ];
    let requests: String = order
        .iter()
        .map(|name| format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .collect();
    let answer = fetch(&files, &requests);
    let mut rest = &answer[..];
    for name in order {
        let blank = rest
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let content = &files
            .iter()
            .find(|(file, _)| *file == name)
            .expect("a known file")
            .1;
        assert!(rest.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(rest[blank..].starts_with(content), "{name} differs");
        rest = &rest[blank + content.len()..];
    }
    assert!(rest.is_empty());
}

#[test]
fn an_error_is_read_although_more_was_sent() {
    let request = format!("GET / HTTP/9.9\r\n\r\n{}", "x".repeat(100_000));
    let answer = fetch(&[], &request);
    assert!(answer.starts_with(b"HTTP/1.1 505 HTTP Version Not Supported\r\n"));
    assert!(answer.ends_with(b"</html>\n"));
}
