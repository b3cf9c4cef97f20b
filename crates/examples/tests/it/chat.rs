//! `chat`, and the same on Tokio.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Program, WAIT, expect};

const CHATS: [&str; 2] = ["chat", "chat-tokio"];

/// So many clients, each of which hears the others, and has heard all that was said so far.
fn clients(chat: &Program, count: usize) -> Vec<TcpStream> {
    let mut clients = vec![chat.connect()];
    for number in 1..count {
        let newest = chat.connect();
        // What is said before it has joined it does not hear.
        let limit = |limit| newest.set_read_timeout(Some(limit)).expect("a limit");
        limit(Duration::from_millis(50));
        let is_heard = (0..600).any(|_| {
            clients[0].write_all(b"anybody?\n").expect("it reads");
            let heard = newest.peek(&mut [0]);
            heard
                .inspect_err(|error| assert_eq!(error.kind(), ErrorKind::WouldBlock))
                .is_ok()
        });
        assert!(is_heard, "nobody hears");
        limit(WAIT);
        clients.push(newest);
        let mark = format!("now there are {number}\n");
        clients[0].write_all(mark.as_bytes()).expect("it reads");
        clients[1..]
            .iter_mut()
            .for_each(|client| skip_to(client, mark.as_bytes()));
    }
    clients
}

fn skip_to(client: &mut TcpStream, mark: &[u8]) {
    let mut heard = Vec::new();
    while !heard.ends_with(mark) {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("more is said");
        heard.extend(byte);
    }
}

#[test]
fn a_line_is_delivered_to_all_others_in_the_order_of_each_sender() {
    for name in CHATS {
        let chat = Program::start(name);
        let mut clients = clients(&chat, 9);
        for round in 0..50 {
            let mut lines = Vec::new();
            for n in 0..20 {
                lines.extend(format!("{round} {n}\n").bytes());
            }
            clients[round % 9].write_all(&lines).expect("it reads");
            for (_, client) in clients
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| *at != round % 9)
            {
                expect(client, &lines);
            }
        }
        // Nobody has heard itself.
        clients[0].write_all(b"last\n").expect("it reads");
        expect(&mut clients[1], b"last\n");
        clients[1].write_all(b"answer\n").expect("it reads");
        expect(&mut clients[0], b"answer\n");
    }
}

#[test]
fn a_line_may_come_in_pieces_and_have_any_bytes() {
    for name in CHATS {
        let chat = Program::start(name);
        let mut clients = clients(&chat, 2);
        for byte in [&b"\xff"[..], b"\0", b"\r", b"\n\nrest"] {
            clients[0].write_all(byte).expect("it reads");
        }
        expect(&mut clients[1], b"\xff\0\r\n\n");
        clients[0].write_all(b"\n").expect("it reads");
        expect(&mut clients[1], b"rest\n");
    }
}

#[test]
fn a_line_that_is_too_long_is_told_and_its_client_closed() {
    for name in CHATS {
        let chat = Program::start(name);
        let mut clients = clients(&chat, 2);
        let longest = [&[b'a'; 4096][..], b"\n"].concat();
        clients[0].write_all(&longest).expect("it reads");
        expect(&mut clients[1], &longest);
        clients[0].write_all(&[b'b'; 50_000]).expect("it reads");
        let mut told = String::new();
        clients[0].read_to_string(&mut told).expect("it is closed");
        assert_eq!(told, "this line is too long\n", "{name}");
    }
}

#[test]
fn a_client_that_does_not_read_is_closed_and_costs_no_memory() {
    for name in CHATS {
        let chat = Program::start(name);
        let mut clients = clients(&chat, 3);
        let mut slow = clients.remove(1);
        let line = [&[b'x'; 4000][..], b"\n"].concat();
        let lines = line.repeat(16);
        let mut said = 0;
        while said < 32 << 20 {
            clients[0].write_all(&lines).expect("it reads");
            expect(&mut clients[1], &lines);
            said += lines.len();
        }
        let resident = chat.resident_bytes();
        assert!(resident < 24 << 20, "{name} has {resident} bytes");
        let (mut heard, mut bytes) = (0, vec![0; 1 << 16]);
        while let Ok(count @ 1..) = slow.read(&mut bytes) {
            heard += count;
        }
        assert!(heard < said, "{name}: it was not closed");
    }
}

/// Clients that all hear each other, the last few of which keep little for later.
fn crowd(chat: &Program, count: usize, small: usize) -> Vec<TcpStream> {
    let mut talker = chat.connect();
    let mut clients: Vec<_> = (1..count - small).map(|_| chat.connect()).collect();
    clients.extend((0..small).map(|_| chat.connect_small()));
    // Who hears a line has joined.
    let all_hear = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !all_hear.load(Relaxed) {
                talker.write_all(b"anybody?\n").expect("it reads");
                thread::sleep(Duration::from_millis(20));
            }
        });
        let heard: Vec<_> = clients.iter().map(|client| client.peek(&mut [0])).collect();
        all_hear.store(true, Relaxed);
        assert!(heard.iter().all(Result::is_ok), "somebody hears nothing");
    });
    talker.write_all(b"all are here\n").expect("it reads");
    for client in &mut clients[..count - small - 1] {
        let (mut heard, mut bytes) = (Vec::new(), [0; 1000]);
        while !heard.ends_with(b"all are here\n") {
            let count = client.read(&mut bytes).expect("more is said");
            assert!(count > 0, "it is closed");
            heard.extend_from_slice(&bytes[..count]);
        }
    }
    clients.insert(0, talker);
    clients
}

#[test]
fn of_500_clients_three_read_nothing_and_sigterm_closes_all() {
    for name in CHATS {
        let mut chat = Program::start(name);
        let mut clients = crowd(&chat, 500, 3);
        let mut deaf = clients.split_off(497);
        let before = chat.resident_bytes();
        let lines = [&[b'x'; 999][..], b"\n"].concat().repeat(32);
        let mut said = 0;
        while said < 4 << 20 {
            clients[0].write_all(&lines).expect("it reads");
            for client in &mut clients[1..] {
                expect(client, &lines);
            }
            said += lines.len();
        }
        let after = chat.resident_bytes();
        // What 496 clients had to be told at a time, in two halves of a buffer.
        let bound = before + 2 * 496 * lines.len();
        assert!(after < bound, "{name} had {before} bytes, and has {after}");
        for deaf in &mut deaf {
            let (mut heard, mut bytes) = (0, [0; 1 << 16]);
            while let Ok(count @ 1..) = deaf.read(&mut bytes) {
                heard += count;
            }
            assert!(heard < said, "{name}: it was not closed");
        }
        let began = Instant::now();
        assert_eq!(chat.end(Signal::TERM).code(), Some(0), "{name}");
        eprintln!("{name} with 497 clients ended in {:?}", began.elapsed());
        for client in &mut clients {
            assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
        }
    }
}
