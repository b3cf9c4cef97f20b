//! `echo`.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;

use crate::support::{Program, ask, expect};

#[test]
fn all_comes_back_to_whom_it_came_from() {
    let echo = Program::start("echo");
    let (mut one, mut other) = (echo.connect(), echo.connect());
    one.write_all(b"one").expect("it reads");
    ask(&mut other, b"other", b"other");
    expect(&mut one, b"one");
}

#[test]
fn much_comes_back_whole() {
    let echo = Program::start("echo");
    let much: Vec<u8> = (0..1 << 20)
        .map(|n: u32| n.to_le_bytes()[n as usize % 3])
        .collect();
    let mut reads = echo.connect();
    let mut writes = reads.try_clone().expect("a descriptor");
    let sent = much.clone();
    let writer = thread::spawn(move || {
        writes.write_all(&sent).expect("it reads");
        writes.shutdown(Shutdown::Write).expect("it is connected");
    });
    let mut back = Vec::new();
    reads.read_to_end(&mut back).expect("it ends");
    writer.join().expect("no panic");
    assert!(back == much, "{} of {} bytes", back.len(), much.len());
}
