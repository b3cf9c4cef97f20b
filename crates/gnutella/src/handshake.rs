//! How two servents agree to exchange messages (Gnutella 0.6 draft, section 2.1, and "Ultrapeers:
//! Another Step Towards Gnutella Scalability" 1.0).
//!
//! ```text
//!  Initiator                                  Acceptor
//!  GNUTELLA CONNECT/0.6 + what it can  ──►
//!                                      ◄──    GNUTELLA/0.6 200 OK + what it can
//!                                             GNUTELLA/0.6 503 ... + hosts to try instead
//!  GNUTELLA/0.6 200 OK + what it chose ──►
//! ```
//!
//! In version 0.4 one sends `GNUTELLA CONNECT/0.4`, the other `GNUTELLA OK`, and no headers.

mod acceptor;
mod fields;
mod head;
mod initiator;
mod profile;

pub use acceptor::{Acceptor, AcceptorStep};
pub use fields::HandshakeFields;
pub use initiator::{Initiator, InitiatorStep};
pub use profile::Profile;

use crate::error::Error;
use core::net::SocketAddrV4;

const CONNECT_06: &str = "GNUTELLA CONNECT/0.6";
const CONNECT_04: &str = "GNUTELLA CONNECT/0.4";
const OK_04: &str = "GNUTELLA OK";
const STATUS_06: &str = "GNUTELLA/0.6 ";

/// What a servent is for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It has leaves, and sends messages on.
    Ultrapeer,
    /// It stands behind ultrapeers, and sends nothing on.
    Leaf,
}

/// Which handshake it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtocolVersion {
    /// Without headers, roles and compression.
    V04,
    /// With all of them.
    V06,
}

/// What both sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The version.
    pub version: ProtocolVersion,
    /// What this node is on this connection: an ultrapeer may have been guided to be a leaf.
    pub our_role: Role,
    /// What the peer is. One of version 0.4 sends messages on as ultrapeers do.
    pub peer_role: Role,
    /// Whether what comes in is compressed.
    pub inflate: bool,
    /// Whether what goes out has to be compressed.
    pub deflate: bool,
    /// What the peer told.
    pub peer: HandshakeFields,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whether the peer refused; otherwise it was this node, and the peer has been told.
    pub by_peer: bool,
    /// The status: 503 for want of room, mostly.
    pub status: u16,
    /// A few words for people.
    pub reason: String,
    /// Hosts to try instead, that the peer told of.
    pub hosts: Vec<SocketAddrV4>,
}

/// The status of a first line such as `GNUTELLA/0.6 503 Full`.
fn status(line: &str) -> Result<(u16, &str), Error> {
    let rest = line.strip_prefix(STATUS_06).ok_or(Error::NotGnutella)?;
    let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_code = code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit());
    match code.parse() {
        Ok(code) if is_code => Ok((code, reason.trim())),
        _ => Err(Error::NotGnutella),
    }
}

/// A line of this node's that may hold a peer's or a user's text.
fn write_status(out: &mut Vec<u8>, status: u16, reason: &str) {
    let reason: String = reason.chars().filter(|c| !c.is_control()).collect();
    out.extend_from_slice(format!("{STATUS_06}{status} {reason}\r\n").as_bytes());
}

#[cfg(test)]
mod tests;
