//! The node: a network of nodes, peers of the test's own, and those who mean harm.

mod breakers;
mod downloads;
mod ends;
mod hosts;
mod network;
mod raw;
mod routing;

use mely::Runtime;
use mely_gnutella::Role;
use mely_gnutella::node::{Node, NodeOptions, Share};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than anything takes here: a test fails by it, and never waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

/// What the tests have in common: a free port, and no waiting.
fn options() -> NodeOptions {
    let mut options = NodeOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        ..NodeOptions::default()
    };
    options.node.tend_every = Duration::from_millis(10);
    options.node.retry_first = Duration::from_millis(10);
    options.protocol.ping_interval_s = 0;
    options
}

fn leaf() -> NodeOptions {
    NodeOptions {
        role: Role::Leaf,
        ..options()
    }
}

fn connected_to(options: NodeOptions, node: &Node) -> NodeOptions {
    NodeOptions {
        connect: vec![node.address().to_string()],
        ..options
    }
}

/// A node that shares nothing.
fn node(rt: &Runtime, options: NodeOptions) -> Node {
    let share = Share::empty(&options.protocol);
    Node::start(rt, share, options).unwrap()
}

/// A node that shares a directory.
fn sharing(rt: &Runtime, folder: &Path, options: NodeOptions) -> Node {
    let share = Share::open(folder, &options.protocol, |_| ()).unwrap();
    Node::start(rt, share, options).unwrap()
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Waits until something is so, which it will be.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn end(node: Node, rt: Runtime) {
    assert_eq!(node.shutdown(PATIENCE).unwrap(), 0);
    assert_eq!(rt.metrics().total(|worker| worker.panics), 0);
    rt.shutdown(PATIENCE).unwrap();
}
