//! What Wireshark's dissector reads in the messages that are written here.

use crate::capture::Capture;
use mely_gnutella::{
    Ggep, Guid, HitFlags, HitResult, HitTrailer, Message, Ping, Pong, Push, Query, QueryFlags,
    QueryHit,
};
use std::process::{Command, Stdio};

const GUID: Guid = Guid([0, 1, 2, 3, 4, 5, 6, 7, 0xff, 9, 10, 11, 12, 13, 14, 0]);
const GUID_TEXT: &str = "0001020304050607ff090a0b0c0d0e00";
const SERVENT: Guid = Guid([0x99; 16]);

fn pong() -> Message<'static> {
    Message::Pong(Pong {
        address: "192.0.2.7:6346".parse().unwrap(),
        files: 12,
        kbytes: 34_567,
        extensions: b"\xc3\x82DU\x41\x3c",
    })
}

fn query() -> Message<'static> {
    Message::Query(Query {
        flags: QueryFlags::default().with(QueryFlags::FIREWALLED),
        text: b"free song",
        extensions: b"urn:",
    })
}

fn push() -> Message<'static> {
    Message::Push(Push {
        servent: SERVENT,
        index: 77,
        address: "192.0.2.8:6347".parse().unwrap(),
        extensions: b"",
    })
}

fn hit(check: impl FnOnce(&Message<'_>)) {
    let mut block = Ggep::default();
    block.push(b"BH", b"").unwrap();
    let mut private = Vec::new();
    block.write(false, &mut private);
    let flags = HitFlags {
        push: Some(true),
        ggep: Some(true),
        ..HitFlags::default()
    };
    let urn = b"urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    check(&Message::QueryHit(QueryHit {
        address: "192.0.2.9:6348".parse().unwrap(),
        speed_kbits: 1000,
        results: vec![
            HitResult {
                index: 1,
                bytes: 42,
                name: b"free song.ogg",
                extensions: urn,
            },
            HitResult {
                index: 2,
                bytes: 43,
                name: b"another.ogg",
                extensions: b"",
            },
        ],
        trailer: Some(HitTrailer {
            vendor: *b"MELY",
            open: &flags.bytes(),
            private: &private,
        }),
        servent: SERVENT,
    }));
}

fn bytes(message: &Message<'_>, ttl: u8, hops: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(GUID, ttl, hops, &mut bytes);
    bytes
}

/// The lines that the dissector prints of these packets, a field each; `None` where it is not
/// installed, which is told.
pub(crate) fn dissected(packets: &[&[u8]], fields: &[&str]) -> Option<Vec<String>> {
    let mut capture = Capture::new();
    packets.iter().for_each(|packet| capture.packet(packet));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gnutella.pcap");
    std::fs::write(&path, capture.file()).unwrap();
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&path)
        .args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        eprintln!("not tested: tshark is not installed (`cargo xtask packages` installs it)");
        return None;
    };
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complained}");
    let told = String::from_utf8_lossy(&output.stdout);
    Some(told.lines().map(|line| line.replace(':', "")).collect())
}

#[track_caller]
fn check(packets: &[&[u8]], fields: &[&str], expected: &[String]) {
    if let Some(told) = dissected(packets, fields) {
        assert_eq!(told, expected);
    }
}

const HEADER: [&str; 5] = [
    "gnutella.header.id",
    "gnutella.header.payload",
    "gnutella.header.ttl",
    "gnutella.header.hops",
    "gnutella.header.size",
];

#[test]
fn headers() {
    let ping = Message::Ping(Ping::default());
    let packets = [
        bytes(&ping, 7, 0),
        bytes(&pong(), 3, 4),
        bytes(&query(), 255, 255),
        bytes(&push(), 1, 6),
    ];
    let expected = [
        (0, 7, 0, 0),
        (1, 3, 4, 20),
        (128, 255, 255, 17),
        (64, 1, 6, 26),
    ]
    .map(|(kind, ttl, hops, size)| format!("{GUID_TEXT}|{kind}|{ttl}|{hops}|{size}"));
    let packets: Vec<_> = packets.iter().map(|packet| &packet[..]).collect();
    check(&packets, &HEADER, &expected);
}

#[test]
fn pongs() {
    let fields = [
        "gnutella.pong.ip",
        "gnutella.pong.port",
        "gnutella.pong.files",
        "gnutella.pong.kbytes",
    ];
    let expected = ["192.0.2.7|6346|12|34567".to_owned()];
    check(&[&bytes(&pong(), 1, 0)], &fields, &expected);
}

#[test]
fn queries() {
    let fields = ["gnutella.query.min_speed", "gnutella.query.search"];
    // The dissector takes the flags for a speed, whose low byte is first.
    let expected = ["192|free song".to_owned()];
    check(&[&bytes(&query(), 1, 0)], &fields, &expected);
}

#[test]
fn pushes() {
    let fields = [
        "gnutella.push.servent_id",
        "gnutella.push.index",
        "gnutella.push.ip",
        "gnutella.push.port",
    ];
    let expected = [format!("{}|77|192.0.2.8|6347", SERVENT)];
    check(&[&bytes(&push(), 1, 0)], &fields, &expected);
}

#[test]
fn hits() {
    let fields = [
        "gnutella.queryhit.count",
        "gnutella.queryhit.port",
        "gnutella.queryhit.ip",
        "gnutella.queryhit.speed",
        "gnutella.queryhit.hit.index",
        "gnutella.queryhit.hit.size",
        "gnutella.queryhit.hit.name",
        "gnutella.queryhit.servent_id",
    ];
    let expected = format!("2|6348|192.0.2.9|1000|1,2|42,43|free song.ogg,another.ogg|{SERVENT}");
    hit(|hit| check(&[&bytes(hit, 1, 0)], &fields, &[expected]));
}

#[test]
fn messages_that_share_packets() {
    let both = [bytes(&query(), 5, 2), bytes(&pong(), 6, 1)].concat();
    let (first, second) = both.split_at(30);
    let fields = [&HEADER[..], &["gnutella.query.search", "gnutella.pong.ip"]].concat();
    let expected = format!("{GUID_TEXT},{GUID_TEXT}|128,1|5,6|2,1|17,20|free song|192.0.2.7");
    // The first packet has no message to its end.
    let nothing = "|".repeat(6);
    check(&[first, second], &fields, &[nothing, expected]);
}

/// The dissector does tell one byte from another: what is broken on purpose is told.
#[test]
fn a_planted_error_is_seen() {
    let mut planted = bytes(&pong(), 1, 0);
    planted.swap(23, 24);
    if let Some(told) = dissected(&[&planted], &["gnutella.pong.port"]) {
        assert_eq!(told, ["51736"]);
    }
}
