//! What a node counts.

use crate::header::Kind;
use crate::routing::DropReason;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The kinds of messages, as counts tell them apart.
const KINDS: [&str; 9] = [
    "ping",
    "pong",
    "bye",
    "route_table",
    "vendor",
    "push",
    "query",
    "query_hit",
    "unknown",
];

fn place(kind: Kind) -> usize {
    match kind {
        Kind::Ping => 0,
        Kind::Pong => 1,
        Kind::Bye => 2,
        Kind::RouteTable => 3,
        Kind::Vendor | Kind::VendorStandard => 4,
        Kind::Push => 5,
        Kind::Query => 6,
        Kind::QueryHit => 7,
        Kind::Unknown(_) => 8,
    }
}

/// A count that all connections add to, and that orders nothing else.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        // Relaxed: a count.
        self.0.fetch_add(more, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // Relaxed: a count.
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self, value: u64) {
        // Relaxed: it is told to people only.
        self.0.store(value, Relaxed);
    }
}

/// All counts of a node.
#[derive(Debug, Default)]
pub(super) struct Counts {
    received: [Count; KINDS.len()],
    sent: [Count; KINDS.len()],
    dropped: [Count; DropReason::ALL.len()],
    pub(super) ultrapeers: Count,
    pub(super) leaves: Count,
    pub(super) hosts: Count,
    pub(super) handshakes: Count,
    pub(super) refused: Count,
    pub(super) failed_handshakes: Count,
    pub(super) broken_protocol: Count,
    pub(super) clogged: Count,
    pub(super) shed: Count,
    pub(super) uploads: Count,
    pub(super) uploads_refused: Count,
    pub(super) uploaded_bytes: Count,
    pub(super) pushes: Count,
}

impl Counts {
    pub(super) fn received(&self, kind: Kind) {
        self.received[place(kind)].add(1);
    }

    pub(super) fn sent(&self, kind: Kind) {
        self.sent[place(kind)].add(1);
    }

    pub(super) fn dropped(&self, reason: DropReason) {
        self.dropped[reason as usize].add(1);
    }

    pub(super) fn read(&self) -> NodeStats {
        let kinds = |counts: &[Count; KINDS.len()]| {
            let counts = KINDS.iter().zip(counts);
            counts.map(|(&name, count)| (name, count.get())).collect()
        };
        let reasons = DropReason::ALL.into_iter();
        NodeStats {
            received: kinds(&self.received),
            sent: kinds(&self.sent),
            dropped: reasons
                .map(|reason| (reason.name(), self.dropped[reason as usize].get()))
                .collect(),
            ultrapeers: self.ultrapeers.get(),
            leaves: self.leaves.get(),
            hosts: self.hosts.get(),
            handshakes: self.handshakes.get(),
            refused: self.refused.get(),
            failed_handshakes: self.failed_handshakes.get(),
            broken_protocol: self.broken_protocol.get(),
            clogged: self.clogged.get(),
            shed: self.shed.get(),
            uploads: self.uploads.get(),
            uploads_refused: self.uploads_refused.get(),
            uploaded_bytes: self.uploaded_bytes.get(),
            pushes: self.pushes.get(),
        }
    }
}

/// What a node has counted up to a moment.
///
/// ```
/// let stats = mely_gnutella::node::NodeStats::default();
/// assert_eq!((stats.leaves, stats.received("query"), stats.dropped("duplicate")), (0, 0, 0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// Messages that came, by kind.
    pub received: Vec<(&'static str, u64)>,
    /// Messages that were sent, by kind: own ones, and those of others that were sent on, once for
    /// each receiver.
    pub sent: Vec<(&'static str, u64)>,
    /// Messages that came and went no further, by reason.
    pub dropped: Vec<(&'static str, u64)>,
    /// Ultrapeers that are connected.
    pub ultrapeers: u64,
    /// Leaves that are connected.
    pub leaves: u64,
    /// Hosts that are known.
    pub hosts: u64,
    /// Handshakes that ended in a connection.
    pub handshakes: u64,
    /// Handshakes that one side refused, for want of room mostly.
    pub refused: u64,
    /// Handshakes that came to no end: too late, broken, or the peer was gone.
    pub failed_handshakes: u64,
    /// Connections that were closed as the peer broke the protocol.
    pub broken_protocol: u64,
    /// Connections that were closed as the peer did not read.
    pub clogged: u64,
    /// Messages that peers missed as they did not read.
    pub shed: u64,
    /// Files, and parts of files, that were sent to their ends.
    pub uploads: u64,
    /// Requests for files that were refused for want of room.
    pub uploads_refused: u64,
    /// Bytes of files that were sent.
    pub uploaded_bytes: u64,
    /// Connections that were made as others asked for them by pushes.
    pub pushes: u64,
}

impl NodeStats {
    /// The messages of one kind that came, by its name in [`received`](Self::received).
    pub fn received(&self, kind: &str) -> u64 {
        find(&self.received, kind)
    }

    /// The messages of one kind that were sent.
    pub fn sent(&self, kind: &str) -> u64 {
        find(&self.sent, kind)
    }

    /// The messages that were dropped for one reason ([`DropReason::name`]).
    pub fn dropped(&self, reason: &str) -> u64 {
        find(&self.dropped, reason)
    }

    /// The counts that are one number, by name; of these only the first three may fall.
    pub fn numbers(&self) -> [(&'static str, u64); 13] {
        [
            ("ultrapeers", self.ultrapeers),
            ("leaves", self.leaves),
            ("hosts", self.hosts),
            ("handshakes", self.handshakes),
            ("refused", self.refused),
            ("failed_handshakes", self.failed_handshakes),
            ("broken_protocol", self.broken_protocol),
            ("clogged", self.clogged),
            ("shed", self.shed),
            ("uploads", self.uploads),
            ("uploads_refused", self.uploads_refused),
            ("uploaded_bytes", self.uploaded_bytes),
            ("pushes", self.pushes),
        ]
    }

    /// The counts in the text format of Prometheus, to go after
    /// [`Snapshot::to_prometheus`](mely::Snapshot::to_prometheus).
    ///
    /// ```
    /// let text = mely_gnutella::node::NodeStats::default().to_prometheus();
    /// assert!(text.contains("\nmely_gnutella_leaves 0\n"));
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (at, (name, value)) in self.numbers().into_iter().enumerate() {
            let (kind, end) = if at < 3 {
                ("gauge", "")
            } else {
                ("counter", "_total")
            };
            let name = format!("mely_gnutella_{name}{end}");
            let _ = writeln!(text, "# TYPE {name} {kind}\n{name} {value}");
        }
        for (name, label, counts) in [
            ("received", "kind", &self.received),
            ("sent", "kind", &self.sent),
            ("dropped", "reason", &self.dropped),
        ] {
            let name = format!("mely_gnutella_{name}_messages_total");
            let _ = writeln!(text, "# TYPE {name} counter");
            for (value, count) in counts {
                let _ = writeln!(text, "{name}{{{label}=\"{value}\"}} {count}");
            }
        }
        text
    }
}

fn find(counts: &[(&'static str, u64)], name: &str) -> u64 {
    let found = counts.iter().find(|(known, _)| *known == name);
    found.map_or(0, |(_, count)| *count)
}
