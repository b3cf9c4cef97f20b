//! The side that is connected to.

use super::fields::{HandshakeFields, shortened};
use super::head::{Head, HeadReader};
use super::profile::{Profile, field, write_deflate, write_hosts};
use super::{Agreement, CONNECT_04, CONNECT_06, OK_04, ProtocolVersion, Refusal, Role};
use super::{status, write_status};
use crate::error::Error;
use crate::limits::Limits;
use core::net::SocketAddrV4;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptorStep {
    /// More bytes of the peer are needed.
    Incomplete,
    /// The peer has told what it can: [`Acceptor::accept`] or [`Acceptor::refuse`] it. Until then
    /// its bytes stay where they are.
    Offered,
    /// Messages may follow, once the output is sent.
    Agreed(Box<Agreement>),
    /// The connection ends, once the output is sent.
    Refused(Refusal),
}

/// The handshake of the side that is connected to.
///
/// ```
/// use mely_gnutella::{Acceptor, AcceptorStep, Limits, Profile};
/// let (mut out, limits) = (Vec::new(), Limits::default());
/// let mut acceptor = Acceptor::new(Profile::default());
/// let offer = b"GNUTELLA CONNECT/0.6\r\nX-Ultrapeer: False\r\nAccept-Encoding: deflate\r\n\r\n";
/// let step = acceptor.receive(&mut &offer[..], &limits)?;
/// assert_eq!(step, AcceptorStep::Offered);
/// assert_eq!(acceptor.offer().ultrapeer, Some(false));
///
/// acceptor.accept(&[], &mut out);
/// let step = acceptor.receive(&mut &b"GNUTELLA/0.6 200 OK\r\n\r\n"[..], &limits)?;
/// let AcceptorStep::Agreed(agreement) = step else { panic!("it was accepted") };
/// assert!(agreement.deflate && !agreement.inflate);
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Acceptor {
    profile: Profile,
    state: State,
    reader: HeadReader,
    version: ProtocolVersion,
    peer: HandshakeFields,
}

#[derive(Debug, Clone)]
enum State {
    /// For the first group of headers.
    Waiting,
    Offered,
    /// For the last group of headers.
    Accepted,
    /// Nothing is left to read.
    Over(Box<AcceptorStep>),
}

impl Acceptor {
    /// Waits for a peer to begin.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            state: State::Waiting,
            reader: HeadReader::default(),
            version: ProtocolVersion::V06,
            peer: HandshakeFields::default(),
        }
    }

    /// What the peer has told so far.
    pub fn offer(&self) -> &HandshakeFields {
        &self.peer
    }

    /// The version that the peer wants.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Takes bytes of the peer from the front of `input`, none behind the handshake's.
    ///
    /// # Errors
    /// What is wrong with the handshake; the connection has to close.
    pub fn receive(&mut self, input: &mut &[u8], limits: &Limits) -> Result<AcceptorStep, Error> {
        match &self.state {
            State::Offered => return Ok(AcceptorStep::Offered),
            State::Over(step) => return Ok(AcceptorStep::clone(step)),
            State::Waiting | State::Accepted => {}
        }
        let Some(head) = self.reader.read(input, limits)? else {
            return Ok(AcceptorStep::Incomplete);
        };
        if let State::Accepted = self.state {
            let step = self.conclude(&head, limits)?;
            self.state = State::Over(Box::new(step.clone()));
            return Ok(step);
        }
        self.version = match &*head.line {
            CONNECT_04 => ProtocolVersion::V04,
            CONNECT_06 => ProtocolVersion::V06,
            _ => return Err(Error::NotGnutella),
        };
        self.peer = head.fields;
        self.state = State::Offered;
        Ok(AcceptorStep::Offered)
    }

    /// Accepts the offer: what to send is appended to `out`, with these hosts for the peer to know.
    /// Two leaves have nothing to say to each other, so that one is refused by another. Does nothing
    /// where there is no offer.
    pub fn accept(&mut self, hosts: &[SocketAddrV4], out: &mut Vec<u8>) {
        if !matches!(self.state, State::Offered) {
            return;
        }
        if self.version == ProtocolVersion::V04 {
            out.extend_from_slice(OK_04.as_bytes());
            out.extend_from_slice(b"\n\n");
            let agreed = self.agreed(Role::Ultrapeer, false);
            self.state = State::Over(Box::new(agreed));
            return;
        }
        if (self.profile.role, self.offered_role()) == (Role::Leaf, Role::Leaf) {
            self.refuse(503, "I am a leaf", hosts, out);
            return;
        }
        write_status(out, 200, "OK");
        self.profile.write(out);
        if self.profile.role == Role::Ultrapeer {
            let needed = self.profile.ultrapeer_needed;
            field(
                out,
                "X-Ultrapeer-Needed",
                if needed { "True" } else { "False" },
            );
        }
        if self.deflates() {
            write_deflate(out);
        }
        write_hosts(out, hosts);
        out.extend_from_slice(b"\r\n");
        self.state = State::Accepted;
    }

    /// Refuses the offer: what to send is appended to `out`. A status of 503 tells that there is no
    /// room, and the hosts where there may be some. In version 0.4 nothing can be said. Does nothing
    /// where there is no offer.
    pub fn refuse(&mut self, code: u16, reason: &str, hosts: &[SocketAddrV4], out: &mut Vec<u8>) {
        if !matches!(self.state, State::Offered) {
            return;
        }
        if self.version == ProtocolVersion::V06 {
            write_status(out, code, reason);
            write_hosts(out, hosts);
            out.extend_from_slice(b"\r\n");
        }
        self.state = State::Over(Box::new(AcceptorStep::Refused(Refusal {
            by_peer: false,
            status: code,
            reason: reason.to_owned(),
            hosts: self.peer.try_hosts.clone(),
        })));
    }

    fn offered_role(&self) -> Role {
        match self.peer.ultrapeer {
            Some(false) => Role::Leaf,
            _ => Role::Ultrapeer,
        }
    }

    fn deflates(&self) -> bool {
        self.profile.compress && self.peer.accepts_deflate
    }

    fn conclude(&mut self, head: &Head, limits: &Limits) -> Result<AcceptorStep, Error> {
        let (code, reason) = status(&head.line)?;
        if code != 200 {
            return Ok(AcceptorStep::Refused(Refusal {
                by_peer: true,
                status: code,
                reason: shortened(reason, limits.max_agent_bytes).to_owned(),
                hosts: self.peer.try_hosts.clone(),
            }));
        }
        self.peer.amend(&head.fields);
        Ok(self.agreed(self.offered_role(), self.deflates()))
    }

    fn agreed(&self, peer_role: Role, deflate: bool) -> AcceptorStep {
        AcceptorStep::Agreed(Box::new(Agreement {
            version: self.version,
            our_role: self.profile.role,
            peer_role,
            inflate: self.peer.sends_deflate && self.version == ProtocolVersion::V06,
            deflate,
            peer: self.peer.clone(),
        }))
    }
}
