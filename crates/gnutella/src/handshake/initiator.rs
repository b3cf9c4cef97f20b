//! The side that connects.

use super::fields::shortened;
use super::head::{Head, HeadReader};
use super::profile::{Profile, write_deflate, write_role};
use super::{Agreement, CONNECT_04, CONNECT_06, OK_04, ProtocolVersion, Refusal, Role};
use super::{status, write_status};
use crate::error::Error;
use crate::limits::Limits;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitiatorStep {
    /// More bytes of the peer are needed.
    Incomplete,
    /// Messages may follow, once the output is sent.
    Agreed(Box<Agreement>),
    /// The connection ends, once the output is sent.
    Refused(Refusal),
}

/// The handshake of the side that connects.
///
/// ```
/// use mely_gnutella::{Initiator, InitiatorStep, Limits, Profile};
/// let (mut out, limits) = (Vec::new(), Limits::default());
/// let mut initiator = Initiator::new(Profile::default(), &mut out);
/// assert!(out.starts_with(b"GNUTELLA CONNECT/0.6\r\nUser-Agent: Mely/"));
///
/// out.clear();
/// let answer = b"GNUTELLA/0.6 200 OK\r\nX-Ultrapeer: True\r\n\r\nmessages";
/// let mut input = &answer[..];
/// let step = initiator.receive(&mut input, &mut out, &limits)?;
/// assert!(matches!(step, InitiatorStep::Agreed(_)));
/// assert_eq!((&out[..], input), (&b"GNUTELLA/0.6 200 OK\r\n\r\n"[..], &b"messages"[..]));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Initiator {
    profile: Profile,
    version: ProtocolVersion,
    reader: HeadReader,
}

impl Initiator {
    /// Begins a handshake of version 0.6: what to send is appended to `out`.
    pub fn new(profile: Profile, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(CONNECT_06.as_bytes());
        out.extend_from_slice(b"\r\n");
        profile.write(out);
        out.extend_from_slice(b"\r\n");
        Self::waiting(profile, ProtocolVersion::V06)
    }

    /// Begins a handshake of version 0.4, for servents of before 2001.
    pub fn legacy(profile: Profile, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(CONNECT_04.as_bytes());
        out.extend_from_slice(b"\n\n");
        Self::waiting(profile, ProtocolVersion::V04)
    }

    fn waiting(profile: Profile, version: ProtocolVersion) -> Self {
        Self {
            profile,
            version,
            reader: HeadReader::default(),
        }
    }

    /// Takes bytes of the peer from the front of `input`, none behind the handshake's, and appends
    /// to `out` what to send. After another step than [`InitiatorStep::Incomplete`] it is over.
    ///
    /// # Errors
    /// What is wrong with the handshake; the connection has to close.
    pub fn receive(
        &mut self,
        input: &mut &[u8],
        out: &mut Vec<u8>,
        limits: &Limits,
    ) -> Result<InitiatorStep, Error> {
        let Some(head) = self.reader.read(input, limits)? else {
            return Ok(InitiatorStep::Incomplete);
        };
        if self.version == ProtocolVersion::V04 {
            return self.legacy_answer(head);
        }
        let (code, reason) = status(&head.line)?;
        if code != 200 {
            return Ok(InitiatorStep::Refused(Refusal {
                by_peer: true,
                status: code,
                reason: shortened(reason, limits.max_agent_bytes).to_owned(),
                hosts: head.fields.try_hosts,
            }));
        }
        Ok(self.decide(head, out))
    }

    fn legacy_answer(&self, head: Head) -> Result<InitiatorStep, Error> {
        if head.line != OK_04 {
            return Err(Error::NotGnutella);
        }
        Ok(InitiatorStep::Agreed(Box::new(Agreement {
            version: ProtocolVersion::V04,
            our_role: self.profile.role,
            peer_role: Role::Ultrapeer,
            inflate: false,
            deflate: false,
            peer: head.fields,
        })))
    }

    fn decide(&self, head: Head, out: &mut Vec<u8>) -> InitiatorStep {
        let peer = head.fields;
        let is_guided = self.profile.role == Role::Ultrapeer
            && self.profile.may_become_leaf
            && peer.ultrapeer == Some(true)
            && peer.ultrapeer_needed == Some(false);
        let our_role = if is_guided {
            Role::Leaf
        } else {
            self.profile.role
        };
        // Servents without roles send messages on, as ultrapeers do.
        let peer_role = match peer.ultrapeer {
            Some(false) => Role::Leaf,
            _ => Role::Ultrapeer,
        };
        if (our_role, peer_role) == (Role::Leaf, Role::Leaf) {
            let reason = "We are leaves both";
            write_status(out, 503, reason);
            out.extend_from_slice(b"\r\n");
            return InitiatorStep::Refused(Refusal {
                by_peer: false,
                status: 503,
                reason: reason.to_owned(),
                hosts: peer.try_hosts,
            });
        }
        let deflate = self.profile.compress && peer.accepts_deflate;
        write_status(out, 200, "OK");
        if is_guided {
            write_role(out, Role::Leaf);
        }
        if deflate {
            write_deflate(out);
        }
        out.extend_from_slice(b"\r\n");
        InitiatorStep::Agreed(Box::new(Agreement {
            version: ProtocolVersion::V06,
            our_role,
            peer_role,
            inflate: peer.sends_deflate,
            deflate,
            peer,
        }))
    }
}
