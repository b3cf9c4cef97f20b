//! `limiter`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::support::Program;

struct Client(BufReader<TcpStream>);

impl Client {
    fn ask(&mut self, key: &str) -> String {
        let question = format!("{key}\n");
        self.0
            .get_mut()
            .write_all(question.as_bytes())
            .expect("it reads");
        let mut answer = String::new();
        self.0.read_line(&mut answer).expect("it answers");
        answer.trim().to_owned()
    }
}

#[test]
fn each_key_has_so_many_tokens_whoever_asks() {
    let limiter = Program::start("limiter");
    let mut clients = [(); 2].map(|()| Client(BufReader::new(limiter.connect())));
    assert_eq!(clients[0].ask("fresh"), "ok 9");
    let answers: Vec<_> = (0..100).map(|n| clients[n % 2].ask("busy")).collect();
    assert_eq!(answers[0], "ok 9");
    let refused = answers
        .iter()
        .find_map(|answer| answer.strip_prefix("wait "));
    let wait = refused.expect("100 at once are too many");
    let wait = wait.parse().expect("milliseconds");
    assert!((1..=101).contains(&wait), "{wait}");
    thread::sleep(Duration::from_millis(wait));
    assert!((0..100).any(|_| clients[0].ask("busy").starts_with("ok ")));
    assert_eq!(clients[1].ask("other"), "ok 9");
}

#[test]
fn a_key_that_is_too_long_is_told() {
    let limiter = Program::start("limiter");
    let mut client = Client(BufReader::new(limiter.connect()));
    assert_eq!(client.ask(&"k".repeat(1000)), "error: the key is too long");
}
