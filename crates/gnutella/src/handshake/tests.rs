use super::*;
use crate::limits::Limits;
use proptest::prelude::*;

fn profile(role: Role) -> Profile {
    Profile {
        user_agent: "Test/1".to_owned(),
        role,
        listen: Some("192.0.2.1:6346".parse().unwrap()),
        remote: Some("192.0.2.2".parse().unwrap()),
        ..Profile::default()
    }
}

type Ends = (InitiatorStep, AcceptorStep);

/// Lets both sides speak, a few bytes at a time, until both are done.
fn meet(initiator: Profile, acceptor: Profile, hosts: &[SocketAddrV4], split: usize) -> Ends {
    let limits = Limits::default();
    let (mut to_acceptor, mut to_initiator) = (Vec::new(), Vec::new());
    let mut initiator = Initiator::new(initiator, &mut to_acceptor);
    let mut acceptor = Acceptor::new(acceptor);
    let mut ends = (InitiatorStep::Incomplete, AcceptorStep::Incomplete);
    for part in to_acceptor.clone().chunks(split) {
        ends.1 = acceptor.receive(&mut &part[..], &limits).unwrap();
    }
    assert_eq!(ends.1, AcceptorStep::Offered);
    acceptor.accept(hosts, &mut to_initiator);
    to_acceptor.clear();
    for part in to_initiator.chunks(split) {
        let step = initiator.receive(&mut &part[..], &mut to_acceptor, &limits);
        ends.0 = step.unwrap();
    }
    for part in to_acceptor.chunks(split) {
        ends.1 = acceptor.receive(&mut &part[..], &limits).unwrap();
    }
    if to_acceptor.is_empty() {
        ends.1 = acceptor.receive(&mut &b""[..], &limits).unwrap();
    }
    ends
}

fn agreed(ends: Ends) -> (Agreement, Agreement) {
    match ends {
        (InitiatorStep::Agreed(ours), AcceptorStep::Agreed(theirs)) => (*ours, *theirs),
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_ultrapeers_agree_on_compression() {
    for split in [1, 7, 1000] {
        let peer = || profile(Role::Ultrapeer);
        let (ours, theirs) = agreed(meet(peer(), peer(), &[], split));
        assert_eq!(
            (ours.our_role, ours.peer_role),
            (Role::Ultrapeer, Role::Ultrapeer)
        );
        assert!(ours.inflate && ours.deflate && theirs.inflate && theirs.deflate);
        assert_eq!(theirs.peer.user_agent.as_deref(), Some("Test/1"));
        assert_eq!(theirs.peer.listen, "192.0.2.1:6346".parse().ok());
        assert_eq!(theirs.peer.remote_ip, "192.0.2.2".parse().ok());
        assert_eq!(
            (theirs.peer.degree, theirs.peer.max_ttl),
            (Some(32), Some(4))
        );
        assert!(theirs.peer.ggep.is_some() && theirs.peer.bye.is_some());
    }
}

#[test]
fn every_byte_of_a_handshake() {
    let limits = Limits::default();
    let (mut offer, mut answer, mut end) = (Vec::new(), Vec::new(), Vec::new());
    let leaf = Profile {
        listen: None,
        remote: None,
        ..profile(Role::Leaf)
    };
    let mut initiator = Initiator::new(leaf, &mut offer);
    let common = "Pong-Caching: 0.1\r\nVendor-Message: 0.2\r\nGGEP: 0.5\r\nBye-Packet: 0.1\r\n";
    let expected = format!(
        "GNUTELLA CONNECT/0.6\r\nUser-Agent: Test/1\r\nX-Ultrapeer: False\r\n\
         X-Query-Routing: 0.1\r\nX-Max-TTL: 4\r\n{common}Accept-Encoding: deflate\r\n\r\n"
    );
    assert_eq!(String::from_utf8_lossy(&offer), expected);

    let mut acceptor = Acceptor::new(profile(Role::Ultrapeer));
    acceptor.receive(&mut &offer[..], &limits).unwrap();
    let hosts = ["192.0.2.7:6346", "192.0.2.8:99"].map(|host| host.parse().unwrap());
    acceptor.accept(&hosts, &mut answer);
    let expected = format!(
        "GNUTELLA/0.6 200 OK\r\nUser-Agent: Test/1\r\nX-Ultrapeer: True\r\n\
         X-Query-Routing: 0.1\r\nX-Ultrapeer-Query-Routing: 0.1\r\nX-Dynamic-Querying: 0.1\r\n\
         X-Degree: 32\r\nX-Max-TTL: 4\r\n{common}Listen-IP: 192.0.2.1:6346\r\n\
         Remote-IP: 192.0.2.2\r\nAccept-Encoding: deflate\r\nX-Ultrapeer-Needed: True\r\n\
         Content-Encoding: deflate\r\nX-Try-Ultrapeers: 192.0.2.7:6346,192.0.2.8:99\r\n\r\n"
    );
    assert_eq!(String::from_utf8_lossy(&answer), expected);

    initiator
        .receive(&mut &answer[..], &mut end, &limits)
        .unwrap();
    let expected = "GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&end), expected);
}

#[test]
fn one_side_without_compression_is_enough_for_none() {
    let plain = Profile {
        compress: false,
        ..profile(Role::Ultrapeer)
    };
    let (ours, theirs) = agreed(meet(plain.clone(), profile(Role::Ultrapeer), &[], 9));
    assert!(!ours.inflate && !ours.deflate && !theirs.inflate && !theirs.deflate);
    let (ours, theirs) = agreed(meet(profile(Role::Leaf), plain, &[], 9));
    assert!(!ours.inflate && !ours.deflate && !theirs.inflate && !theirs.deflate);
}

#[test]
fn an_ultrapeer_is_guided_to_be_a_leaf_if_it_may() {
    let crowded = Profile {
        ultrapeer_needed: false,
        ..profile(Role::Ultrapeer)
    };
    let (ours, theirs) = agreed(meet(profile(Role::Ultrapeer), crowded.clone(), &[], 5));
    assert_eq!((ours.our_role, theirs.peer_role), (Role::Leaf, Role::Leaf));
    assert_eq!(
        (ours.peer_role, theirs.our_role),
        (Role::Ultrapeer, Role::Ultrapeer)
    );
    let firm = Profile {
        may_become_leaf: false,
        ..profile(Role::Ultrapeer)
    };
    let (ours, theirs) = agreed(meet(firm, crowded, &[], 5));
    assert_eq!(
        (ours.our_role, theirs.peer_role),
        (Role::Ultrapeer, Role::Ultrapeer)
    );
}

#[test]
fn two_leaves_part_with_hosts_to_try() {
    let hosts = [
        "192.0.2.7:6346".parse().unwrap(),
        "192.0.2.8:99".parse().unwrap(),
    ];
    let ends = meet(profile(Role::Leaf), profile(Role::Leaf), &hosts, 3);
    let (InitiatorStep::Refused(ours), AcceptorStep::Refused(theirs)) = ends else {
        panic!("{ends:?}")
    };
    assert_eq!(
        (ours.status, ours.by_peer, &ours.hosts[..]),
        (503, true, &hosts[..])
    );
    assert_eq!((theirs.status, theirs.by_peer), (503, false));
}

#[test]
fn a_leaf_refuses_another_that_accepted_it() {
    let mut out = Vec::new();
    let mut initiator = Initiator::new(profile(Role::Leaf), &mut out);
    out.clear();
    let answer = b"GNUTELLA/0.6 200 OK\r\nX-Ultrapeer: false\r\nX-Try: 192.0.2.3\r\n\r\n";
    let step = initiator.receive(&mut &answer[..], &mut out, &Limits::default());
    let Ok(InitiatorStep::Refused(refusal)) = step else {
        panic!("{step:?}")
    };
    assert!(!refusal.by_peer && refusal.hosts == ["192.0.2.3:6346".parse().unwrap()]);
    assert!(out.starts_with(b"GNUTELLA/0.6 503 "));
}

fn offered(text: &str) -> Result<HandshakeFields, Error> {
    let mut acceptor = Acceptor::new(profile(Role::Ultrapeer));
    match acceptor.receive(&mut text.as_bytes(), &Limits::default())? {
        AcceptorStep::Offered => Ok(acceptor.offer().clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn headers_of_all_kinds_of_servents() {
    let fields = offered(concat!(
        "GNUTELLA CONNECT/0.6\n",
        "user-agent:  LimeWire/4.18.8\n",
        "X-Try-Ultrapeers: 192.0.2.1:6348 2004-12-18T23:47Z,192.0.2.2,, nonsense ,\n",
        "\t192.0.2.3:1\n",
        "X-Try: 192.0.2.1:6348, 192.0.2.4:2, 192.0.2.5:99999\n",
        "Node: [2001:db8::1]:6346\n",
        "Accept-Encoding: gzip, Deflate\n",
        "X-Ultrapeer: maybe\n",
        "X-Max-TTL: 300\n",
        "X-Unknown: 1: 2\n",
        "Crawler: 0.1\n",
        "\n",
    ))
    .unwrap();
    assert_eq!(fields.user_agent.as_deref(), Some("LimeWire/4.18.8"));
    let hosts: Vec<_> = fields.try_hosts.iter().map(ToString::to_string).collect();
    assert_eq!(
        hosts,
        [
            "192.0.2.1:6348",
            "192.0.2.2:6346",
            "192.0.2.3:1",
            "192.0.2.4:2"
        ]
    );
    assert_eq!(
        (fields.listen, fields.ultrapeer, fields.max_ttl),
        (None, None, None)
    );
    assert!(fields.accepts_deflate && !fields.sends_deflate);
    assert_eq!(fields.crawler.as_deref(), Some("0.1"));
}

#[test]
fn what_is_no_handshake_is_told_at_once() {
    for (text, error) in [
        ("GET", Error::NotGnutella),
        ("\n", Error::NotGnutella),
        ("GNUTELLA CONNECT/0.7\r\n\r\n", Error::NotGnutella),
        (
            "GNUTELLA CONNECT/0.6\r\nno field\r\n\r\n",
            Error::HandshakeLine,
        ),
        ("GNUTELLA CONNECT/0.6\r\n: x\r\n\r\n", Error::HandshakeLine),
        (
            "GNUTELLA CONNECT/0.6\r\n x: y\r\n\r\n",
            Error::HandshakeLine,
        ),
    ] {
        assert_eq!(offered(text).unwrap_err(), error, "{text}");
    }
    let many = format!("GNUTELLA CONNECT/0.6\n{}\n", "a: b\n".repeat(65));
    assert_eq!(
        offered(&many).unwrap_err(),
        Error::TooManyFields { max: 64 }
    );
    let long = format!("GNUTELLA CONNECT/0.6\na: {}\n\n", "b".repeat(9000));
    assert_eq!(
        offered(&long).unwrap_err(),
        Error::HandshakeTooLong { max: 8192 }
    );
    let mut out = Vec::new();
    for answer in [
        "GNUTELLA/0.6 20 OK\n\n",
        "GNUTELLA/0.6 +20 OK\n\n",
        "GNUTELLA OK\n\n",
    ] {
        let mut initiator = Initiator::new(profile(Role::Leaf), &mut out);
        let step = initiator.receive(&mut answer.as_bytes(), &mut out, &Limits::default());
        assert_eq!(step, Err(Error::NotGnutella), "{answer}");
    }
}

#[test]
fn lists_and_texts_are_cut() {
    let hosts: Vec<_> = (0..80).map(|port| format!("192.0.2.1:{port}")).collect();
    let agent = "é".repeat(200);
    let fields = offered(&format!(
        "GNUTELLA CONNECT/0.6\nX-Try: {}\nUser-Agent: {agent}\n\n",
        hosts.join(",")
    ))
    .unwrap();
    assert_eq!(fields.try_hosts.len(), 50);
    assert_eq!(fields.user_agent.unwrap().len(), 256);
}

#[test]
fn version_4_knows_only_yes() {
    let limits = Limits::default();
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    let mut initiator = Initiator::legacy(profile(Role::Ultrapeer), &mut request);
    assert_eq!(request, b"GNUTELLA CONNECT/0.4\n\n");
    let mut acceptor = Acceptor::new(profile(Role::Ultrapeer));
    let step = acceptor.receive(&mut &request[..], &limits);
    assert_eq!(
        (step, acceptor.version()),
        (Ok(AcceptorStep::Offered), ProtocolVersion::V04)
    );
    let mut refusing = acceptor.clone();
    acceptor.accept(&[], &mut answer);
    assert_eq!(answer, b"GNUTELLA OK\n\n");
    let step = acceptor.receive(&mut &b"messages"[..], &limits);
    assert!(matches!(step, Ok(AcceptorStep::Agreed(_))));
    let mut input = &b"GNUTELLA OK\n\nmessages"[..];
    let step = initiator.receive(&mut input, &mut request, &limits);
    assert!(matches!(step, Ok(InitiatorStep::Agreed(_))));
    assert_eq!(input, b"messages");
    answer.clear();
    refusing.refuse(503, "Full", &[], &mut answer);
    assert_eq!(answer, b"");
}

#[test]
fn an_acceptor_may_refuse_and_so_may_the_initiator_then() {
    let limits = Limits::default();
    let offer = b"GNUTELLA CONNECT/0.6\r\n\r\n";
    let mut acceptor = Acceptor::new(profile(Role::Ultrapeer));
    let mut out = Vec::new();
    acceptor.accept(&[], &mut out);
    assert_eq!(out, b"");
    acceptor.receive(&mut &offer[..], &limits).unwrap();
    let mut refusing = acceptor.clone();
    refusing.refuse(
        503,
        "Full\r\nX-Evil: 1",
        &["192.0.2.9:1".parse().unwrap()],
        &mut out,
    );
    assert_eq!(
        String::from_utf8_lossy(&out),
        "GNUTELLA/0.6 503 FullX-Evil: 1\r\nX-Try-Ultrapeers: 192.0.2.9:1\r\n\r\n"
    );
    acceptor.accept(&[], &mut out);
    let mut answer = &b"GNUTELLA/0.6 577 Leave\r\n\r\n"[..];
    let step = acceptor.receive(&mut answer, &limits).unwrap();
    let AcceptorStep::Refused(refusal) = step else {
        panic!("{step:?}")
    };
    assert_eq!(
        (refusal.by_peer, refusal.status, &*refusal.reason),
        (true, 577, "Leave")
    );
}

proptest! {
    #[test]
    fn any_bytes_meet_the_same_verdict_however_they_arrive(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..50),
            "(GNUTELLA CONNECT/0.6\r?\n)([A-Za-z-]{0,12}:? ?[ -~é]{0,20}\r?\n){0,6}(\r?\n)?[a-z]{0,5}".prop_map(String::into_bytes),
        ],
        split in 1..20_usize,
    ) {
        let limits = Limits { max_handshake_bytes: 120, max_handshake_fields: 4, ..Limits::default() };
        let read = |split: usize| {
            let mut acceptor = Acceptor::new(profile(Role::Ultrapeer));
            let mut left = 0;
            let mut last = Ok(AcceptorStep::Incomplete);
            for part in bytes.chunks(split) {
                let mut input = part;
                if last == Ok(AcceptorStep::Incomplete) {
                    last = acceptor.receive(&mut input, &limits);
                }
                left += input.len();
            }
            (last, left, acceptor.offer().clone())
        };
        prop_assert_eq!(read(split), read(bytes.len().max(1)));
    }
}
