//! What a node is to be.

use super::limits::NodeLimits;
use crate::handshake::Role;
use crate::limits::Limits;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// What a [`Node`](super::Node) is to be, and how.
///
/// ```
/// use mely_gnutella::Role;
/// use mely_gnutella::node::NodeOptions;
/// let options = NodeOptions {
///     role: Role::Leaf,
///     connect: vec!["gnutella.example.org:6346".to_owned()],
///     ..NodeOptions::default()
/// };
/// assert!(options.compress);
/// ```
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Where it listens; port 0 takes a free one. 127.0.0.1:6346 where nothing is said.
    pub listen: SocketAddr,
    /// Whether it is an ultrapeer (the default) or a leaf.
    pub role: Role,
    /// Hosts to stay connected to, each `HOST:PORT`; the port may be left out. Names are looked up
    /// each time.
    pub connect: Vec<String>,
    /// A file that hosts are read from in the beginning and written to in the end, and now and then.
    pub hosts: Option<PathBuf>,
    /// Takes addresses of local networks and of this machine for hosts, too. It does so anyway where
    /// it listens on such an address.
    pub allow_private: bool,
    /// Whether messages are compressed, where the peer can do it.
    pub compress: bool,
    /// Bounds of the node.
    pub node: NodeLimits,
    /// Bounds of the protocol.
    pub protocol: Limits,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)),
            role: Role::Ultrapeer,
            connect: Vec::new(),
            hosts: None,
            allow_private: false,
            compress: true,
            node: NodeLimits::default(),
            protocol: Limits::default(),
        }
    }
}

/// The port of hosts that come without one.
pub(super) const DEFAULT_PORT: u16 = 6346;

impl NodeOptions {
    /// Whether addresses of local networks are hosts.
    pub(super) fn is_private(&self) -> bool {
        let is_local = match self.listen.ip() {
            IpAddr::V4(ip) => ip.is_private() || ip.is_loopback() || ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_loopback(),
        };
        self.allow_private || is_local
    }
}
