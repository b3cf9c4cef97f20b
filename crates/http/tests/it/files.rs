//! Files on disk: large, changing, and not to be shown.

use crate::harness::{Client, Setup, content, serve, write};
use mely_http::Options;
use mely_http::server::Address;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[test]
fn a_large_file_reaches_a_slow_reader_byte_for_byte() {
    let large = content(20_000_000, 4);
    let served = serve(&[("large", &large), ("a", b"a")]);
    let mut client = served.client();
    client.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    let head = client.head();
    assert_eq!(head.field("Content-Length"), Some("20000000"));
    let mut part = vec![0; 50_000];
    let mut at = 0;
    while at < large.len() {
        // Others are served while this one is in the middle.
        if at % 5_000_000 == 0 {
            assert_eq!(served.get("/a").body, b"a");
        }
        client.stream.read_exact(&mut part).unwrap();
        assert!(
            part == large[at..at + part.len()],
            "differs after byte {at}"
        );
        at += part.len();
    }
    assert_eq!(client.response().body, b"a");
    served.end();
}

#[test]
fn a_range_of_a_large_file_is_sent_alone() {
    let large = content(3_000_000, 5);
    let served = serve(&[("large", &large)]);
    let part = served.ask("GET /large HTTP/1.1\r\nHost: x\r\nRange: bytes=1000000-1999999\r\n\r\n");
    assert_eq!(part.status, 206);
    assert!(part.body == large[1_000_000..2_000_000]);
    served.end();
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_ends_the_connection() {
    let large = content(50_000_000, 6);
    let served = serve(&[("large", &large)]);
    let mut client = served.client();
    client.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    client.head();
    let file = std::fs::File::options()
        .write(true)
        .open(served.root.path().join("large"))
        .unwrap();
    file.set_len(10).unwrap();
    assert!(client.wait_for_end() < 50_000_000);
    served.until(|stats| stats.broken == 1 && stats.active == 0);
    served.end();
}

#[test]
fn a_file_that_changes_is_noticed() {
    let served = serve(&[("a.txt", b"before")]);
    let mut client = served.client();
    let before = client.get("/a.txt");
    assert_eq!(before.body, b"before");
    write(served.root.path(), "a.txt", b"afterwards");
    let after = client.get("/a.txt");
    assert_eq!(after.body, b"afterwards");
    assert_ne!(before.field("ETag"), after.field("ETag"));
    std::fs::remove_file(served.root.path().join("a.txt")).unwrap();
    assert_eq!(client.get("/a.txt").status, 404);
    write(served.root.path(), "a.txt", b"again");
    assert_eq!(client.get("/a.txt").body, b"again");
    served.end();
}

#[test]
fn no_path_leads_outside() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let served = serve(&[("sub/a", b"a")]);
    std::os::unix::fs::symlink(outside.path(), served.root.path().join("link")).unwrap();
    for path in [
        format!("/../{name}/secret"),
        format!("/sub/../../{name}/secret"),
        format!("/%2e%2e/{name}/secret"),
        format!("/..%2f{name}%2fsecret"),
        format!("/sub/%2e%2e%2f%2e%2e%2f{name}/secret"),
        format!("//{}/secret", outside.path().display()),
        format!("/{}/secret", outside.path().display()),
        "/link/secret".to_owned(),
        "/link/".to_owned(),
        "/..\\secret".to_owned(),
        "/sub/a%00".to_owned(),
    ] {
        let response = served.get(&path);
        assert!(
            [400, 403, 404].contains(&response.status),
            "{path}: {}",
            response.head
        );
        assert_ne!(response.body, b"secret", "{path}");
    }
    assert_eq!(served.get("/sub/../sub/./a").body, b"a");
    served.end();
}

#[test]
fn options_open_what_is_closed() {
    let setup = Setup {
        options: Options {
            dotfiles: true,
            listing: true,
            revalidate_interval: Duration::ZERO,
            ..Options::default()
        },
        ..Setup::default()
    };
    let served = setup.serve(&[(".hidden", b"shown"), ("sub/a&b", b"x")]);
    assert_eq!(served.get("/.hidden").body, b"shown");
    let listing = String::from_utf8(served.get("/sub/").body).unwrap();
    assert!(listing.contains("a&amp;b"), "{listing}");
    served.end();
}

#[test]
fn unix_sockets_are_served_and_removed() {
    let setup = Setup {
        unix: true,
        ..Setup::default()
    };
    let served = setup.serve(&[("a", b"over unix")]);
    let Address::Unix(path) = served.server.addresses()[1].clone() else {
        panic!("the second address is a path")
    };
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /a HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(b"\r\n\r\nover unix"));
    assert_eq!(Client::connect(served.address()).get("/a").status, 200);
    let root = served.root.path().to_owned();
    assert!(root.join(".socket").exists());
    assert_eq!(served.server.shutdown(crate::harness::PATIENCE).cut, 0);
    served.runtime.shutdown(crate::harness::PATIENCE).unwrap();
    assert!(!path.exists());
}
