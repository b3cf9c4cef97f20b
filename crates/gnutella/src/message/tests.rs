use super::*;
use crate::ggep::Ggep;
use crate::guid::Guid;
use proptest::prelude::*;

/// The header of a message that was made one hop away, by hand.
fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x11; 16];
    bytes.extend([kind, 6, 1]);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn parse(bytes: &[u8]) -> Result<Message<'_>, Error> {
    let frame = Frame {
        header: Header::read(bytes).unwrap(),
        payload: &bytes[23..],
    };
    Message::parse(&frame, &Limits::default())
}

/// Reads bytes that were made by hand, and writes them again.
fn known(bytes: &[u8]) -> Message<'_> {
    let message = parse(bytes).unwrap();
    let mut written = Vec::new();
    message.write(Guid([0x11; 16]), 6, 1, &mut written);
    assert_eq!(written, bytes);
    message
}

#[test]
fn a_ping_is_a_header() {
    assert_eq!(
        known(&framed(0x00, b"")),
        Message::Ping(Ping { extensions: b"" })
    );
    let bytes = framed(0x00, b"\xc3\x83SCP\x41\x01");
    let Message::Ping(ping) = known(&bytes) else {
        panic!()
    };
    let block = ping.ggep(&Limits::default()).unwrap().unwrap();
    assert!(block.wants_packed_hosts());
}

#[test]
fn a_pong_has_the_low_byte_of_the_port_first() {
    let payload = b"\xca\x18\xc0\x00\x02\x01\x05\x00\x00\x00\x00\x10\x00\x00\xc3\x82DU\x41\x3c";
    let bytes = framed(0x01, payload);
    let Message::Pong(pong) = known(&bytes) else {
        panic!()
    };
    assert_eq!(pong.address.to_string(), "192.0.2.1:6346");
    assert_eq!((pong.files, pong.kbytes), (5, 4096));
    let block = pong.ggep(&Limits::default()).unwrap().unwrap();
    assert_eq!(block.daily_uptime_s(), Some(60));
}

#[test]
fn a_query_has_the_high_byte_of_its_flags_first() {
    let bytes = framed(0x80, b"\xe0\x00gnutella protocol\0urn:\x1c<xml/>\0");
    let Message::Query(query) = known(&bytes) else {
        panic!()
    };
    assert!(query.flags.has(QueryFlags::FIREWALLED) && query.flags.has(QueryFlags::XML));
    assert!(!query.flags.has(QueryFlags::OUT_OF_BAND));
    assert_eq!(query.text_lossy(), "gnutella protocol");
    assert_eq!(query.extensions(&Limits::default()).unwrap().len(), 2);
    // A speed of old has no flags, whatever its bits.
    assert!(!QueryFlags(0x4000).has(QueryFlags::FIREWALLED));
    assert_eq!(
        QueryFlags::default().with(QueryFlags::XML),
        QueryFlags(0xa000)
    );
}

#[test]
fn a_query_may_end_without_extensions_or_with_an_empty_one() {
    for payload in [&b"\0\0a\0"[..], b"\0\0a\0\0"] {
        let bytes = framed(0x80, payload);
        let Ok(Message::Query(query)) = parse(&bytes) else {
            panic!()
        };
        assert_eq!((query.text, query.extensions), (&b"a"[..], &b""[..]));
    }
    let too_long = framed(0x80, &[&[0, 0][..], &[b'a'; 257], &[0]].concat());
    assert!(matches!(parse(&too_long), Err(Error::TooLong { .. })));
}

#[test]
fn a_hit_has_results_and_a_trailer() {
    let payload = [
        &b"\x02\xca\x18\xc0\x00\x02\x01\xe8\x03\x00\x00"[..],
        b"\x01\x00\x00\x00\x2a\x00\x00\x00a.txt\0urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\0",
        b"\x02\x00\x00\x00\xff\xff\xff\xffb.iso\0\xc3\x82LF\x45\x01\x01\x01\x01\x01\0",
        // The servent is behind a firewall, is not busy, and has GGEP, behind two private bytes.
        b"MELY\x02\x25\x21xy\xc3\x82BH\x40",
        &[0x99; 16],
    ]
    .concat();
    let bytes = framed(0x81, &payload);
    let Message::QueryHit(hit) = known(&bytes) else {
        panic!()
    };
    let limits = Limits::default();
    assert_eq!(hit.address.to_string(), "192.0.2.1:6346");
    assert_eq!((hit.speed_kbits, hit.servent), (1000, Guid([0x99; 16])));
    assert_eq!((hit.results[0].index, hit.results[0].bytes), (1, 42));
    assert_eq!(hit.results[0].name, b"a.txt");
    let names = hit.results[0].extensions(&limits).unwrap();
    assert!(names[0].sha1().is_some());
    let large = hit.results[1].extensions(&limits).unwrap();
    let crate::Extension::Ggep(block) = &large[0] else {
        panic!()
    };
    assert_eq!(block.large_file_bytes(), Some(0x01_0101_0101));
    let trailer = hit.trailer.unwrap();
    let flags = trailer.flags();
    assert_eq!(
        (flags.push, flags.busy, flags.uploaded, flags.ggep),
        (Some(true), Some(false), None, Some(true))
    );
    let block = trailer.ggep(&limits).unwrap();
    assert!(block.get(b"BH").is_some());
}

#[test]
fn a_hit_without_a_trailer_or_results_is_one() {
    let payload = [&[0, 1, 0, 192, 0, 2, 1, 0, 0, 0, 0][..], &[7; 16]].concat();
    let bytes = framed(0x81, &payload);
    let Message::QueryHit(hit) = known(&bytes) else {
        panic!()
    };
    assert_eq!((hit.results.len(), hit.trailer), (0, None));
}

#[test]
fn every_answer_of_a_hit_is_read_back() {
    let answers = [None, Some(false), Some(true)];
    for push in answers {
        for ggep in answers {
            let flags = HitFlags {
                push,
                ggep,
                busy: push,
                uploaded: ggep,
                measured: push,
            };
            assert_eq!(HitFlags::read(&flags.bytes()), flags);
        }
    }
    assert_eq!(HitFlags::read(&[0xff]), HitFlags::default());
}

#[test]
fn a_push_has_its_port_last() {
    let payload = [&[9; 16][..], &[3, 0, 0, 0, 192, 0, 2, 1, 0xca, 0x18]].concat();
    let bytes = framed(0x40, &payload);
    let Message::Push(push) = known(&bytes) else {
        panic!()
    };
    assert_eq!((push.servent, push.index), (Guid([9; 16]), 3));
    assert_eq!(push.address.to_string(), "192.0.2.1:6346");
}

#[test]
fn a_bye_has_a_code_and_a_reason() {
    let bytes = framed(0x02, b"\xc8\x00Shutdown\0");
    let shutdown = Message::Bye(Bye {
        code: Bye::SHUTDOWN,
        reason: b"Shutdown",
    });
    assert_eq!(known(&bytes), shutdown);
    assert_eq!(parse(&framed(0x02, b"\xc8\x00Shutdown")), Ok(shutdown));
}

#[test]
fn route_tables_are_reset_and_patched() {
    let bytes = framed(0x30, b"\0\0\0\x01\0\x07");
    let reset = RouteTableUpdate::Reset {
        slots: 65_536,
        infinity: 7,
    };
    assert_eq!(known(&bytes), Message::RouteTable(reset));
    let bytes = framed(0x30, b"\x01\x01\x02\x01\x04xyz");
    assert!(matches!(
        known(&bytes),
        Message::RouteTable(RouteTableUpdate::Patch {
            number: 1,
            count: 2,
            compressor: Compressor::Deflate,
            bits: 4,
            ..
        })
    ));
    for payload in [&b"\x02"[..], b"\x01\x01\x01\x02\x04"] {
        let bytes = framed(0x30, payload);
        assert!(matches!(parse(&bytes), Err(Error::RouteTable(_))));
    }
}

#[test]
fn vendors_tell_what_they_support() {
    let payload = b"\0\0\0\0\0\0\0\0\x02\0BEAR\x04\0\x01\0GTKG\x07\0\x02\0";
    let bytes = framed(0x31, payload);
    let Message::Vendor(message) = known(&bytes) else {
        panic!()
    };
    let supported = message.read_supported(&Limits::default()).unwrap().unwrap();
    assert_eq!(supported.len(), 2);
    assert_eq!((supported[1].vendor, supported[1].version), (*b"GTKG", 2));
    let bytes = framed(0x32, b"BEAR\x04\0\x01\0\x03");
    let Message::Vendor(message) = known(&bytes) else {
        panic!()
    };
    assert_eq!((message.hops_flow(), message.is_standard), (Some(3), true));
    assert_eq!(message.read_supported(&Limits::default()), Ok(None));
}

#[test]
fn supported_messages_are_counted_before_they_are_read() {
    let bytes = framed(0x31, b"\0\0\0\0\0\0\0\0\xff\xff");
    let Ok(Message::Vendor(message)) = parse(&bytes) else {
        panic!()
    };
    let read = message.read_supported(&Limits::default());
    assert!(matches!(read, Err(Error::TooMany { max: 256, .. })));
}

#[test]
fn a_type_nobody_knows_is_kept() {
    let bytes = framed(0x44, b"dht");
    assert_eq!(
        known(&bytes),
        Message::Unknown {
            kind: 0x44,
            payload: b"dht"
        }
    );
}

#[test]
fn what_ends_too_early_is_told() {
    let whole: [(u8, &[u8]); 6] = [
        (0x01, &[1; 14]),
        (0x02, &[1; 2]),
        (0x30, b"\0\0\0\x01\0\x07"),
        (0x31, &[1; 8]),
        (0x40, &[1; 26]),
        (0x80, b"\0\0a\0"),
    ];
    for (kind, payload) in whole {
        assert!(parse(&framed(kind, payload)).is_ok(), "{kind:#x}");
        for length in 0..payload.len() {
            let read = framed(kind, &payload[..length]);
            let error = parse(&read).unwrap_err();
            assert!(matches!(error, Error::Truncated { .. }), "{kind:#x}");
        }
    }
}

/// Bytes that may stand between NULs.
fn text(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1..=255_u8, 0..max)
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        kind in prop_oneof![any::<u8>(), prop::sample::select(vec![0x00, 0x01, 0x02, 0x30, 0x31, 0x40, 0x80, 0x81])],
        payload in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..300),
    ) {
        let limits = Limits::default();
        let bytes = framed(kind, &payload);
        if let Ok(message) = parse(&bytes) {
            match &message {
                Message::Ping(ping) => drop(ping.ggep(&limits)),
                Message::Pong(pong) => drop(pong.ggep(&limits)),
                Message::Query(query) => drop(query.extensions(&limits)),
                Message::QueryHit(hit) => {
                    drop(hit.trailer.map(|trailer| trailer.ggep(&limits)));
                    for result in &hit.results {
                        let _ = result.extensions(&limits);
                    }
                }
                Message::Vendor(message) => drop(message.read_supported(&limits)),
                _ => {}
            }
            // What was read once is read the same way again.
            let mut written = Vec::new();
            message.write(Guid([0x11; 16]), 6, 1, &mut written);
            prop_assert_eq!(parse(&written), Ok(message));
        }
    }

    #[test]
    fn hits_are_read_back(
        results in prop::collection::vec((any::<u32>(), any::<u32>(), text(40), text(40)), 0..20),
        trailer in prop::option::of((any::<[u8; 4]>(), text(10), text(60))),
        servent: [u8; 16],
    ) {
        let hit = Message::QueryHit(QueryHit {
            address: "192.0.2.1:6346".parse().unwrap(),
            speed_kbits: 5,
            results: results
                .iter()
                .map(|(index, bytes, name, extensions)| HitResult { index: *index, bytes: *bytes, name, extensions })
                .collect(),
            trailer: trailer
                .as_ref()
                .map(|(vendor, open, private)| HitTrailer { vendor: *vendor, open, private }),
            servent: Guid(servent),
        });
        let mut bytes = Vec::new();
        hit.write(Guid([0x11; 16]), 6, 1, &mut bytes);
        prop_assert_eq!(parse(&bytes), Ok(hit));
    }

    #[test]
    fn a_trailers_block_is_found(before in prop::collection::vec(0..0xc0_u8, 0..10), id in "[A-Z]{1,15}") {
        let mut block = Ggep::default();
        block.push(id.as_bytes(), &[0, 1]).unwrap();
        let mut private = before;
        block.write(false, &mut private);
        let open = HitFlags { ggep: Some(true), ..HitFlags::default() }.bytes();
        let trailer = HitTrailer { vendor: *b"MELY", open: &open, private: &private };
        prop_assert_eq!(trailer.ggep(&Limits::default()), Some(block));
    }
}
