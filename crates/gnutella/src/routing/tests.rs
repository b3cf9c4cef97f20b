use super::*;
use crate::ggep::Ggep;
use crate::header::Kind;
use crate::message::{
    Bye, Ping, Pong, Push, Query, QueryFlags, QueryHit, RouteTableUpdate, VendorMessage,
};
use proptest::prelude::*;

const US: Guid = Guid([0xaa; 16]);

fn limits() -> Limits {
    Limits {
        max_pongs_per_ping: 3,
        ..Limits::default()
    }
}

/// An ultrapeer with the ultrapeers 1, 2 and 3, and the leaves 11 and 12.
fn router() -> Router {
    let mut router = Router::new(Role::Ultrapeer, US, AddressPolicy::default(), &limits());
    for peer in [1, 2, 3] {
        router.connect(PeerId(peer), Role::Ultrapeer, true);
    }
    for leaf in [11, 12] {
        router.connect(PeerId(leaf), Role::Leaf, true);
    }
    router
}

fn guid(number: u8) -> Guid {
    Guid([number; 16])
}

fn query(text: &str) -> Message<'_> {
    Message::Query(Query {
        flags: QueryFlags::default(),
        text: text.as_bytes(),
        extensions: b"",
    })
}

fn hit(servent: Guid) -> Message<'static> {
    Message::QueryHit(QueryHit {
        address: "1.2.3.4:6346".parse().unwrap(),
        speed_kbits: 1,
        results: vec![],
        trailer: None,
        servent,
    })
}

fn pong(address: &str) -> Message<'static> {
    Message::Pong(Pong {
        address: address.parse().unwrap(),
        files: 0,
        kbytes: 0,
        extensions: b"",
    })
}

fn push(servent: Guid) -> Message<'static> {
    Message::Push(Push {
        servent,
        index: 1,
        address: "1.2.3.4:6346".parse().unwrap(),
        extensions: b"",
    })
}

fn table(words: &str) -> Arc<RouteTable> {
    let mut table = RouteTable::new(65_536, &limits()).unwrap();
    table.insert_name(words);
    Arc::new(table)
}

/// What is decided, shortly: `D`eliver, to whom it goes with which TTL and hops, an answer's hops.
fn route_at(
    router: &mut Router,
    from: u64,
    name: u8,
    (ttl, hops): (u8, u8),
    message: &Message<'_>,
    now_s: u64,
) -> Vec<String> {
    let mut bytes = Vec::new();
    message.write(guid(name), ttl, hops, &mut bytes);
    let frame = Frame {
        header: Header::read(&bytes).unwrap(),
        payload: &bytes[Header::BYTES..],
    };
    let actions = router.route(PeerId(from), &frame, message, now_s);
    shortly(&actions)
}

fn shortly(actions: &[Action]) -> Vec<String> {
    let told = actions.iter().map(|action| match action {
        Action::Deliver => "deliver".to_owned(),
        Action::Drop(reason) => reason.name().to_owned(),
        Action::Answer { header, .. } => format!("answer {}/{}", header.ttl, header.hops),
        Action::Forward { header, to } => {
            let to: Vec<_> = to.iter().map(|peer| peer.0.to_string()).collect();
            format!("{}/{} to {}", header.ttl, header.hops, to.join(" "))
        }
    });
    told.collect()
}

fn route(
    router: &mut Router,
    from: u64,
    name: u8,
    place: (u8, u8),
    message: &Message<'_>,
) -> Vec<String> {
    route_at(router, from, name, place, message, 1)
}

#[test]
fn a_query_goes_to_all_others_once() {
    let mut router = router();
    let query = query("free song");
    assert_eq!(
        route(&mut router, 1, 1, (4, 2), &query),
        ["deliver", "3/3 to 2 3"]
    );
    assert_eq!(route(&mut router, 1, 1, (4, 2), &query), ["duplicate"]);
    assert_eq!(route(&mut router, 2, 1, (4, 2), &query), ["duplicate"]);
    assert_eq!(router.drops().get(DropReason::Duplicate), 2);
    // After an age and more it may come again.
    let again = route_at(&mut router, 2, 1, (4, 2), &query, 2000);
    assert_eq!(again, ["deliver", "3/3 to 1 3"]);
}

#[test]
fn ttl_and_hops_have_a_limit() {
    let mut router = router();
    let query = query("free song");
    for (name, place, expected) in [
        (1, (1, 0), &["deliver"][..]),
        (2, (255, 0), &["deliver", "6/1 to 2 3"]),
        (3, (7, 5), &["deliver", "1/6 to 2 3"]),
        (4, (7, 6), &["deliver"]),
        (5, (1, 7), &["too_far"]),
        (6, (1, 255), &["too_far"]),
        (7, (0, 0), &["expired"]),
    ] {
        assert_eq!(
            route(&mut router, 1, name, place, &query),
            expected,
            "{place:?}"
        );
    }
}

#[test]
fn leaves_are_asked_for_what_they_may_have_only() {
    let mut router = router();
    router.set_table(PeerId(11), table("free song"));
    let free = query("free song");
    let other = query("free speech");
    assert_eq!(
        route(&mut router, 1, 1, (3, 0), &free),
        ["deliver", "2/1 to 11", "2/1 to 2 3"]
    );
    assert_eq!(
        route(&mut router, 1, 2, (3, 0), &other),
        ["deliver", "2/1 to 2 3"]
    );
    // Where it ends here, leaves are asked all the same, as they are no hop away.
    assert_eq!(
        route(&mut router, 1, 3, (1, 6), &free),
        ["deliver", "1/7 to 11"]
    );
    assert_eq!(
        route(&mut router, 11, 4, (3, 0), &free),
        ["deliver", "2/1 to 1 2 3"]
    );
}

#[test]
fn the_last_hop_is_made_where_there_may_be_something() {
    let mut router = router();
    router.set_table(PeerId(2), table("free song"));
    router.set_table(PeerId(3), table("another"));
    let query = query("free song");
    assert_eq!(
        route(&mut router, 1, 1, (2, 0), &query),
        ["deliver", "1/1 to 2"]
    );
    assert_eq!(
        route(&mut router, 1, 2, (3, 0), &query),
        ["deliver", "2/1 to 2 3"]
    );
}

#[test]
fn ultrapeers_are_told_what_leaves_have() {
    let mut router = router();
    router.set_table(PeerId(2), table("another"));
    router.set_table(PeerId(11), table("free"));
    router.set_table(PeerId(12), table("song"));
    let mut told = RouteTable::new(RouteTable::ULTRAPEER_SLOTS, &limits()).unwrap();
    told.insert_name("live");
    router.add_leaves(&mut told);
    for (text, matched) in [
        ("free", true),
        ("song", true),
        ("live", true),
        ("another", false),
    ] {
        let Message::Query(query) = query(text) else {
            unreachable!()
        };
        let key = QueryKey::of(&query, &limits()).unwrap();
        assert_eq!(told.matches(&key), matched, "{text}");
    }
}

#[test]
fn a_peer_may_want_fewer_queries() {
    let mut router = router();
    let flow = Message::Vendor(VendorMessage {
        vendor: *b"BEAR",
        selector: 4,
        version: 1,
        is_standard: false,
        payload: &[2],
    });
    assert_eq!(route(&mut router, 2, 1, (1, 0), &flow), ["deliver"]);
    let query = query("free song");
    assert_eq!(
        route(&mut router, 1, 2, (3, 0), &query),
        ["deliver", "2/1 to 2 3"]
    );
    assert_eq!(
        route(&mut router, 1, 3, (3, 1), &query),
        ["deliver", "2/2 to 3"]
    );
}

#[test]
fn a_leaf_sends_nothing_on() {
    let mut router = router();
    router.set_role(Role::Leaf);
    assert_eq!(
        route(&mut router, 1, 1, (3, 0), &query("free")),
        ["deliver"]
    );
    let header = Header {
        guid: guid(2),
        kind: Kind::Query,
        ttl: 3,
        hops: 0,
        length: 0,
    };
    let actions = router.originate(header, &query("free"), 1).unwrap();
    assert_eq!(shortly(&actions), ["3/0 to 1 2 3"]);
}

#[test]
fn hits_go_back_and_pushes_follow_them() {
    let mut router = router();
    let servent = guid(0x77);
    assert_eq!(
        route(&mut router, 2, 9, (3, 0), &push(servent)),
        ["no_route"]
    );
    route(&mut router, 1, 1, (3, 2), &query("free song"));
    assert_eq!(
        route(&mut router, 3, 1, (3, 1), &hit(servent)),
        ["2/2 to 1"]
    );
    assert_eq!(
        route(&mut router, 3, 2, (3, 1), &hit(servent)),
        ["no_route"]
    );
    assert_eq!(
        route(&mut router, 1, 1, (3, 1), &hit(servent)),
        ["no_route"]
    );
    assert_eq!(route(&mut router, 3, 1, (1, 1), &hit(servent)), ["expired"]);
    assert_eq!(
        route(&mut router, 1, 3, (3, 0), &push(servent)),
        ["2/1 to 3"]
    );
    assert_eq!(
        route(&mut router, 1, 3, (3, 0), &push(servent)),
        ["duplicate"]
    );
    assert_eq!(route(&mut router, 1, 4, (3, 0), &push(US)), ["deliver"]);
    router.disconnect(PeerId(3));
    assert_eq!(
        route(&mut router, 1, 5, (3, 0), &push(servent)),
        ["no_route"]
    );
    router.disconnect(PeerId(1));
    assert_eq!(
        route(&mut router, 2, 1, (3, 1), &hit(servent)),
        ["no_route"]
    );
    assert_eq!(
        route(&mut router, 1, 6, (3, 1), &query("free")),
        ["peer_gone"]
    );
}

#[test]
fn answers_to_our_own_messages_are_delivered() {
    let mut router = router();
    let header = |name, kind| Header {
        guid: guid(name),
        kind,
        ttl: 3,
        hops: 0,
        length: 0,
    };
    router.set_table(PeerId(12), table("free song"));
    let actions = router.originate(header(1, Kind::Query), &query("free song"), 1);
    assert_eq!(shortly(&actions.unwrap()), ["3/0 to 12", "3/0 to 1 2 3"]);
    assert_eq!(
        route(&mut router, 2, 1, (1, 1), &hit(guid(0x77))),
        ["deliver"]
    );
    // Our own query that comes back is no query of others.
    assert_eq!(
        route(&mut router, 2, 1, (2, 1), &query("free song")),
        ["duplicate"]
    );
    let actions = router.originate(header(2, Kind::Push), &push(guid(0x77)), 1);
    assert_eq!(shortly(&actions.unwrap()), ["3/0 to 2"]);
    let actions = router.originate(header(3, Kind::Push), &push(guid(0x78)), 1);
    assert_eq!(actions.unwrap(), []);
    let ping = Message::Ping(Ping::default());
    let actions = router.originate(header(4, Kind::Ping), &ping, 1);
    assert_eq!(shortly(&actions.unwrap()), ["3/0 to 1 2 3 11 12"]);
    assert_eq!(
        route(&mut router, 2, 4, (1, 0), &pong("1.2.3.4:1")),
        ["deliver"]
    );
}

#[test]
fn pings_are_answered_from_memory_and_not_too_often() {
    let mut router = router();
    let ping = Message::Ping(Ping::default());
    router.connect(PeerId(4), Role::Ultrapeer, false);
    assert_eq!(
        route(&mut router, 1, 1, (7, 0), &ping),
        ["deliver", "6/1 to 4"]
    );
    assert_eq!(route(&mut router, 1, 2, (7, 0), &ping), ["too_often"]);
    for (from, address, hops) in [
        (4, "1.2.3.1:1", 1),
        (4, "1.2.3.2:1", 1),
        (4, "1.2.3.3:1", 1),
        (4, "1.2.3.4:1", 2),
        (4, "1.2.3.4:1", 3),
    ] {
        let routed = route(&mut router, from, 1, (7, hops), &pong(address));
        assert_eq!(routed[0].split(' ').next_back(), Some("1"));
    }
    // The distances first, then the newest; never the peer's own, nor for one that goes no farther.
    let answered = route(&mut router, 2, 3, (7, 0), &ping);
    assert_eq!(
        answered,
        [
            "deliver",
            "answer 1/2",
            "answer 1/4",
            "answer 1/2",
            "6/1 to 4"
        ]
    );
    assert_eq!(route(&mut router, 4, 4, (7, 0), &ping), ["deliver"]);
    assert_eq!(route(&mut router, 3, 5, (1, 0), &ping), ["deliver"]);
    let late = route_at(&mut router, 2, 6, (7, 0), &ping, 61);
    assert_eq!(late, ["deliver", "6/1 to 4"]);
}

#[test]
fn pongs_that_nobody_asked_for_or_can_use_are_not_remembered() {
    let mut router = router();
    let ping = Message::Ping(Ping::default());
    route(&mut router, 1, 1, (7, 0), &ping);
    assert_eq!(
        route(&mut router, 2, 9, (7, 0), &pong("1.2.3.4:1")),
        ["no_route"]
    );
    assert_eq!(
        route(&mut router, 2, 1, (7, 0), &pong("10.0.0.1:1")),
        ["bad_address"]
    );
    let mut block = Ggep::default();
    block.push(b"X", &[1; 600]).unwrap();
    let mut extensions = Vec::new();
    block.write(false, &mut extensions);
    let long = Message::Pong(Pong {
        address: "1.2.3.4:1".parse().unwrap(),
        files: 0,
        kbytes: 0,
        extensions: &extensions,
    });
    assert_eq!(route(&mut router, 2, 1, (7, 0), &long), ["6/1 to 1"]);
    assert_eq!(route(&mut router, 3, 2, (7, 0), &ping), ["deliver"]);
    // What a peer told goes with it.
    assert_eq!(
        route(&mut router, 2, 1, (7, 0), &pong("1.2.3.4:1")),
        ["6/1 to 1"]
    );
    router.disconnect(PeerId(2));
    assert_eq!(route(&mut router, 11, 3, (7, 0), &ping), ["deliver"]);
}

#[test]
fn what_is_for_neighbours_goes_no_farther() {
    let mut router = router();
    let vendor = Message::Vendor(VendorMessage::supported(b"\0\0"));
    let reset = Message::RouteTable(RouteTableUpdate::Reset {
        slots: 1024,
        infinity: 7,
    });
    let bye = Message::Bye(Bye {
        code: 200,
        reason: b"",
    });
    for message in [vendor, reset, bye] {
        assert_eq!(route(&mut router, 1, 1, (1, 0), &message), ["deliver"]);
        assert_eq!(route(&mut router, 1, 1, (2, 1), &message), ["strayed"]);
    }
    let unknown = Message::Unknown {
        kind: 0x44,
        payload: b"",
    };
    assert_eq!(route(&mut router, 1, 1, (1, 0), &unknown), ["unknown_type"]);
    router.count_drop(DropReason::Malformed);
    let counted: Vec<_> = router
        .drops()
        .iter()
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(
        counted,
        [
            (DropReason::Strayed, 3),
            (DropReason::Malformed, 1),
            (DropReason::UnknownType, 1)
        ]
    );
}

#[test]
fn a_query_that_cannot_be_read_is_dropped() {
    let mut router = router();
    let broken = Message::Query(Query {
        flags: QueryFlags::default(),
        text: b"free",
        extensions: b"\xc3\x81",
    });
    assert_eq!(route(&mut router, 1, 1, (3, 0), &broken), ["malformed"]);
    // It was not remembered: the same query, whole, is new.
    assert_eq!(
        route(&mut router, 1, 1, (3, 0), &query("free")),
        ["deliver", "2/1 to 2 3"]
    );
}

#[test]
fn every_reason_has_its_place_and_name() {
    for (index, reason) in DropReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, index);
        assert!(!reason.name().is_empty());
    }
}

proptest! {
    /// Whatever comes, nothing goes back where it came from, too far, to a leaf without a match, or
    /// as a query to anybody twice.
    #[test]
    fn routing_keeps_its_rules(
        messages in prop::collection::vec(
            (prop::sample::select(vec![1_u64, 2, 3, 11, 12, 99]), 0..6_u8, any::<u8>(), 0..9_u8, 0..6_u8, 0..400_u64),
            0..60,
        ),
    ) {
        let mut router = router();
        router.set_table(PeerId(11), table("free song"));
        let mut now_s = 0;
        let mut dropped = 0;
        let mut sent = std::collections::HashSet::new();
        for (from, name, ttl, hops, kind, step_s) in messages {
            // Only steps within an age are of interest for what is sent twice.
            now_s += step_s / 100;
            let message = match kind {
                0 => Message::Ping(Ping::default()),
                1 => pong("1.2.3.4:1"),
                2 => query("free song"),
                3 => query("other things"),
                4 => hit(guid(0x77)),
                _ => push(guid(0x77)),
            };
            let mut bytes = Vec::new();
            message.write(guid(name), ttl, hops, &mut bytes);
            let frame = Frame { header: Header::read(&bytes).unwrap(), payload: &bytes[23..] };
            let actions = router.route(PeerId(from), &frame, &message, now_s);
            prop_assert!(!actions.is_empty());
            for action in &actions {
                match action {
                    Action::Forward { header, to } => {
                        prop_assert!(header.hops == hops + 1 && header.ttl > 0);
                        let is_leaf_hop = to.iter().all(|peer| peer.0 > 10);
                        prop_assert!(header.ttl + header.hops <= 7 || is_leaf_hop && header.ttl == 1);
                        prop_assert!(!to.is_empty() && !to.contains(&PeerId(from)));
                        prop_assert!(message.kind() != Kind::Query || !to.contains(&PeerId(12)));
                        prop_assert!(kind != 3 || !to.contains(&PeerId(11)));
                        for peer in to {
                            if message.kind() == Kind::Query {
                                prop_assert!(sent.insert((name, *peer)));
                            }
                        }
                    }
                    Action::Answer { header, .. } => prop_assert!(header.ttl == hops + 1),
                    Action::Drop(_) => {
                        prop_assert_eq!(actions.len(), 1);
                        dropped += 1;
                    }
                    Action::Deliver => {}
                }
            }
        }
        let counted: u64 = router.drops().iter().map(|(_, count)| count).sum();
        prop_assert_eq!(counted, dropped);
    }
}
