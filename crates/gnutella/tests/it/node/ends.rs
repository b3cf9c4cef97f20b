//! The end of a node, while others are in the middle of something.

use super::raw::{BYE, Raw, Said, connect};
use super::{PATIENCE, end, folder, options, runtime, sharing};
use std::io::{Read, Write};

#[test]
fn a_node_says_bye() {
    let rt = runtime();
    let node = sharing(&rt, folder(&[]).path(), options());
    let mut peers = [
        Raw::ultrapeer(node.address()),
        Raw::leaf(node.address()),
        Raw::deflated(node.address()),
        Raw::legacy(node.address()),
    ];
    for peer in &mut peers {
        peer.settle();
    }
    end(node, rt);
    for peer in &mut peers {
        let said = peer.rest();
        let bye = said.last().expect("a bye");
        assert_eq!(
            (bye.kind, bye.ttl, &bye.payload[..2]),
            (BYE, 1, &[200, 0][..])
        );
    }
}

#[test]
fn a_node_hears_bye() {
    let rt = runtime();
    let node = sharing(&rt, folder(&[]).path(), options());
    let mut peer = Raw::ultrapeer(node.address());
    peer.settle();
    peer.send(&Said::new(BYE, 2, 1, b"\xc8\0so long\0"));
    assert!(peer.rest().iter().all(|said| said.kind != BYE));
    end(node, rt);
}

#[test]
fn a_node_ends_in_the_middle_of_everything() {
    let content = vec![7; 8 << 20];
    let files = folder(&[("large", &content), ("free song", b"la")]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), options());
    let address = node.address();
    let mut open = Vec::new();
    for beginning in [
        &b""[..],
        b"GNUTELLA CONNECT/0.6\r\nX-Ul",
        b"GNUTELLA CONNECT/0.6\r\n\r\n",
        b"GET /get/1/large HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /get/1/la",
    ] {
        let mut stream = connect(address);
        stream.write_all(beginning).unwrap();
        open.push(stream);
    }
    let mut silent = Raw::ultrapeer(address);
    silent.settle();
    let mut half = Raw::deflated(address);
    half.settle();
    half.stream.write_all(b"\x12").unwrap();
    // One floods until it is closed.
    let flood = std::thread::spawn(move || {
        let mut peer = Raw::ultrapeer(address);
        for _ in 0..1_000_000 {
            let said = Said::query(0, 3, "free song").unlike_others();
            if peer.send_bytes(&said.bytes()).is_err() {
                return;
            }
        }
        panic!("it was never closed");
    });
    super::until("it floods", || node.stats().received("query") > 100);
    assert_eq!(node.shutdown(PATIENCE).unwrap(), 0);
    rt.shutdown(PATIENCE).unwrap();
    flood.join().unwrap();
    for mut stream in open {
        let mut rest = Vec::new();
        // The end, or a reset: nobody is left waiting.
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(silent.rest().iter().any(|said| said.kind == BYE));
}
