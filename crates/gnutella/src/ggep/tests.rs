use super::*;
use crate::deflate::deflated;
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Result<Ggep, Error> {
    let (block, length) = Ggep::read(bytes, &Limits::default())?;
    assert_eq!(length, bytes.len());
    Ok(block)
}

#[test]
fn a_block_from_the_specification() {
    // Two extensions: `BH` without data, and `DU` of two bytes, the last one.
    let block = read(b"\xc3\x02BH\x40\x82DU\x42\x39\x30").unwrap();
    assert_eq!(block.get(b"BH"), Some(&[][..]));
    assert_eq!(block.daily_uptime_s(), Some(12345));
    assert_eq!(block.get(b"bh"), None);
}

#[test]
fn lengths_take_one_to_three_groups() {
    for (length, groups) in [
        (0, &[0x40][..]),
        (63, &[0x7f]),
        (64, &[0x81, 0x40]),
        (4095, &[0xbf, 0x7f]),
        (4096, &[0x81, 0x80, 0x40]),
    ] {
        let mut block = Ggep::default();
        block.push(b"X", &vec![7; length]).unwrap();
        let mut bytes = Vec::new();
        block.write(false, &mut bytes);
        assert_eq!(&bytes[..3], b"\xc3\x81X");
        assert_eq!(&bytes[3..3 + groups.len()], groups, "{length}");
        assert_eq!(read(&bytes).unwrap(), block);
    }
}

#[test]
fn data_may_be_compressed_and_stuffed() {
    let text = vec![b'a'; 500];
    let packed = deflated(&text);
    assert!(packed.contains(&0));
    for (flags, data) in [
        (0xa1, packed.clone()),
        (0xe1, cobs::encoded(&packed)),
        (0xc1, cobs::encoded(&text)),
    ] {
        let mut bytes = vec![GGEP_MAGIC];
        put(flags, b"<", &data, &mut bytes);
        assert_eq!(read(&bytes).unwrap().get(b"<"), Some(&text[..]));
    }
}

#[test]
fn what_is_no_block_is_told() {
    let malformed = |what| Err(Error::Malformed { what });
    let truncated = Err(Error::Truncated {
        what: "a GGEP block",
    });
    let head = "the head of a GGEP extension";
    let length = "the length of a GGEP extension";
    for (bytes, error) in [
        (&b""[..], malformed("the beginning of a GGEP block")),
        (b"\xc4\x81A\x40", malformed("the beginning of a GGEP block")),
        (b"\xc3", truncated.clone()),
        (b"\xc3\x01A\x40", truncated.clone()),
        (b"\xc3\x82A", truncated.clone()),
        (b"\xc3\x81A\x41", truncated),
        (b"\xc3\x80\x40", malformed(head)),
        (b"\xc3\x91A\x40", malformed(head)),
        (b"\xc3\x81\0\x40", malformed(head)),
        (b"\xc3\x81A\x00", malformed(length)),
        (b"\xc3\x81A\xc0", malformed(length)),
        (b"\xc3\x81A\x80\x80\x80\x40", malformed(length)),
        (
            b"\xc3\xc1A\x42\x05a",
            malformed("the stuffing of a GGEP extension"),
        ),
        (b"\xc3\xa1A\x42ab", Err(Error::ExtensionInflate)),
    ] {
        assert_eq!(read(bytes), error, "{bytes:?}");
    }
}

#[test]
fn limits_hold() {
    let limits = Limits {
        max_ggep_bytes: 100,
        max_ggep_extensions: 2,
        ..Limits::default()
    };
    let read = |bytes: &[u8]| Ggep::read(bytes, &limits).map(|_| ());
    assert_eq!(
        read(b"\xc3\x01A\x40\x01B\x40\x81C\x40"),
        Err(Error::TooMany {
            what: "GGEP extensions",
            max: 2
        })
    );
    let mut bytes = vec![GGEP_MAGIC];
    put(0x01, b"A", &[1; 60], &mut bytes);
    put(0x81, b"B", &[1; 60], &mut bytes);
    assert!(matches!(read(&bytes), Err(Error::TooLong { max: 100, .. })));
    let mut bytes = vec![GGEP_MAGIC];
    put(0xa1, b"A", &deflated(&[1; 101]), &mut bytes);
    assert_eq!(read(&bytes), Err(Error::ExtensionInflate));
}

#[test]
fn ids_and_data_that_cannot_be_written_are_refused() {
    let mut block = Ggep::default();
    for id in [&b""[..], b"0123456789abcdef", b"a\0"] {
        assert!(block.push(id, b"").is_err());
    }
    let too_long = vec![0; GGEP_DATA_BYTES_MAX + 1];
    assert!(block.push(b"A", &too_long).is_err());
    let mut out = Vec::new();
    block.write(true, &mut out);
    assert_eq!(out, b"");
}

#[test]
fn the_known_ones_are_understood() {
    let mut block = Ggep::default();
    for (id, data) in [
        (&b"UP"[..], &[1, 20, 3][..]),
        (b"LOC", b"en\x02"),
        (b"VC", b"GTKG\x12"),
        (b"IPP", &[192, 0, 2, 1, 1, 0, 192, 0, 2, 2, 0, 1, 9]),
        (b"DHTIPP", &[192, 0, 2, 9, 1, 0]),
        (b"SCP", &[1]),
        (b"LF", &[0, 0, 0, 0, 1]),
    ] {
        block.push(id, data).unwrap();
    }
    let slots = block.ultrapeer().unwrap();
    assert_eq!((slots.version, slots.leaves, slots.ultrapeers), (1, 20, 3));
    assert_eq!(block.locale(), Some(*b"en"));
    assert_eq!(block.vendor(), Some((*b"GTKG", Some(0x12))));
    let hosts: Vec<_> = block.packed_hosts().map(|host| host.to_string()).collect();
    assert_eq!(hosts, ["192.0.2.1:1", "192.0.2.2:256"]);
    assert!(block.wants_packed_hosts());
    assert_eq!(block.large_file_bytes(), Some(1 << 32));
    assert_eq!(block.daily_uptime_s(), None);
}

proptest! {
    #[test]
    fn blocks_are_read_back(
        extensions in prop::collection::vec(
            ("[A-Za-z.]{1,15}", prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..600)),
            1..10,
        ),
        without_nuls: bool,
        behind in prop::collection::vec(any::<u8>(), 0..5),
    ) {
        let mut block = Ggep::default();
        for (id, data) in &extensions {
            block.push(id.as_bytes(), data).unwrap();
        }
        let mut bytes = Vec::new();
        block.write(without_nuls, &mut bytes);
        prop_assert!(!without_nuls || !bytes.contains(&0));
        let length = bytes.len();
        bytes.extend(behind);
        prop_assert_eq!(Ggep::read(&bytes, &Limits::default()), Ok((block, length)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let limits = Limits { max_ggep_bytes: 50, ..Limits::default() };
        let mut headed = vec![GGEP_MAGIC];
        headed.extend(bytes);
        if let Ok((block, length)) = Ggep::read(&headed, &limits) {
            prop_assert!(length <= headed.len());
            let bytes: usize = block.extensions().iter().map(|e| e.data.len()).sum();
            prop_assert!(bytes <= 50);
        }
    }

    #[test]
    fn stuffing_is_undone(data in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..800)) {
        let stuffed = cobs::encoded(&data);
        prop_assert!(!stuffed.contains(&0));
        prop_assert!(stuffed.len() <= data.len() + data.len() / 254 + 1);
        prop_assert_eq!(cobs::decoded(&stuffed).unwrap(), data);
    }
}
