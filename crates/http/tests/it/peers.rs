//! Peers that misbehave, and servers that end.

use crate::harness::{PATIENCE, Setup, content, serve};
use mely_http::server::{Address, Server, ServerError, ServerOptions};
use mely_http::{Limits, Options, Protocol, Site};
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// More than the buffers of two sockets hold, by far.
const ENDLESS_BYTES: usize = 256 << 20;

#[test]
fn a_peer_that_never_reads_is_bounded_and_then_closed() {
    let setup = Setup::limits(|limits| limits.write_timeout = Duration::from_millis(300));
    let file = content(90_000, 1);
    let served = setup.serve(&[("a", &file)]);
    let mut client = served.client();
    let stream = client.stream.get_mut();
    let requests = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1000);
    let mut written = 0;
    // The server stops reading when answers wait, so that writing stops too, or is cut.
    stream.set_nonblocking(true).unwrap();
    let is_full = loop {
        match stream.write(requests.as_bytes()) {
            Ok(count) => written += count,
            Err(error) => break error.kind(),
        }
        assert!(written < ENDLESS_BYTES, "it reads on without end");
    };
    assert!(
        [
            ErrorKind::WouldBlock,
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe
        ]
        .contains(&is_full),
        "{is_full}"
    );
    served.until(|stats| stats.timeouts == 1 && stats.active == 0);
    // What it was sent is what the sockets held, not what it asked for.
    assert!(served.server.stats().bytes_sent < 64 << 20);
    served.end();
}

#[test]
fn a_reset_in_the_middle_harms_nobody_else() {
    let large = content(20_000_000, 2);
    let served = serve(&[("large", &large), ("a", b"a")]);
    let mut witness = served.client();
    for _ in 0..20 {
        let mut client = served.client();
        client.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut some = [0; 1000];
        client.stream.read_exact(&mut some).unwrap();
        // Closing with unread bytes and without lingering sends a reset.
        set_socket_linger(client.stream.get_ref(), Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(witness.get("/a").body, b"a");
    }
    served.until(|stats| stats.active == 1);
    assert_eq!(served.server.stats().broken, 20);
    served.end();
}

#[test]
fn connections_that_come_and_go_leave_nothing() {
    let served = serve(&[("a", b"a")]);
    for _ in 0..300 {
        drop(served.client());
    }
    served.until(|stats| stats.accepted == 300 && stats.active == 0);
    assert_eq!(served.get("/a").body, b"a");
    served.end();
}

#[test]
fn a_shutdown_lets_downloads_finish_and_closes_the_idle() {
    let large = content(20_000_000, 3);
    let served = serve(&[("large", &large), ("a", b"a")]);
    let mut idle = served.client();
    assert_eq!(idle.get("/a").body, b"a");
    let mut download = served.client();
    download.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    let head = download.head();
    assert_eq!(head.status, 200);
    let address = served.address();
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| served.server.shutdown(PATIENCE));
        assert!(idle.is_closed());
        // Nobody new is let in: refused, or reset when it was in the queue.
        if let Ok(mut late) = std::net::TcpStream::connect(address) {
            let _ = late.write_all(b"GET /a HTTP/1.0\r\n\r\n");
            let mut answer = Vec::new();
            let _ = late.read_to_end(&mut answer);
            assert_eq!(answer, b"");
        }
        let mut body = vec![0; large.len()];
        download.stream.read_exact(&mut body).unwrap();
        assert!(body == large);
        assert!(download.is_closed());
        assert_eq!(ending.join().unwrap().cut, 0);
    });
}

#[test]
fn a_request_that_has_arrived_is_answered_while_shutting_down() {
    let served = serve(&[("a", b"a")]);
    let mut client = served.client();
    assert_eq!(client.get("/a").body, b"a");
    client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    let report = served.server.shutdown(PATIENCE);
    assert_eq!((report.cut, report.stats.active), (0, 0));
    assert_eq!(client.response().body, b"a");
    assert!(client.is_closed());
}

#[test]
fn a_shutdown_cuts_what_does_not_finish() {
    let large = content(50_000_000, 4);
    let served = serve(&[("large", &large)]);
    let mut clients: Vec<_> = (0..3).map(|_| served.client()).collect();
    for client in &mut clients {
        client.send(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
        client.head();
    }
    let report = served.server.shutdown(Duration::from_millis(50));
    assert_eq!((report.cut, report.stats.active), (3, 0));
    for client in &mut clients {
        assert!(client.wait_for_end() < 50_000_000);
    }
}

#[test]
fn a_dropped_server_cuts_all_and_frees_its_address() {
    let served = serve(&[("a", b"a")]);
    let mut client = served.client();
    assert_eq!(client.get("/a").status, 200);
    let address = served.address();
    drop(served.server);
    client.wait_for_end();
    served.runtime.shutdown(PATIENCE).unwrap();
    assert!(std::net::TcpListener::bind(address).is_ok());
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(taken.local_addr().unwrap());
    let root = tempfile::tempdir().unwrap();
    let protocol = Arc::new(Protocol::new(Limits::default()));
    let now = crate::harness::now();
    let site = Site::open(root.path(), Options::default(), protocol.limits(), &now).unwrap();
    let runtime = mely::Runtime::builder().workers(1).build().unwrap();
    let site = Arc::new(site);
    let start = |listen: Vec<Address>| {
        let options = ServerOptions::listen(listen);
        Server::start(&runtime, Arc::clone(&site), Arc::clone(&protocol), options)
    };
    let error = start(vec![address.clone()]).unwrap_err();
    assert!(matches!(error, ServerError::Listen { .. }));
    assert!(error.to_string().contains("in use"), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(matches!(start(Vec::new()), Err(ServerError::NoAddress)));
}

#[test]
fn a_socket_that_a_killed_server_left_is_taken_over() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(".socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let setup = Setup::default();
    let protocol = Arc::new(Protocol::new(setup.limits));
    let now = crate::harness::now();
    let site = Site::open(root.path(), Options::default(), protocol.limits(), &now).unwrap();
    let runtime = mely::Runtime::builder().workers(1).build().unwrap();
    let listen = || ServerOptions::listen([Address::Unix(path.clone())]);
    let site = Arc::new(site);
    let server = Server::start(&runtime, Arc::clone(&site), Arc::clone(&protocol), listen());
    let server = server.unwrap();
    // One that lives is not taken over.
    assert!(Server::start(&runtime, site, protocol, listen()).is_err());
    assert!(path.exists());
    assert_eq!(server.shutdown(PATIENCE).cut, 0);
}
