//! Bounds on what a node does at a time, and for how long.

use mely_async::WhenFull;
use std::time::Duration;

/// Bounds of a [`Node`](super::Node), beside those of the protocol ([`Limits`](crate::Limits)).
///
/// ```
/// use mely_gnutella::node::NodeLimits;
/// let limits = NodeLimits { max_leaves: 30, ..NodeLimits::default() };
/// assert_eq!(limits.max_ultrapeers, 32);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLimits {
    /// Connections that were accepted, of all kinds, at a time (512). Others wait in the system's
    /// queue.
    pub max_connections: usize,
    /// Ultrapeers that are connected, whoever began (32); a leaf has three at the most. Others are
    /// refused with hosts to try.
    pub max_ultrapeers: usize,
    /// Leaves that are connected (128).
    pub max_leaves: usize,
    /// Ultrapeers that the node itself sees to be connected to (8), as far as hosts are known. Those
    /// that it was told to connect to come first, and are connected to even if there are more.
    pub outgoing: usize,
    /// Attempts to connect at a time (8).
    pub max_dials: usize,
    /// Bytes that wait to be written to one peer (256 KiB), and at least two of the longest messages;
    /// as many again may wait to be compressed for it.
    pub queue_bytes: usize,
    /// What becomes of a peer that does not read as fast as it is sent to: it is closed (the
    /// default), or misses messages.
    pub when_full: WhenFull,
    /// How long a connection may take to be made (10 s).
    pub connect_time: Duration,
    /// How long a handshake may take, from the first byte to the last (10 s).
    pub handshake_time: Duration,
    /// After so long without a byte a peer is closed (180 s).
    pub idle_time: Duration,
    /// How often peers are pinged (60 s).
    pub ping_every: Duration,
    /// How long a peer may take to read why it is closed (200 ms).
    pub bye_time: Duration,
    /// How often the node looks after its connections and route tables (1 s).
    pub tend_every: Duration,
    /// How long it waits after a failed connection to a host (1 s), doubled with each, ...
    pub retry_first: Duration,
    /// ... up to this (10 min).
    pub retry_max: Duration,
    /// Files that are sent at a time (16); others are asked to come again.
    pub max_uploads: usize,
    /// How long a peer that downloads may do nothing (30 s).
    pub upload_idle_time: Duration,
    /// Connections at a time that were asked for by pushes (8).
    pub max_pushes: usize,
    /// Searches of this node's own that hits are taken for (32): the newest.
    pub max_searches: usize,
    /// How often the file of hosts is written, if there is one (5 min).
    pub hosts_every: Duration,
}

impl Default for NodeLimits {
    fn default() -> Self {
        Self {
            max_connections: 512,
            max_ultrapeers: 32,
            max_leaves: 128,
            outgoing: 8,
            max_dials: 8,
            queue_bytes: 256 * 1024,
            when_full: WhenFull::Close,
            connect_time: Duration::from_secs(10),
            handshake_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(180),
            ping_every: Duration::from_secs(60),
            bye_time: Duration::from_millis(200),
            tend_every: Duration::from_secs(1),
            retry_first: Duration::from_secs(1),
            retry_max: Duration::from_secs(600),
            max_uploads: 16,
            upload_idle_time: Duration::from_secs(30),
            max_pushes: 8,
            max_searches: 32,
            hosts_every: Duration::from_secs(300),
        }
    }
}
