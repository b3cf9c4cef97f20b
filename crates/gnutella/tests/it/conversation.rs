//! Whole conversations, as they are and damaged: nothing panics, everything is bounded, and how the
//! bytes are cut changes nothing.

use mely_gnutella::{
    Acceptor, AcceptorStep, Action, AddressPolicy, Error, FileIndex, Guid, HitResult, Initiator,
    InitiatorStep, Limits, Link, Message, PeerId, Ping, Pong, Profile, Query, QueryFlags, QueryHit,
    QueryKey, Role, Router, TableReceiver, Treatment, VendorMessage,
};
use proptest::prelude::*;

fn limits() -> Limits {
    Limits {
        max_handshake_bytes: 2000,
        max_payload_bytes: 5000,
        max_ggep_bytes: 1000,
        max_routes: 100,
        max_route_table_slots: 4096,
        ..Limits::default()
    }
}

/// All that one side sends to another, handshake first.
fn conversation(compress: bool) -> Vec<u8> {
    let limits = limits();
    let profile = Profile {
        compress,
        ..Profile::default()
    };
    let mut wire = Vec::new();
    let mut initiator = Initiator::new(profile.clone(), &mut wire);
    let mut acceptor = Acceptor::new(profile);
    acceptor.receive(&mut &wire[..], &limits).unwrap();
    let mut answer = Vec::new();
    acceptor.accept(&[], &mut answer);
    let step = initiator.receive(&mut &answer[..], &mut wire, &limits);
    let Ok(InitiatorStep::Agreed(agreement)) = step else {
        panic!("{step:?}")
    };
    let mut link = Link::new(&agreement, &limits);
    let mut number = 0;
    let mut send = |message: &Message<'_>| {
        number += 1;
        link.send(message, Guid([number; 16]), 3, 0, &mut wire);
        link.flush(&mut wire);
    };
    send(&Message::Vendor(VendorMessage::supported(
        b"\x01\0BEAR\x04\0\x01\0",
    )));
    let mut files = FileIndex::new(&limits);
    files.add("free song.ogg", 1, None).unwrap();
    for update in files.route_table(4096, &limits).unwrap().updates(None) {
        send(&Message::RouteTable(update));
    }
    send(&Message::Ping(Ping {
        extensions: b"\xc3\x83SCP\x41\x01",
    }));
    send(&Message::Pong(Pong {
        address: "1.2.3.4:6346".parse().unwrap(),
        files: 1,
        kbytes: 1,
        extensions: b"\xc3\x02DU\x42\x10\x0e\x82UP\x43\x01\x05\x05",
    }));
    send(&Message::Query(Query {
        flags: QueryFlags::default(),
        text: b"free song",
        extensions: b"urn:\x1c\xc3\x81M\x41\x04",
    }));
    send(&Message::QueryHit(QueryHit {
        address: "1.2.3.4:6346".parse().unwrap(),
        speed_kbits: 1,
        results: vec![HitResult {
            index: 1,
            bytes: 1,
            name: b"free song.ogg",
            extensions: b"",
        }],
        trailer: None,
        servent: Guid([0x99; 16]),
    }));
    wire
}

/// A node's side of a conversation, without its sockets.
struct Node {
    limits: Limits,
    acceptor: Acceptor,
    link: Option<Link>,
    is_refused: bool,
    table: TableReceiver,
    router: Router,
    files: FileIndex,
    seen: Vec<String>,
}

impl Node {
    fn new() -> Self {
        let limits = limits();
        let policy = AddressPolicy::default();
        let mut router = Router::new(Role::Ultrapeer, Guid([0xaa; 16]), policy, &limits);
        router.connect(PeerId(1), Role::Ultrapeer, true);
        router.connect(PeerId(2), Role::Ultrapeer, false);
        let mut files = FileIndex::new(&limits);
        files.add("free song.ogg", 1, None).unwrap();
        Self {
            acceptor: Acceptor::new(Profile::default()),
            link: None,
            is_refused: false,
            table: TableReceiver::new(),
            router,
            files,
            seen: Vec::new(),
            limits,
        }
    }

    /// Takes all bytes, and notes what they mean.
    fn receive(&mut self, mut input: &[u8]) -> Result<(), Error> {
        while self.link.is_none() && !self.is_refused {
            match self.acceptor.receive(&mut input, &self.limits)? {
                AcceptorStep::Incomplete => return Ok(()),
                AcceptorStep::Offered => self.acceptor.accept(&[], &mut Vec::new()),
                AcceptorStep::Agreed(agreement) => {
                    self.link = Some(Link::new(&agreement, &self.limits));
                }
                AcceptorStep::Refused(refusal) => {
                    self.seen.push(format!("{refusal:?}"));
                    self.is_refused = true;
                }
            }
        }
        let Some(mut link) = self.link.take() else {
            return Ok(());
        };
        while let Some(frame) = link.receive(&mut input)? {
            assert!(frame.payload.len() <= 5000);
            self.seen.push(format!("{:?}", frame.header));
            match Message::parse(&frame, &self.limits) {
                Ok(message) => {
                    let actions = self.router.route(PeerId(1), &frame, &message, 1);
                    if actions.contains(&Action::Deliver) {
                        self.deliver(&message)?;
                    }
                    self.seen.push(format!("{message:?} {actions:?}"));
                }
                Err(error) if error.treatment() == Treatment::DropMessage => {
                    self.seen.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        assert!(input.is_empty());
        self.link = Some(link);
        Ok(())
    }

    fn deliver(&mut self, message: &Message<'_>) -> Result<(), Error> {
        match message {
            Message::RouteTable(update) => {
                self.table.apply(update, &self.limits)?;
            }
            Message::Query(query) => {
                let found = self.files.search(query, &self.limits);
                let matches = match (QueryKey::of(query, &self.limits), self.table.table()) {
                    (Ok(key), Some(table)) => table.matches(&key),
                    _ => false,
                };
                self.seen.push(format!("{found:?} {matches}"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// What a node sees of bytes that arrive in such pieces, and how it ends.
fn seen(wire: &[u8], split: usize) -> (Vec<String>, Result<(), Error>) {
    let mut node = Node::new();
    let mut pieces = wire.chunks(split);
    let end = pieces.try_for_each(|piece| node.receive(piece));
    (node.seen, end)
}

#[test]
fn a_conversation_is_the_same_compressed_or_not() {
    let (plain, compressed) = (conversation(false), conversation(true));
    for split in [1, 100, 10_000] {
        let (seen_plain, end) = seen(&plain, split);
        assert_eq!((seen_plain.len(), end), (15, Ok(())), "{seen_plain:#?}");
        // The search finds the file, and so does its table.
        assert!(seen_plain[11].ends_with("}]) true"), "{}", seen_plain[11]);
        assert_eq!(seen(&compressed, split), (seen_plain, Ok(())));
    }
}

/// As many as the run has time for: this is what searches for bytes that do harm.
fn cases() -> u32 {
    let is_long = std::env::var("MELY_STRESS").is_ok_and(|value| value == "long");
    if is_long { 50_000 } else { 256 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn damage_is_told_or_harmless(
        compress: bool,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        split in 1..300_usize,
    ) {
        let mut wire = conversation(compress);
        for (at, byte) in damage {
            let at = at.index(wire.len());
            wire[at] = byte;
        }
        wire.truncate(cut.index(wire.len()) + 1);
        let (whole, end) = seen(&wire, wire.len());
        let (split, split_end) = seen(&wire, split);
        if !compress {
            prop_assert_eq!((split, split_end), (whole, end));
        } else if end.is_ok() {
            // How far a damaged stream inflates before it is told depends on its pieces.
            prop_assert_eq!(split, whole);
        }
    }
}
