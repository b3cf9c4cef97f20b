//! Peers that mean harm: each loses its own connection, and nothing else.

use super::raw::{BYE, QUERY_HIT, Raw, Said, connect, head};
use super::{end, folder, node, options, runtime, sharing, until};
use mely_async::WhenFull;
use mely_gnutella::node::{Node, NodeOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Waits for the end of a stream, in whatever way it comes.
fn ended(stream: &mut TcpStream) {
    let mut bytes = vec![0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(1..) => {}
            Ok(0) => return,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
            Err(error) => panic!("it is not closed: {error}"),
        }
    }
}

/// Somebody who means well is served.
fn works(node: &Node) {
    Raw::ultrapeer(node.address()).settle();
}

fn in_a_hurry() -> NodeOptions {
    let mut options = options();
    options.node.handshake_time = Duration::from_millis(50);
    options.node.upload_idle_time = Duration::from_millis(50);
    options
}

#[test]
fn who_never_ends_the_handshake_is_closed() {
    let rt = runtime();
    let node = node(&rt, in_a_hurry());
    let beginnings: [&[u8]; 5] = [
        b"",
        b"G",
        b"GNUTELLA CONNECT/0.6\r\n",
        b"GNUTELLA CONNECT/0.6\r\nX-Ultrapeer: True\r\n\r\n",
        b"GET /get/1/a HTTP/1.1\r\n",
    ];
    for beginning in beginnings {
        let mut stream = connect(node.address());
        stream.write_all(beginning).unwrap();
        ended(&mut stream);
    }
    assert_eq!(node.stats().failed_handshakes, 4);
    // The place of the one that was accepted is free again.
    assert_eq!(node.stats().ultrapeers, 0);
    end(node, rt);
}

#[test]
fn who_sends_a_request_byte_by_byte_is_closed() {
    let rt = runtime();
    let node = node(&rt, in_a_hurry());
    let mut stream = connect(node.address());
    stream.write_all(b"GET /").unwrap();
    // As many as no head has: longer than anybody waits for one.
    let mut left = 8000;
    while left > 0 && stream.write_all(b"a").is_ok() {
        std::thread::sleep(Duration::from_millis(1));
        left -= 1;
    }
    assert!(left > 0, "it was never closed");
    ended(&mut stream);
    end(node, rt);
}

#[test]
fn what_is_no_protocol_is_closed() {
    let rt = runtime();
    let node = node(&rt, options());
    for nonsense in [
        &b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"[..],
        b"hello there\r\n\r\n",
        b"GNUTELLA CONNECT/9.9\r\n\r\n",
        b"GNUTELLAGNUTELLA\r\n\r\n",
        b"GIV 1:00/x\n\n\n\n\n\n",
        b"GNUTELLA CONNECT/0.6\r\nno field\r\n\r\n",
        &[0; 100],
    ] {
        let mut stream = connect(node.address());
        stream.write_all(nonsense).unwrap();
        ended(&mut stream);
    }
    assert_eq!(node.stats().failed_handshakes, 7);
    works(&node);
    end(node, rt);
}

#[test]
fn a_header_of_16_mebibytes_is_not_read_to_its_end() {
    let rt = runtime();
    let node = node(&rt, options());
    let line = vec![b'a'; 1 << 20];
    for begin in ["GNUTELLA CONNECT/0.6\r\nUser-Agent: ", "GET /"] {
        let mut stream = connect(node.address());
        stream.write_all(begin.as_bytes()).unwrap();
        let mut sent = 0;
        while sent < 16 && stream.write_all(&line).is_ok() {
            sent += 1;
        }
        ended(&mut stream);
    }
    assert_eq!(node.stats().failed_handshakes, 1);
    works(&node);
    end(node, rt);
}

fn many_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..60 {
        let name = format!("free song {number} {}.ogg", "x".repeat(150));
        std::fs::write(folder.path().join(name), "la").unwrap();
    }
    folder
}

/// Asks as long as it can, or so often.
fn flood(peer: &mut Raw, times: u32) {
    for _ in 0..times {
        let said = Said::query(0, 3, "free song").unlike_others();
        if peer.send_bytes(&said.bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn who_floods_and_does_not_read_is_closed() {
    let files = many_files();
    let rt = runtime();
    let mut options = options();
    options.node.queue_bytes = 64 * 1024;
    let node = sharing(&rt, files.path(), options);
    let mut reads = Raw::ultrapeer(node.address());
    for mut floods in [Raw::ultrapeer(node.address()), Raw::legacy(node.address())] {
        // 15 kB each way back: more than all buffers between the two.
        flood(&mut floods, 20_000);
        ended(&mut floods.stream);
    }
    until("both are closed", || node.stats().clogged == 2);
    reads.settle();
    end(node, rt);
}

#[test]
fn who_floods_and_does_not_read_may_miss_messages_instead() {
    let files = many_files();
    let rt = runtime();
    let mut options = options();
    options.node.queue_bytes = 64 * 1024;
    options.node.when_full = WhenFull::Shed;
    let node = sharing(&rt, files.path(), options);
    for mut floods in [
        Raw::ultrapeer(node.address()),
        Raw::deflated(node.address()),
    ] {
        let shed = node.stats().shed;
        until("something is shed", || {
            flood(&mut floods, 100);
            node.stats().shed > shed
        });
        // It reads after all, and what comes makes sense.
        let hit = floods.next_of(QUERY_HIT);
        assert_eq!(hit.payload[0], 60);
        until("there is room again", || {
            floods.send(&Said::new(super::raw::PING, 0, 1, b"").unlike_others());
            let said = floods.next().expect("messages");
            said.kind == super::raw::PONG
        });
    }
    assert_eq!(node.stats().clogged, 0);
    end(node, rt);
}

#[test]
fn who_goes_in_the_middle_of_a_message_leaves_nothing() {
    let rt = runtime();
    let node = node(&rt, options());
    let whole = Said::query(20, 3, "free song").bytes();
    for count in [1, 22, 23, whole.len() - 1] {
        let mut peer = Raw::ultrapeer(node.address());
        peer.settle();
        peer.stream.write_all(&whole[..count]).unwrap();
    }
    until("all are gone", || node.stats().ultrapeers == 0);
    assert_eq!(node.stats().received("query"), 0);
    works(&node);
    end(node, rt);
}

#[test]
fn messages_that_are_too_long_are_told_so() {
    let rt = runtime();
    let node = node(&rt, options());
    let mut peer = Raw::ultrapeer(node.address());
    let mut bytes = Said::query(20, 3, "x").bytes();
    bytes[19..23].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    peer.stream.write_all(&bytes).unwrap();
    let bye = peer.next_of(BYE);
    assert_eq!(bye.payload[..2], 413_u16.to_le_bytes());
    assert_eq!(peer.rest(), []);
    // One that cannot be read is dropped alone.
    let mut peer = Raw::ultrapeer(node.address());
    peer.send(&Said::new(super::raw::QUERY, 21, 3, b"\x80\0no end"));
    peer.send(&Said::new(super::raw::PUSH, 22, 3, b"short"));
    peer.settle();
    assert_eq!(
        (
            node.stats().broken_protocol,
            node.stats().dropped("malformed")
        ),
        (1, 2)
    );
    end(node, rt);
}

#[test]
fn what_inflates_without_end_is_closed() {
    let rt = runtime();
    let node = node(&rt, options());
    let mut peer = Raw::deflated(node.address());
    // Pings without payload, all alike, and zeros: a thousand times smaller than they are.
    let zeros = vec![0; 4 << 20];
    let mut sent = 0;
    while sent < 64 && peer.send_bytes(&zeros).is_ok() {
        sent += 1;
    }
    ended(&mut peer.stream);
    until("it is told", || node.stats().broken_protocol == 1);
    // And what is no stream at all.
    let mut peer = Raw::deflated(node.address());
    peer.stream.write_all(&[0xff; 64]).unwrap();
    ended(&mut peer.stream);
    until("it is told", || node.stats().broken_protocol == 2);
    works(&node);
    end(node, rt);
}

#[test]
fn tables_out_of_order_are_closed() {
    let rt = runtime();
    let node = node(&rt, options());
    for payload in [
        &b"\x01\x01\x01\0\x08zzzz"[..],
        b"\0\xff\xff\xff\x7f\x07",
        b"\x09",
    ] {
        let mut peer = Raw::leaf(node.address());
        peer.send(&Said::new(super::raw::ROUTE_TABLE, 1, 1, payload));
        peer.next_of(BYE);
    }
    assert_eq!(node.stats().broken_protocol, 3);
    end(node, rt);
}

#[test]
fn who_comes_too_late_is_refused_with_hosts() {
    let rt = runtime();
    let mut options = options();
    (options.node.max_leaves, options.node.max_ultrapeers) = (1, 1);
    let node = node(&rt, options);
    let fields = "X-Ultrapeer: True\r\nListen-IP: 10.1.2.3:6346\r\n";
    let (mut first, _) = Raw::meet_with(node.address(), fields);
    first.settle();
    let mut leaf = Raw::leaf(node.address());
    leaf.settle();
    for fields in ["X-Ultrapeer: True\r\n", "X-Ultrapeer: False\r\n"] {
        let (mut late, answer) = Raw::meet_with(node.address(), fields);
        assert!(answer.starts_with("GNUTELLA/0.6 503 "), "{answer}");
        assert!(
            answer.contains("\r\nX-Try-Ultrapeers: 10.1.2.3:6346"),
            "{answer}"
        );
        ended(&mut late.stream);
    }
    // In version 0.4 nothing can be said.
    let mut stream = connect(node.address());
    stream.write_all(b"GNUTELLA CONNECT/0.4\n\n").unwrap();
    assert_eq!(head(&mut stream), "");
    assert_eq!(node.stats().refused, 3);
    // Who goes makes room.
    drop(leaf);
    until("room", || {
        let (_, answer) = Raw::meet_with(node.address(), "X-Ultrapeer: False\r\n");
        answer.starts_with("GNUTELLA/0.6 200 ")
    });
    end(node, rt);
}

#[test]
fn downloads_that_are_given_up_leave_nothing() {
    let content = vec![7; 4 << 20];
    let files = folder(&[("large", &content)]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), in_a_hurry());
    for _ in 0..20 {
        let mut stream = connect(node.address());
        stream
            .write_all(b"GET /get/1/large HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    // And one that does not read, nor go.
    let mut stream = connect(node.address());
    stream
        .write_all(b"GET /get/1/large HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    until("it has begun", || node.stats().uploaded_bytes > 0);
    assert!(super::downloads::get(node.address(), "/get/1/large") == content);
    ended(&mut stream);
    end(node, rt);
}
