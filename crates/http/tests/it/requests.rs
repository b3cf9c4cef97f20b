//! How requests come: whole, in pieces, many at once.

use crate::harness::{Setup, content, serve};
use mely::ReactorKind;

#[test]
fn a_connection_is_kept_or_closed_as_asked() {
    let served = serve(&[("a", b"a")]);
    let mut kept = served.client();
    for _ in 0..10 {
        assert_eq!(kept.get("/a").body, b"a");
    }
    kept.send(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(kept.response().field("Connection"), Some("close"));
    assert!(kept.is_closed());

    let mut old = served.client();
    old.send(b"GET /a HTTP/1.0\r\n\r\n");
    assert_eq!(old.response().body, b"a");
    assert!(old.is_closed());

    let mut old_kept = served.client();
    old_kept.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(old_kept.response().field("Connection"), Some("keep-alive"));
    old_kept.send(b"GET /a HTTP/1.0\r\n\r\n");
    assert_eq!(old_kept.response().body, b"a");
    assert!(old_kept.is_closed());
    served.end();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let names: Vec<String> = (0..10).map(|n| format!("{n}.bin")).collect();
    let contents: Vec<Vec<u8>> = (0..10).map(|n| content(n * 7_000 + 1, n)).collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .zip(&contents)
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    let served = serve(&files);
    let order: Vec<usize> = (0..100).map(|n| n * 7 % 10).collect();
    let requests: String = order
        .iter()
        .map(|n| format!("GET /{n}.bin HTTP/1.1\r\nHost: x\r\n\r\n"))
        .collect();
    let mut client = served.client();
    client.send(requests.as_bytes());
    for n in order {
        assert!(client.response().body == contents[n], "{n}.bin differs");
    }
    served.end();
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let served = serve(&[("a", b"slow")]);
    let mut client = served.client();
    for byte in b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n" {
        client.send(&[*byte]);
    }
    assert_eq!(client.response().body, b"slow");
    assert_eq!(client.response().body, b"slow");
    served.end();
}

#[test]
fn a_client_that_will_send_no_more_gets_its_answers() {
    let large = content(3_000_000, 1);
    let served = serve(&[("a", b"a"), ("large", &large)]);
    let mut client = served.client();
    client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    client.end_of_requests();
    assert_eq!(client.response().body, b"a");
    assert!(client.response().body == large);
    assert!(client.is_closed());
    let silent = served.client();
    silent.end_of_requests();
    served.until(|stats| stats.active == 0);
    served.end();
}

#[test]
fn connections_end_after_as_many_requests_as_they_may_have() {
    let served =
        Setup::limits(|limits| limits.max_requests_per_connection = Some(2)).serve(&[("a", b"a")]);
    let mut client = served.client();
    assert_eq!(client.get("/a").field("Connection"), None);
    assert_eq!(client.get("/a").field("Connection"), Some("close"));
    assert!(client.is_closed());
    served.end();
}

#[test]
fn every_number_of_workers_and_both_reactors_serve() {
    let large = content(500_000, 9);
    for reactor in [ReactorKind::PerWorker, ReactorKind::Single] {
        for workers in [1, 2, 8] {
            let setup = Setup {
                workers,
                reactor,
                ..Setup::default()
            };
            let served = setup.serve(&[("a", b"small"), ("large", &large)]);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..5 {
                            let mut client = served.client();
                            for _ in 0..5 {
                                assert_eq!(client.get("/a").body, b"small");
                            }
                            assert!(client.get("/large").body == large);
                        }
                    });
                }
            });
            served.until(|stats| stats.active == 0);
            let stats = served.server.stats();
            assert_eq!((stats.accepted, stats.answers_2xx), (40, 240));
            assert_eq!((stats.broken, stats.timeouts, stats.rejected), (0, 0, 0));
            let metrics = served.runtime.metrics();
            let mut names = vec![
                "RegisterFdInEpoll",
                "Accept",
                "ReadRequest",
                "ParseRequest",
                "CheckInCache",
                "WriteResponse",
                "Close",
                "DecClientAccepted",
            ];
            if reactor == ReactorKind::Single {
                names.push("Epoll");
            }
            for name in names {
                assert!(metrics.handler(name).is_some(), "no {name} in {reactor:?}");
            }
            served.end();
        }
    }
}
