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
            eprintln!("not tested: there is no curl");
            return;
        };
        assert_eq!(told, format!("{} hits\n{expected}", count + 1));
    }
}
