//! What a node remembers from one run to the next.

use super::raw::Raw;
use super::{PATIENCE, connected_to, end, node, options, runtime, until};
use mely_gnutella::Limits;
use mely_gnutella::node::{Node, NodeError, NodeOptions, Share};
use std::net::TcpListener;

#[test]
fn a_node_that_begins_again_knows_its_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hosts");
    let with = |options| NodeOptions {
        hosts: Some(file.clone()),
        ..options
    };
    let rt = runtime();
    let stays = node(&rt, options());
    let comes = node(&rt, connected_to(with(options()), &stays));
    until("connected", || comes.stats().ultrapeers == 1);
    assert_eq!(comes.shutdown(PATIENCE).unwrap(), 0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&stays.address().to_string()), "{text}");
    // It is told of nobody now.
    let comes = node(&rt, with(options()));
    until("connected again", || comes.stats().ultrapeers == 1);
    assert_eq!(comes.shutdown(PATIENCE).unwrap(), 0);
    // What stands there may be anything.
    std::fs::write(&file, format!("nonsense\n{text}1.2.3.4:x 1 2 3\n\0\n")).unwrap();
    let comes = node(&rt, with(options()));
    until("connected once more", || comes.stats().ultrapeers == 1);
    assert_eq!(comes.shutdown(PATIENCE).unwrap(), 0);
    end(stays, rt);
}

#[test]
fn a_file_of_hosts_that_cannot_be_used_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let rt = runtime();
    let start = |path: &std::path::Path| {
        let hosts = Some(path.to_owned());
        let options = NodeOptions { hosts, ..options() };
        Node::start(&rt, Share::empty(&Limits::default()), options)
    };
    let error = start(folder.path()).unwrap_err();
    assert!(matches!(error, NodeError::Hosts { .. }), "{error}");
    let nowhere = start(&folder.path().join("no/such/folder")).unwrap();
    let error = nowhere.shutdown(PATIENCE).unwrap_err();
    assert!(matches!(error, NodeError::Hosts { .. }), "{error}");
}

#[test]
fn an_address_that_is_taken_is_told() {
    let rt = runtime();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = NodeOptions {
        listen: taken.local_addr().unwrap(),
        ..options()
    };
    let share = Share::empty(&options.protocol);
    let error = Node::start(&rt, share, options).unwrap_err();
    assert!(matches!(error, NodeError::Listen { .. }), "{error}");
}

#[test]
fn a_node_offers_what_the_specification_says() {
    let rt = runtime();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let options = NodeOptions {
        connect: vec![to.to_string()],
        ..options()
    };
    let node = node(&rt, options);
    let (stream, _) = listener.accept().unwrap();
    let (mut peer, offer) = Raw::accepted(stream, "Vendor-Message: 0.2\r\n");
    assert!(
        offer.starts_with("GNUTELLA CONNECT/0.6\r\nUser-Agent: Mely/"),
        "{offer}"
    );
    let listen = format!("Listen-IP: {}", node.address());
    for field in [
        "X-Ultrapeer: True",
        "X-Query-Routing: 0.1",
        "X-Ultrapeer-Query-Routing: 0.1",
        "Accept-Encoding: deflate",
        "Remote-IP: 127.0.0.1",
        "GGEP: 0.5",
        "Vendor-Message: 0.2",
        "Bye-Packet: 0.1",
        &listen,
    ] {
        assert!(offer.lines().any(|line| line == field), "{field}: {offer}");
    }
    // What it understands of vendors comes first.
    let supported = peer.next_of(super::raw::VENDOR);
    assert_eq!(supported.payload, b"\0\0\0\0\0\0\0\0\x01\0BEAR\x04\0\x01\0");
    end(node, rt);
}

#[test]
fn who_knows_only_version_0_4_is_met_so() {
    let rt = runtime();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = NodeOptions {
        connect: vec![listener.local_addr().unwrap().to_string()],
        ..options()
    };
    let node = node(&rt, options);
    use std::io::Write;
    let (first, _) = listener.accept().unwrap();
    drop(first);
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(super::raw::head(&mut stream), "GNUTELLA CONNECT/0.4\n\n");
    stream.write_all(b"GNUTELLA OK\n\n").unwrap();
    until("connected", || node.stats().ultrapeers == 1);
    end(node, rt);
}

#[test]
fn a_node_does_not_talk_to_itself() {
    let rt = runtime();
    let node = node(&rt, options());
    let fields = format!("Listen-IP: {}\r\n", node.address());
    let (mut itself, answer) = Raw::meet_with(node.address(), &fields);
    assert!(answer.starts_with("GNUTELLA/0.6 200 "), "{answer}");
    assert_eq!(itself.rest(), []);
    until("it has left", || node.stats().ultrapeers == 0);
    end(node, rt);
}

#[test]
fn who_is_connected_is_not_connected_to() {
    let rt = runtime();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let node = node(&rt, options());
    let fields = format!("Listen-IP: {}\r\n", listener.local_addr().unwrap());
    let (mut peer, _) = Raw::meet_with(node.address(), &fields);
    peer.settle();
    until("it is known", || node.stats().hosts == 1);
    // It is looked after several times meanwhile.
    for _ in 0..20 {
        peer.settle();
    }
    assert!(listener.accept().is_err());
    drop(peer);
    until("it is connected to when it has gone", || {
        listener.accept().is_ok()
    });
    end(node, rt);
}
