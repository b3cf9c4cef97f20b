use super::*;
use crate::handshake::{HandshakeFields, ProtocolVersion, Role};
use crate::header::{Header, Kind};
use proptest::prelude::*;

fn agreement(compressed: bool) -> Agreement {
    Agreement {
        version: ProtocolVersion::V06,
        our_role: Role::Ultrapeer,
        peer_role: Role::Ultrapeer,
        inflate: compressed,
        deflate: compressed,
        peer: HandshakeFields::default(),
    }
}

type Sent = (Header, Vec<u8>);

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        (0..20_000_usize).prop_map(|length| vec![7; length]),
    ];
    let message = (
        any::<[u8; 16]>(),
        any::<u8>(),
        any::<u8>(),
        any::<u8>(),
        payload,
    );
    prop::collection::vec(message, 0..8).prop_map(|messages| {
        let sent = messages
            .into_iter()
            .map(|(guid, kind, ttl, hops, payload)| {
                let header = Header {
                    guid: Guid(guid),
                    kind: Kind::from(kind),
                    ttl,
                    hops,
                    length: payload.len() as u32,
                };
                (header, payload)
            });
        sent.collect()
    })
}

fn receive(link: &mut Link, wire: &[u8], split: usize) -> Result<Vec<Sent>, Error> {
    let mut received = Vec::new();
    for mut part in wire.chunks(split) {
        while let Some(frame) = link.receive(&mut part)? {
            received.push((frame.header, frame.payload.to_vec()));
        }
        assert!(part.is_empty());
    }
    Ok(received)
}

#[test]
fn a_message_that_says_to_be_too_long_takes_no_memory() {
    let limits = Limits::default();
    for length in [limits.max_payload_bytes + 1, u32::MAX] {
        let header = Header {
            guid: Guid([0; 16]),
            kind: Kind::Query,
            ttl: 1,
            hops: 0,
            length,
        };
        let mut link = Link::new(&agreement(false), &limits);
        let error = receive(&mut link, &header.bytes(), 5).unwrap_err();
        assert_eq!(
            error,
            Error::PayloadTooLong {
                length,
                max: 65_536
            }
        );
    }
}

#[test]
fn plain_bytes_on_a_compressed_connection_are_told() {
    let mut link = Link::new(&agreement(true), &Limits::default());
    assert_eq!(receive(&mut link, &[0; 50], 50), Err(Error::Inflate));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_arrive_however_they_are_split(sent in sent(), compressed: bool, split in 1..5000_usize) {
        let limits = Limits::default();
        let mut link = Link::new(&agreement(compressed), &limits);
        let mut wire = Vec::new();
        for (header, payload) in &sent {
            link.send_frame(&Frame { header: *header, payload }, &mut wire);
        }
        link.flush(&mut wire);
        let mut peer = Link::new(&agreement(compressed), &limits);
        prop_assert_eq!(receive(&mut peer, &wire, split), Ok(sent));
    }

    #[test]
    fn any_bytes_are_split_the_same_way(
        bytes in prop::collection::vec(prop_oneof![8 => Just(0_u8), 1 => any::<u8>()], 0..400),
        split in 1..30_usize,
    ) {
        let limits = Limits { max_payload_bytes: 100, ..Limits::default() };
        let read = |split| {
            let mut link = Link::new(&agreement(false), &limits);
            let mut frames = Vec::new();
            let mut error = None;
            'all: for mut part in bytes.chunks(split) {
                loop {
                    match link.receive(&mut part) {
                        Ok(Some(frame)) => frames.push((frame.header, frame.payload.to_vec())),
                        Ok(None) => break,
                        Err(found) => {
                            error = Some(found);
                            break 'all;
                        }
                    }
                }
            }
            (frames, error)
        };
        prop_assert_eq!(read(split), read(bytes.len().max(1)));
    }
}
