//! What this node tells of itself.

use super::Role;
use core::net::{IpAddr, SocketAddrV4};

/// What this node is and can do, as its headers tell it. Made for each connection, as some of it
/// depends on how many there are.
///
/// ```
/// use mely_gnutella::{Profile, Role};
/// let profile = Profile {
///     role: Role::Leaf,
///     listen: "192.0.2.1:6346".parse().ok(),
///     ..Profile::default()
/// };
/// assert!(profile.compress);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// `User-Agent`: the program and its version. Other servents ban agents that they do not like.
    pub user_agent: String,
    /// What it is.
    pub role: Role,
    /// As an ultrapeer: whether other ultrapeers shall stay ones beside it, or become leaves.
    pub ultrapeer_needed: bool,
    /// As an ultrapeer that connects: whether it becomes a leaf where it is not needed.
    pub may_become_leaf: bool,
    /// Where it accepts connections, if it is known.
    pub listen: Option<SocketAddrV4>,
    /// The peer's address, to be told to it.
    pub remote: Option<IpAddr>,
    /// Whether messages are compressed in both directions, where the peer can do it.
    pub compress: bool,
    /// As an ultrapeer: how many of them it connects to. Others want to see 16 or more of it before
    /// they send it few queries at a time.
    pub degree: u16,
    /// The TTL that queries begin with at the most.
    pub max_ttl: u8,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            user_agent: concat!("Mely/", env!("CARGO_PKG_VERSION")).to_owned(),
            role: Role::Ultrapeer,
            ultrapeer_needed: true,
            may_become_leaf: true,
            listen: None,
            remote: None,
            compress: true,
            degree: 32,
            max_ttl: 4,
        }
    }
}

impl Profile {
    /// The headers of the first group that this node sends.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let agent: String = self
            .user_agent
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        field(out, "User-Agent", &agent);
        write_role(out, self.role);
        field(out, "X-Query-Routing", "0.1");
        if self.role == Role::Ultrapeer {
            field(out, "X-Ultrapeer-Query-Routing", "0.1");
            field(out, "X-Dynamic-Querying", "0.1");
            field(out, "X-Degree", &self.degree.to_string());
        }
        field(out, "X-Max-TTL", &self.max_ttl.to_string());
        field(out, "Pong-Caching", "0.1");
        field(out, "Vendor-Message", "0.2");
        field(out, "GGEP", "0.5");
        field(out, "Bye-Packet", "0.1");
        if let Some(listen) = self.listen {
            field(out, "Listen-IP", &listen.to_string());
        }
        if let Some(remote) = self.remote {
            field(out, "Remote-IP", &remote.to_string());
        }
        if self.compress {
            field(out, "Accept-Encoding", "deflate");
        }
    }
}

pub(super) fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
}

pub(super) fn write_role(out: &mut Vec<u8>, role: Role) {
    let is_ultrapeer = role == Role::Ultrapeer;
    field(
        out,
        "X-Ultrapeer",
        if is_ultrapeer { "True" } else { "False" },
    );
}

pub(super) fn write_deflate(out: &mut Vec<u8>) {
    field(out, "Content-Encoding", "deflate");
}

pub(super) fn write_hosts(out: &mut Vec<u8>, hosts: &[SocketAddrV4]) {
    if !hosts.is_empty() {
        let hosts: Vec<_> = hosts.iter().map(SocketAddrV4::to_string).collect();
        field(out, "X-Try-Ultrapeers", &hosts.join(","));
    }
}
