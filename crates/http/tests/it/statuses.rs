//! Every status, from the live server.

use crate::harness::{Response, Setup, serve};
use std::time::Duration;

#[test]
fn each_kind_of_request_gets_its_status() {
    let setup = Setup::limits(|limits| limits.max_body_bytes = 100);
    let served = setup.serve(&[
        ("index.html", b"<h1>hello</h1>"),
        ("sub/page.txt", b"a page"),
        (".secret", b"hidden"),
    ]);
    let long_path = "a".repeat(10_000);
    let long_field = "b".repeat(20_000);
    let cases = [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 200),
        ("GET /sub HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 301),
        ("NONSENSE\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("GET /sub/ HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 403),
        ("GET /none HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 404),
        ("GET /.secret HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 404),
        ("DELETE / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 405),
        (
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n".to_owned(),
            413,
        ),
        (format!("GET /{long_path} HTTP/1.1\r\nHost: x\r\n\r\n"), 414),
        (
            "GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=99-\r\n\r\n".to_owned(),
            416,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: x\r\nX: {long_field}\r\n\r\n"),
            431,
        ),
        ("BREW / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 501),
        ("GET / HTTP/3.0\r\nHost: x\r\n\r\n".to_owned(), 505),
    ];
    for (request, status) in cases {
        let start = &request[..request.len().min(60)];
        let response = served.ask(&request);
        assert_eq!(response.status, status, "{start:?}: {}", response.head);
        assert!(response.field("Date").is_some(), "{}", response.head);
        if status == 405 {
            assert_eq!(response.field("Allow"), Some("GET, HEAD, OPTIONS"));
        }
    }
    served.end();
}

#[test]
fn a_request_that_comes_too_slowly_is_408() {
    let setup = Setup::limits(|limits| limits.header_timeout = Duration::from_millis(50));
    let served = setup.serve(&[("a", b"a")]);
    let mut client = served.client();
    client.send(b"GET /a HTTP/1.1\r\nHost:");
    let response = client.response();
    assert_eq!(response.status, 408);
    assert_eq!(response.field("Connection"), Some("close"));
    assert!(client.is_closed());
    assert_eq!(served.server.stats().timeouts, 1);
    served.end();
}

#[test]
fn a_silent_connection_is_closed_without_a_word() {
    let setup = Setup::limits(|limits| limits.idle_timeout = Duration::from_millis(50));
    let served = setup.serve(&[("a", b"a")]);
    let (mut silent, mut once) = (served.client(), served.client());
    assert_eq!(once.get("/a").body, b"a");
    assert!(once.is_closed());
    assert!(silent.is_closed());
    served.until(|stats| stats.timeouts == 2 && stats.active == 0);
    served.end();
}

#[test]
fn one_client_too_many_is_503() {
    let setup = Setup::limits(|limits| limits.max_clients = 2);
    let served = setup.serve(&[("a", b"a")]);
    let (mut first, mut second) = (served.client(), served.client());
    assert_eq!(first.get("/a").status, 200);
    assert_eq!(second.get("/a").status, 200);
    let mut third = served.client();
    let busy = third.response();
    assert_eq!(busy.status, 503);
    assert!(busy.field("Retry-After").is_some());
    assert!(third.is_closed());
    drop((first, third));
    served.until(|stats| stats.active == 1 && stats.refusing == 0);
    assert_eq!(served.get("/a").status, 200);
    assert_eq!(second.get("/a").status, 200);
    assert_eq!(served.server.stats().refused, 1);
    served.end();
}

#[test]
fn the_turned_away_are_bounded_and_the_rest_waits() {
    let mut setup = Setup::limits(|limits| {
        limits.max_clients = 1;
        // Those that are turned away stay until they close, not until time is up.
        limits.linger_timeout = crate::harness::PATIENCE;
    });
    setup.refusing_max = 2;
    let served = setup.serve(&[("a", b"a")]);
    let mut inside = served.client();
    assert_eq!(inside.get("/a").status, 200);
    let mut outside: Vec<_> = (0..6).map(|_| served.client()).collect();
    for client in &mut outside[..2] {
        assert_eq!(client.response().status, 503);
    }
    let stats = served.server.stats();
    assert_eq!((stats.refused, stats.refusing), (2, 2));
    // As they leave, the others come to their 503.
    for mut client in outside
        .drain(..)
        .skip(2)
        .rev()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        assert_eq!(client.response().status, 503);
    }
    drop(inside);
    served.until(|stats| stats.active == 0 && stats.refusing == 0);
    assert_eq!(served.server.stats().refused, 6);
    assert_eq!(served.get("/a").status, 200);
    served.end();
}

#[test]
fn methods_answer_as_they_should() {
    let served = serve(&[("a.txt", b"content")]);
    let mut client = served.client();
    client.send(b"HEAD /a.txt HTTP/1.1\r\nHost: x\r\n\r\n");
    let head = client.head();
    assert_eq!(head.field("Content-Length"), Some("7"));
    client.send(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    let options = client.head();
    assert_eq!(options.status, 204);
    assert_eq!(options.field("Allow"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(client.get("/a.txt").body, b"content");
    served.end();
}

#[test]
fn conditions_and_ranges_hold() {
    let served = serve(&[("a.txt", b"0123456789")]);
    let whole = served.get("/a.txt");
    let tag = whole.field("ETag").unwrap();
    let date = whole.field("Last-Modified").unwrap();
    let ask = |fields: &str| -> Response {
        served.ask(&format!(
            "GET /a.txt HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n"
        ))
    };
    assert_eq!(ask(&format!("If-None-Match: {tag}")).status, 304);
    assert_eq!(ask(&format!("If-Modified-Since: {date}")).status, 304);
    assert_eq!(ask("If-None-Match: \"other\"").body, b"0123456789");
    assert_eq!(ask("If-Match: \"other\"").status, 412);

    let part = ask("Range: bytes=2-4");
    assert_eq!((part.status, &part.body[..]), (206, &b"234"[..]));
    assert_eq!(part.field("Content-Range"), Some("bytes 2-4/10"));
    assert_eq!(ask("Range: bytes=-3").body, b"789");
    assert_eq!(
        ask(&format!("Range: bytes=2-4\r\nIf-Range: {tag}")).status,
        206
    );
    let changed = ask("Range: bytes=2-4\r\nIf-Range: \"other\"");
    assert_eq!((changed.status, changed.body.len()), (200, 10));
    let beyond = ask("Range: bytes=10-");
    assert_eq!(beyond.field("Content-Range"), Some("bytes */10"));
    served.end();
}
