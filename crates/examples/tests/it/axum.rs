//! `axum`.

use std::io::{Read, Write};

use crate::support::{Program, output_of};

fn request(program: &Program, line: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n");
    let request = format!("{head}content-length: {length}\r\n\r\n{body}");
    let mut client = program.connect();
    client.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("it is closed");
    answer
}

#[test]
fn it_counts_and_remembers() {
    let service = Program::start("axum");
    for count in 1..=3 {
        let answer = request(&service, "GET /", "");
        assert!(
            answer.ends_with(&format!("\r\n\r\n{count} hits\n")),
            "{answer}"
        );
    }
    assert!(request(&service, "POST /sessions", "ada").ends_with("\r\n\r\n1\n"));
    assert!(request(&service, "POST /sessions", "grace").ends_with("\r\n\r\n2\n"));
    assert!(request(&service, "GET /sessions/1", "").ends_with("\r\n\r\nada"));
    assert!(request(&service, "DELETE /sessions/1", "").ends_with("\r\n\r\nada"));
    assert!(request(&service, "GET /sessions/1", "").starts_with("HTTP/1.1 404 "));
    assert!(request(&service, "GET /sessions/2", "").ends_with("\r\n\r\ngrace"));
}

#[test]
fn it_speaks_both_versions_of_http() {
    let service = Program::start("axum");
    let address = format!("http://{}/", service.address);
    let version = "%{http_version}";
    for (count, (how, expected)) in [("--http1.1", "1.1"), ("--http2-prior-knowledge", "2")]
        .into_iter()
        .enumerate()
    {
        let Some(told) = output_of("curl", &["-sS", "-m", "30", how, "-w", version, &address])
        else {
            return;
        };
        assert_eq!(told, format!("{} hits\n{expected}", count + 1));
    }
}

#[test]
fn curl_opens_a_session() {
    let service = Program::start("axum");
    let curl = |args: &str| {
        let url = format!("http://{}/sessions", service.address);
        let args = format!("-sS -m 30 {args}").replace("URL", &url);
        output_of("curl", &args.split(' ').collect::<Vec<_>>())
    };
    let Some(id) = curl("-d ada URL") else { return };
    assert_eq!(id, "1\n");
    assert_eq!(curl("URL/1").as_deref(), Some("ada"));
    assert_eq!(curl("-X DELETE URL/1").as_deref(), Some("ada"));
    assert_eq!(
        curl("-o /dev/null -w %{http_code} URL/1").as_deref(),
        Some("404")
    );
}

#[test]
fn streams_of_many_connections_are_answered() {
    let service = Program::start("axum");
    let address = format!("http://{}/", service.address);
    for (count, version) in [(1, "--h1"), (2, "--npn-list=h2c")] {
        let load = ["-n", "2000", "-c", "20", "-m", "10", version, &address];
        let Some(told) = output_of("h2load", &load) else {
            return;
        };
        let all = "requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed";
        assert!(told.contains(all), "{told}");
        let hits = request(&service, "GET /", "");
        assert!(
            hits.ends_with(&format!("\r\n{} hits\n", count * 2001)),
            "{hits}"
        );
    }
}

#[test]
fn a_browser_shows_it() {
    let service = Program::start("axum");
    let page = format!("http://{}/", service.address);
    let profile = tempfile::tempdir().expect("a folder");
    let profile = format!("--user-data-dir={}", profile.path().display());
    let alone = "--headless --no-sandbox --disable-gpu --no-first-run --no-proxy-server \
                 --disable-background-networking --disable-component-update --disable-sync \
                 --disable-dev-shm-usage --disable-quic --dump-dom";
    let mut args: Vec<_> = alone.split_whitespace().collect();
    args.extend([&*profile, &page]);
    if let Some(dom) = output_of("chromium", &args) {
        assert!(dom.contains(" hits\n"), "{dom}");
    }
}
