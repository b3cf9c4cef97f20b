//! `timers`.

use std::io::{BufRead, BufReader, Write};

use crate::support::Program;

#[test]
fn a_session_is_told_its_age_put_off_and_timed_out() {
    let mut timers = Program::start("timers");
    let mut client = timers.connect();
    let mut lines = BufReader::new(client.try_clone().expect("a descriptor")).lines();
    client.write_all(b"here\n").expect("it reads");
    let mut heard = Vec::new();
    while !heard.iter().any(|line| line == "timed out") {
        assert!(heard.len() < 1000);
        heard.push(lines.next().expect("more comes").expect("text"));
    }
    assert!(heard.iter().any(|line| line == "put off"), "{heard:?}");
    assert!(
        heard.iter().any(|line| line.ends_with(" ms old")),
        "{heard:?}"
    );
    assert!(lines.next().is_none(), "it is closed");

    let mut printed = String::new();
    while !(printed.contains("a session is over") && printed.contains("0 sessions")) {
        assert!(printed.len() < 10_000, "{printed}");
        let count = timers.stdout.read_line(&mut printed).expect("it prints");
        assert!(count > 0, "{printed}");
    }
    assert!(printed.contains("1 sessions"), "{printed}");
}
