use super::*;
use crate::request::Framing;
use proptest::prelude::*;

fn limits() -> Limits {
    Limits {
        max_head_bytes: 400,
        max_target_bytes: 100,
        max_headers: 5,
        ..Limits::default()
    }
}

fn parse(bytes: &[u8]) -> Result<Parsed, HttpError> {
    RequestParser::new().parse(bytes, &limits())
}

fn head(text: &str) -> RequestHead {
    match parse(text.as_bytes()) {
        Ok(Parsed::Request { head, consumed }) => {
            assert_eq!(consumed, text.len());
            head
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

fn status(text: &str) -> u16 {
    match parse(text.as_bytes()) {
        Err(error) => error.status.code(),
        other => panic!("{text:?}: {other:?}"),
    }
}

fn with(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}\r\n")
}

#[test]
fn targets_and_methods() {
    for (target, path, query) in [
        ("/", "/", None),
        ("/a%20b?c?d", "/a%20b", Some("c?d")),
        ("http://h:80/x?", "/x", Some("")),
        ("HTTPS://h", "/", None),
        ("http://h?q", "/", Some("q")),
        ("//x", "//x", None),
    ] {
        let text = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = head(&text);
        let request = head.view(text.as_bytes());
        assert_eq!(request.path(), path.as_bytes(), "{target}");
        assert_eq!(request.query(), query.map(str::as_bytes), "{target}");
    }
    let options = head("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(options.asterisk && options.method == Method::Options);
    for target in [
        "*",
        "x",
        "http:///x",
        "ftp://h/",
        "http://a b/",
        "/#f",
        "http://h@/\\<",
    ] {
        assert_eq!(
            status(&format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")),
            400,
            "{target}"
        );
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE"] {
        let head = head(&format!("{method} / HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!(head.refusal, Some(Status::MethodNotAllowed));
    }
    let connect = head("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(
        (connect.refusal, connect.keep_alive),
        (Some(Status::MethodNotAllowed), false)
    );
    assert_eq!(status("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
    assert_eq!(status("get / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
}

#[test]
fn versions() {
    assert_eq!(head("GET / HTTP/1.0\r\n\r\n").version, Version::Http10);
    assert_eq!(status("GET / HTTP/2.0\r\n\r\n"), 505);
    assert_eq!(status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    assert_eq!(status("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), 505);
    for line in [
        "GET /",
        "GET / HTTP/11",
        "GET / HTCPCP/1.0",
        "GET / http/1.1",
        "GET  / HTTP/1.1",
    ] {
        assert_eq!(status(&format!("{line}\r\nHost: h\r\n\r\n")), 400, "{line}");
    }
}

#[test]
fn hosts() {
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(status(&with("host: h\r\n")), 400);
    assert_eq!(status("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    assert_eq!(status("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
    assert_eq!(status("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
    head("GET / HTTP/1.1\r\nHost:\r\n\r\n");
    head("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
}

#[test]
fn line_syntax_is_strict() {
    for text in [
        "GET / HTTP/1.1\nHost: h\n\n",
        "GET / HTTP/1.1\r\nHost: h\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA: \0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA\0: b\r\n\r\n",
        "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\n\r\n\r\nGET",
        "\x16\x03\x01",
        " GET / HTTP/1.1\r\n",
    ] {
        assert_eq!(status(text), 400, "{text:?}");
    }
    head("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(
        status(&format!(
            "GET /{} HTTP/1.1\r\nHost: h\r\n\r\n",
            "a".repeat(100)
        )),
        414
    );
    assert_eq!(status(&format!("GET /{}", "a".repeat(200))), 414);
    head(&format!(
        "GET /{} HTTP/1.1\r\nHost: h\r\n\r\n",
        "a".repeat(99)
    ));
    assert_eq!(status(&with(&"A: b\r\n".repeat(5))), 431);
    head(&with(&"A: b\r\n".repeat(4)));
    assert_eq!(status(&with(&format!("A: {}\r\n", "b".repeat(400)))), 431);
    assert_eq!(status(&with(&format!("A: {}", "b".repeat(400)))), 431);
    assert_eq!(status(&"A".repeat(33)), 501);
}

#[test]
fn framing_leaves_no_doubt() {
    assert_eq!(
        head(&with("Content-Length: 5\r\n")).framing,
        Framing::Length(5)
    );
    assert_eq!(
        head(&with("Content-Length: 5, 5\r\nContent-Length: 5\r\n")).framing,
        Framing::Length(5)
    );
    assert_eq!(head(&with("Content-Length: 0\r\n")).framing, Framing::Empty);
    assert_eq!(
        head(&with("Transfer-Encoding: Chunked\r\n")).framing,
        Framing::Chunked
    );
    for fields in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +1\r\n",
        "Content-Length:\r\n",
        "Content-Length: 1,\r\n",
        "Content-Length: 0x1\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: \r\n",
    ] {
        assert_eq!(status(&with(fields)), 400, "{fields}");
    }
    assert_eq!(status(&with("Transfer-Encoding: gzip, chunked\r\n")), 501);
    assert_eq!(status(&with("Transfer-Encoding: identity\r\n")), 501);
    assert_eq!(
        status("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        400
    );
}

#[test]
fn persistence() {
    let old = |fields: &str| head(&format!("GET / HTTP/1.0\r\n{fields}\r\n")).keep_alive;
    assert!(head(&with("")).keep_alive);
    assert!(!head(&with("Connection: Close\r\n")).keep_alive);
    assert!(!head(&with("Connection: upgrade ,close\r\n")).keep_alive);
    assert!(!head(&with("Connection: keep-alive\r\nConnection: close\r\n")).keep_alive);
    assert!(!old(""));
    assert!(old("Connection: Keep-Alive\r\n"));
    assert!(!old("Connection: keep-alive, close\r\n"));
}

#[test]
fn expectations() {
    let expects = head(&with("Expect: 100-Continue\r\nContent-Length: 1\r\n"));
    assert!(expects.expects_continue() && expects.refusal.is_none());
    assert!(!head(&with("Expect: 100-continue\r\n")).expects_continue());
    assert!(
        !head("GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
            .expects_continue()
    );
    assert_eq!(
        head(&with("Expect: miracles\r\n")).refusal,
        Some(Status::ExpectationFailed)
    );
}

#[test]
fn conditions_are_found_in_the_buffer() {
    let text =
        with("If-None-Match: \"a\"\r\nRange: bytes=1-2\r\nIf-None-Match: \"b\"\r\nIf-Range: x\r\n");
    let head = head(&text);
    let request = head.view(text.as_bytes());
    assert_eq!(request.range(), Some(&b"bytes=1-2"[..]));
    assert_eq!(request.if_range(), Some(&b"x"[..]));
    assert_eq!(
        request.preconditions().unwrap().if_none_match.unwrap(),
        [b"\"a\"", b"\"b\""]
    );
    let repeated = with("Range: bytes=1-2\r\nRange: bytes=1-2\r\n");
    assert_eq!(
        self::head(&repeated).view(repeated.as_bytes()).range(),
        None
    );
}

#[test]
fn errors_to_head_have_no_content() {
    assert!(parse(b"HEAD / HTTP/1.1\r\n\r\n").unwrap_err().omit_body);
    assert!(!parse(b"GET / HTTP/1.1\r\n\r\n").unwrap_err().omit_body);
}

pub(crate) fn request_like() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        "GET / HTTP/1.1\r\n",
        "HEAD /a?b HTTP/1.0\r\n",
        "POST /x HTTP/1.1\r\n",
        "OPTIONS * HTTP/1.1\r\n",
        "Host: h\r\n",
        "Host: h\n",
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        ":",
        " ",
        "\0",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "3\r\nabc\r\n0\r\n\r\n",
        "abc",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Expect: 100-continue\r\n",
        "Range: bytes=0-1\r\n",
        "A: 0123456789\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /big HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /0123456789012345678901234567890123456789",
        "If-None-Match: *\r\n",
        "HTTP/3.0",
    ]);
    let lines = prop::collection::vec(line, 0..20).prop_map(|lines| lines.concat().into_bytes());
    prop_oneof![4 => lines, 1 => prop::collection::vec(any::<u8>(), 0..600)]
}

proptest! {
    #[test]
    fn byte_by_byte_is_the_same_as_all_at_once(bytes in request_like()) {
        let mut parser = RequestParser::new();
        let mut piecewise = Ok(Parsed::Incomplete);
        for end in 0..=bytes.len() {
            piecewise = parser.parse(&bytes[..end], &limits());
            if piecewise != Ok(Parsed::Incomplete) {
                break;
            }
        }
        prop_assert_eq!(piecewise, parse(&bytes));
    }

    #[test]
    fn what_is_incomplete_is_within_the_limits(bytes in request_like()) {
        if parse(&bytes) == Ok(Parsed::Incomplete) {
            prop_assert!(bytes.len() < limits().max_head_bytes + 4);
        }
    }
}
