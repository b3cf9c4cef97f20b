//! Several nodes, and what they find at each other.

use super::raw::Raw;
use super::until;
use super::{
    PATIENCE, connected_to, downloads, end, folder, leaf, node, options, runtime, sharing,
};
use mely_gnutella::node::{Found, Node, NodeOptions};
use std::sync::mpsc;
use std::time::Duration;

/// Searches until something is found: tables are on their way when nodes have just met.
fn search(node: &Node, words: &str) -> Found {
    let (tell, told) = mpsc::channel();
    let mut found = None;
    until(words, || {
        let tell = tell.clone();
        let searched = node.search(words, move |found| tell.send(found).unwrap_or(()));
        assert_eq!(searched.wait(), Ok(true));
        found = told.recv_timeout(Duration::from_millis(50)).ok();
        found.is_some()
    });
    found.unwrap()
}

fn a_leaf_finds_what_another_has(plain: [bool; 4]) {
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let files = folder(&[("free song.ogg", &content), ("other.txt", b"other")]);
    let rt = runtime();
    let with = |compress, mut options: NodeOptions| {
        options.compress = compress;
        // Nobody connects to more than he is told of: the way is a long one.
        options.node.outgoing = 1;
        options
    };
    let first = node(&rt, with(plain[0], options()));
    let second = node(&rt, connected_to(with(plain[1], options()), &first));
    let seeks = node(&rt, connected_to(with(plain[2], leaf()), &first));
    let has = connected_to(with(plain[3], leaf()), &second);
    let has = sharing(&rt, files.path(), has);
    until("all are connected", || {
        first.stats().leaves == 1 && second.stats().leaves == 1 && first.stats().ultrapeers == 1
    });
    let found = search(&seeks, "song free");
    assert_eq!(found.address.to_string(), has.address().to_string());
    assert_eq!((&*found.name, found.bytes), ("free song.ogg", 1_200_000));
    assert_eq!((found.servent, found.needs_push), (has.servent(), false));
    assert!(
        downloads::get(
            has.address(),
            &format!("/get/{}/free%20song.ogg", found.index)
        ) == content
    );
    let urn = found.sha1.expect("a name of the content");
    assert!(downloads::get(has.address(), &format!("/uri-res/N2R?{urn}")) == content);
    // The seeker has no file, and nobody but the leaf's own ultrapeer asks the leaf.
    assert_eq!(has.stats().ultrapeers, 1);
    assert!(has.stats().sent("query_hit") >= 1 && first.stats().sent("query_hit") >= 1);
    for node in [seeks, has, second] {
        assert_eq!(node.shutdown(PATIENCE).unwrap(), 0);
    }
    end(first, rt);
}

#[test]
fn a_leaf_finds_what_another_has_over_compressed_links() {
    a_leaf_finds_what_another_has([true; 4]);
}

#[test]
fn a_leaf_finds_what_another_has_over_plain_links() {
    a_leaf_finds_what_another_has([false; 4]);
}

#[test]
fn a_leaf_finds_what_another_has_over_links_of_both_kinds() {
    a_leaf_finds_what_another_has([true, false, true, true]);
}

#[test]
fn what_no_leaf_has_is_asked_of_none() {
    let files = folder(&[("free song.ogg", b"la")]);
    let rt = runtime();
    let hub = node(&rt, options());
    let has = sharing(&rt, files.path(), connected_to(leaf(), &hub));
    until("the table is there", || {
        hub.stats().received("route_table") >= 2
    });
    let mut asks = Raw::ultrapeer(hub.address());
    asks.settle();
    let found = search_raw(&mut asks, 10, "free song");
    assert!(found, "the leaf is asked for what it has");
    let before = has.stats().received("query");
    asks.send(&super::raw::Said::query(200, 3, "something else"));
    asks.settle();
    let mut peer = Raw::ultrapeer(has.address());
    peer.settle();
    assert_eq!(has.stats().received("query"), before);
    assert_eq!(has.shutdown(PATIENCE).unwrap(), 0);
    end(hub, rt);
}

/// Queries until a hit comes: whether it does.
fn search_raw(peer: &mut Raw, first: u8, words: &str) -> bool {
    use super::raw::{QUERY_HIT, Said};
    (first..200).any(|number| {
        peer.send(&Said::query(number, 3, words));
        peer.stream
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let mut hit = false;
        while let Some(said) = peer.next() {
            if said.kind == QUERY_HIT {
                hit = true;
                break;
            }
        }
        peer.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        hit
    })
}

#[test]
fn nodes_find_each_other_by_what_others_tell() {
    let rt = runtime();
    let first = node(&rt, options());
    let second = node(&rt, connected_to(options(), &first));
    until("two", || first.stats().ultrapeers == 1);
    // The third is told of the first only.
    let third = node(&rt, connected_to(options(), &first));
    until("three", || {
        third.stats().ultrapeers == 2 && second.stats().ultrapeers == 2
    });
    for node in [third, second] {
        assert_eq!(node.shutdown(PATIENCE).unwrap(), 0);
    }
    end(first, rt);
}

#[test]
fn a_node_that_comes_back_is_connected_to_again() {
    let rt = runtime();
    let first = node(&rt, options());
    let address = first.address();
    let second = node(&rt, connected_to(options(), &first));
    until("connected", || {
        second.stats().ultrapeers == 1 && first.stats().ultrapeers == 1
    });
    assert_eq!(first.shutdown(PATIENCE).unwrap(), 0);
    until("gone", || second.stats().ultrapeers == 0);
    assert!(second.stats().received("bye") == 1);
    let again = node(
        &rt,
        NodeOptions {
            listen: address,
            ..options()
        },
    );
    until("connected again", || second.stats().ultrapeers == 1);
    assert_eq!(again.shutdown(PATIENCE).unwrap(), 0);
    end(second, rt);
}
