//! Messages that go through a node, byte by byte.

use super::raw::{PING, PONG, QUERY, QUERY_HIT, ROUTE_TABLE, Raw, Said, VENDOR};
use super::{end, folder, node, options, runtime, sharing, until};
use crate::dissector::dissected;

/// A hit with one result, from nobody.
fn hit(number: u8) -> Said {
    let mut payload = vec![1];
    payload.extend(6346_u16.to_le_bytes());
    payload.extend([192, 168, 0, 9]);
    payload.extend(1000_u32.to_le_bytes());
    payload.extend(1_u32.to_le_bytes());
    payload.extend(42_u32.to_le_bytes());
    payload.extend(b"free song.ogg\0\0");
    payload.extend([0x77; 16]);
    Said::new(QUERY_HIT, number, 3, &payload)
}

#[test]
fn queries_go_on_once_and_hits_go_back() {
    let rt = runtime();
    let node = node(&rt, options());
    let address = node.address();
    let mut peers = [
        Raw::ultrapeer(address),
        Raw::deflated(address),
        Raw::legacy(address),
        Raw::ultrapeer(address),
    ];
    for peer in &mut peers {
        peer.settle();
    }
    let [asks, deflated, legacy, other] = &mut peers;
    asks.send(&Said::query(20, 5, "free song"));
    asks.send(&Said::query(20, 5, "free song"));
    asks.send(&Said::query(21, 255, "far away"));
    for peer in [&mut *deflated, legacy, other] {
        let said = peer.next_of(QUERY);
        assert_eq!((said.guid, said.ttl, said.hops), ([20; 16], 4, 1));
        assert_eq!(said.payload, b"\x80\0free song\0");
        // More hops than anybody allows are cut.
        let said = peer.next_of(QUERY);
        assert_eq!((said.guid, said.ttl, said.hops), ([21; 16], 6, 1));
    }
    // Another way round it comes again.
    other.send(&Said::query(20, 4, "free song"));
    deflated.send(&hit(20));
    legacy.send(&hit(20));
    for _ in 0..2 {
        let said = asks.next_of(QUERY_HIT);
        assert_eq!((said.guid, said.ttl, said.hops), ([20; 16], 2, 1));
        assert_eq!(said.payload, hit(20).payload);
    }
    other.send(&hit(99));
    let before = other.settle();
    assert!(
        before.iter().all(|said| said.kind != QUERY_HIT),
        "{before:?}"
    );
    let stats = node.stats();
    assert_eq!(
        (stats.dropped("duplicate"), stats.dropped("no_route")),
        (2, 1)
    );
    for (kind, received, sent) in [("query", 4, 6), ("query_hit", 3, 2)] {
        assert_eq!(
            (stats.received(kind), stats.sent(kind)),
            (received, sent),
            "{kind}"
        );
    }
    let text = stats.to_prometheus();
    let line = "\nmely_gnutella_dropped_messages_total{reason=\"duplicate\"} 2\n";
    assert!(text.contains(line), "{text}");
    let metrics = rt.metrics();
    assert!(
        metrics
            .handler("GnutellaRoute")
            .is_some_and(|route| route.events >= 7)
    );
    assert!(
        metrics
            .handler("GnutellaSend")
            .is_some_and(|send| send.events >= 4)
    );
    end(node, rt);
}

#[test]
fn leaves_are_asked_for_what_they_have() {
    let rt = runtime();
    let node = node(&rt, options());
    let mut leaves = [Raw::leaf(node.address()), Raw::leaf(node.address())];
    leaves[0].send_table(&["free", "song"]);
    leaves[1].send_table(&["something"]);
    for leaf in &mut leaves {
        leaf.settle();
    }
    let mut asks = Raw::ultrapeer(node.address());
    asks.send(&Said::query(20, 1, "free song"));
    asks.settle();
    let said = leaves[0].next_of(QUERY);
    assert_eq!((said.guid, said.hops), ([20; 16], 1));
    let before = leaves[1].settle();
    assert!(before.iter().all(|said| said.kind != QUERY), "{before:?}");
    // "Hops Flow": no queries any more.
    leaves[0].send(&Said::new(VENDOR, 30, 1, b"BEAR\x04\0\x01\0\0"));
    leaves[0].settle();
    asks.send(&Said::query(21, 1, "free song"));
    asks.settle();
    let before = leaves[0].settle();
    assert!(before.iter().all(|said| said.kind != QUERY), "{before:?}");
    // What no vendor has said is passed over, and so is a kind that nobody knows.
    leaves[0].send(&Said::new(VENDOR, 31, 1, b"XYZW\x99\0\x01\0hello"));
    leaves[0].send(&Said::new(0x55, 32, 1, b"hello"));
    leaves[0].settle();
    assert_eq!(node.stats().dropped("unknown_type"), 1);
    end(node, rt);
}

#[test]
fn pongs_are_remembered_for_others() {
    let rt = runtime();
    let node = node(&rt, options());
    let mut tells = Raw::ultrapeer(node.address());
    let ping = tells.next_of(PING);
    let mut payload = 6346_u16.to_le_bytes().to_vec();
    payload.extend([10, 1, 2, 3]);
    payload.extend([0; 8]);
    tells.send(&Said {
        guid: ping.guid,
        ..Said::new(PONG, 0, 1, &payload)
    });
    tells.settle();
    let mut asks = Raw::ultrapeer(node.address());
    asks.send(&Said::new(PING, 40, 7, b""));
    let mut told = Vec::new();
    while told.len() < 2 {
        let said = asks.next_of(PONG);
        assert_eq!(said.guid, [40; 16]);
        told.push(said.payload[..6].to_vec());
    }
    assert!(told.contains(&payload[..6].to_vec()), "{told:?}");
    let port = node.address().port().to_le_bytes();
    assert!(told.contains(&[&port[..], &[127, 0, 0, 1]].concat()));
    // It is a host to connect to now, too.
    until("the host is known", || node.stats().hosts >= 1);
    end(node, rt);
}

#[test]
fn tables_go_to_ultrapeers_that_take_them() {
    let files = folder(&[("free song.ogg", b"la")]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), options());
    let fields = "X-Ultrapeer: True\r\nX-Ultrapeer-Query-Routing: 0.1\r\n";
    let (mut takes, answer) = Raw::meet_with(node.address(), fields);
    assert!(
        answer.contains("X-Ultrapeer-Query-Routing: 0.1\r\n"),
        "{answer}"
    );
    let reset = takes.next_of(ROUTE_TABLE);
    // 131 072 slots.
    assert_eq!(reset.payload[..5], [0, 0, 0, 2, 0]);
    assert_eq!(takes.next_of(ROUTE_TABLE).payload[0], 1);
    // A leaf has something more: there is another patch.
    let mut leaf = Raw::leaf(node.address());
    leaf.send_table(&["another"]);
    assert_eq!(takes.next_of(ROUTE_TABLE).payload[0], 1);
    end(node, rt);
}

#[test]
fn wireshark_reads_all_that_a_node_sends() {
    let files = folder(&[("free song.ogg", b"la la la")]);
    let rt = runtime();
    let node = sharing(&rt, files.path(), options());
    let mut peer = Raw::ultrapeer(node.address());
    let mut other = Raw::deflated(node.address());
    other.settle();
    other.send(&Said::query(21, 3, "what others seek"));
    peer.next_of(QUERY);
    peer.send(&Said::query(20, 3, "free song"));
    peer.next_of(QUERY_HIT);
    peer.settle();
    let port = node.address().port();
    end(node, rt);
    peer.rest();
    let fields = [
        "gnutella.header.payload",
        "gnutella.header.ttl",
        "gnutella.query.search",
        "gnutella.queryhit.hit.name",
        "gnutella.queryhit.hit.size",
        "gnutella.queryhit.port",
        "gnutella.pong.port",
        "gnutella.pong.files",
    ];
    // One packet for all messages, as they came.
    if let Some(told) = dissected(&[&peer.seen], &fields) {
        let told: Vec<_> = told[0].split('|').collect();
        let kinds: Vec<_> = told[0].split(',').collect();
        for kind in ["0", "128", "129", "1", "2"] {
            assert!(kinds.contains(&kind), "{told:?}");
        }
        let port = port.to_string();
        let expected = ["what others seek", "free song.ogg", "8", &port, &port, "1"];
        assert_eq!(told[2..], expected);
    }
}
