//! What is answered.

use super::*;

#[test]
fn a_file_is_answered_with_all_its_fields() {
    let answer = answer(&get("/a.txt", ""));
    let (head, content) = parts(&answer);
    assert_eq!(content, "0123456789");
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    assert_eq!(lines.remove(0), "HTTP/1.1 200 OK");
    let etag = lines.remove(5);
    assert!(
        etag.starts_with("ETag: \"") && etag.ends_with('"'),
        "{etag}"
    );
    assert_eq!(
        lines,
        [
            "Date: Sun, 17 Mar 2030 17:46:40 GMT",
            "Server: mely",
            "Content-Type: text/plain; charset=utf-8",
            "Accept-Ranges: bytes",
            "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
            "Content-Length: 10",
        ]
    );
}

#[test]
fn statuses_and_fields() {
    for (request, expected) in [
        (get("/missing", ""), "404 Not Found"),
        (get("/dir/", ""), "403 Forbidden"),
        (get("/../x", ""), "400 Bad Request"),
        (get("/a.txt", "If-None-Match: *\r\n"), "304 Not Modified"),
        (
            get("/a.txt", "If-Match: \"x\"\r\n"),
            "412 Precondition Failed",
        ),
        (
            get(
                "/a.txt",
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            ),
            "304 Not Modified",
        ),
        (get("/missing", "If-None-Match: *\r\n"), "404 Not Found"),
        (
            get("/a.txt", "Range: bytes=10-\r\n"),
            "416 Range Not Satisfiable",
        ),
        (get("/a.txt", "Range: bytes=1-2\r\n"), "206 Partial Content"),
        (get("/a.txt", "Expect: x\r\n"), "417 Expectation Failed"),
        (
            get("/a.txt", "Content-Length: 65537\r\n"),
            "413 Content Too Large",
        ),
        (
            "POST / HTTP/1.1\r\nHost: h\r\n\r\n".into(),
            "405 Method Not Allowed",
        ),
        (
            "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".into(),
            "204 No Content",
        ),
        (
            "OPTIONS /a.txt HTTP/1.1\r\nHost: h\r\n\r\n".into(),
            "204 No Content",
        ),
        (
            "OPTIONS /missing HTTP/1.1\r\nHost: h\r\n\r\n".into(),
            "404 Not Found",
        ),
        (
            "GET / HTTP/3.0\r\n\r\n".into(),
            "505 HTTP Version Not Supported",
        ),
    ] {
        let answer = answer(&request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")),
            "{request}\n{answer}"
        );
        let (head, content) = parts(&answer);
        let allow = head.contains("\r\nAllow: GET, HEAD, OPTIONS");
        assert_eq!(
            allow,
            expected.starts_with("405") || expected.starts_with("204"),
            "{head}"
        );
        let length = head
            .split("\r\n")
            .find_map(|line| line.strip_prefix("Content-Length: "));
        assert_eq!(
            length.map_or(0, |l| l.parse::<usize>().unwrap()),
            content.len(),
            "{answer}"
        );
    }
}

#[test]
fn redirects_keep_the_query() {
    let answer = answer(&get("//dir?a=b&c", ""));
    assert!(answer.contains("\r\nLocation: /dir/?a=b&c\r\n"), "{answer}");
    assert!(answer.starts_with("HTTP/1.1 301 "));
}

#[test]
fn ranges_of_memory_and_of_files() {
    let world = World::new();
    let part = |target: &str, fields: &str| {
        text(&world.converse(get(target, fields).as_bytes(), usize::MAX))
    };
    let small = part("/a.txt", "Range: bytes=-3\r\n");
    assert!(
        small.contains("Content-Range: bytes 7-9/10\r\n") && small.ends_with("\r\n\r\n789"),
        "{small}"
    );
    let big = part("/big", "Range: bytes=1-19000\r\n");
    assert!(big.contains("Content-Length: 19000\r\n"));
    assert_eq!(parts(&big).1.len(), 19_000);
    let output = world.converse(
        get("/streamed.bin", "Range: bytes=255-256\r\n").as_bytes(),
        usize::MAX,
    );
    assert!(output.ends_with(b"\r\n\r\n\xff\x00"));
    assert!(part("/a.txt", "Range: bytes=50-\r\n").contains("Content-Range: bytes */10\r\n"));
    assert!(
        part("/a.txt", "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n").starts_with("HTTP/1.1 200")
    );
    assert!(part("/a.txt", "Range: bytes=0-0,2-3\r\n").starts_with("HTTP/1.1 200"));
    let dated = "Range: bytes=0-0\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    assert!(part("/a.txt", dated).starts_with("HTTP/1.1 206"));
    let head = text(&world.converse(
        b"HEAD /a.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=0-0\r\n\r\n",
        9,
    ));
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    assert!(part("/empty", "Range: bytes=0-\r\n").starts_with("HTTP/1.1 416"));
}

#[test]
fn large_files_come_whole_in_pieces() {
    let world = World::new();
    let output = world.converse(get("/streamed.bin", "").as_bytes(), usize::MAX);
    let content: Vec<u8> = (0..STREAMED).map(|n| n as u8).collect();
    assert!(output.ends_with(&content));
    let head = world.converse(
        b"HEAD /streamed.bin HTTP/1.1\r\nHost: h\r\n\r\n",
        usize::MAX,
    );
    assert_eq!(output[..output.len() - STREAMED], head[..]);
}

#[test]
fn head_is_get_without_content() {
    let world = World::new();
    let answer = |request: &str| text(&world.converse(request.as_bytes(), usize::MAX));
    for target in ["/a.txt", "/big", "/missing", "/empty", "/dir", "/dir/"] {
        let get = answer(&get(target, ""));
        let head = answer(&format!("HEAD {target} HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!(parts(&head), (parts(&get).0, ""), "{target}");
    }
}

#[test]
fn persistence_follows_version_and_wish() {
    let twice = |line: &str, field: &str| {
        let request = format!("{line}\r\nHost: h\r\n{field}\r\n").repeat(2);
        let answer = answer(&request);
        (answer.matches("HTTP/1.1 200 OK").count(), answer)
    };
    assert_eq!(twice("GET /a.txt HTTP/1.1", "").0, 2);
    assert!(!twice("GET /a.txt HTTP/1.1", "").1.contains("Connection:"));
    let (count, answer) = twice("GET /a.txt HTTP/1.1", "Connection: close\r\n");
    assert!(count == 1 && answer.contains("\r\nConnection: close\r\n"));
    let (count, answer) = twice("GET /a.txt HTTP/1.0", "");
    assert!(count == 1 && answer.contains("\r\nConnection: close\r\n"));
    let (count, answer) = twice("GET /a.txt HTTP/1.0", "Connection: keep-alive\r\n");
    assert!(count == 2 && answer.contains("\r\nConnection: keep-alive\r\n"));
    let limited = World::with(Limits {
        max_requests_per_connection: Some(3),
        ..Limits::default()
    });
    let answer = text(&limited.converse(get("/a.txt", "").repeat(5).as_bytes(), usize::MAX));
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 3);
    assert_eq!(answer.matches("Connection: close").count(), 1);
}

#[test]
fn bodies_are_discarded_and_continued() {
    let next = get("/a.txt", "");
    let chunked =
        get("/a.txt", "Transfer-Encoding: chunked\r\n") + "3\r\nGET\r\n0\r\nA: b\r\n\r\n" + &next;
    assert_eq!(answer(&chunked).matches("HTTP/1.1 200 OK").count(), 2);
    let counted = get("/a.txt", "Content-Length: 4\r\n") + "GET " + &next;
    assert_eq!(answer(&counted).matches("HTTP/1.1 200 OK").count(), 2);
    let post = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc{next}");
    let refused = answer(&post);
    assert!(refused.starts_with("HTTP/1.1 405") && refused.contains("HTTP/1.1 200 OK"));
    let waits = get("/a.txt", "Content-Length: 4\r\nExpect: 100-continue\r\n") + "abcd";
    assert!(answer(&waits).starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
    let refused =
        answer("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 405") && refused.contains("Connection: close"));
    let cut = get("/a.txt", "Content-Length: 4\r\n") + "ab";
    assert_eq!(answer(&cut), "");
}
