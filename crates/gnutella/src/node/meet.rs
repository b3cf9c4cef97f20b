//! Handshakes, either side.

use super::here::Here;
use super::hub::{Hub, Seat};
use super::outlet::Line;
use crate::handshake::{
    Acceptor, AcceptorStep, Agreement, Initiator, InitiatorStep, Profile, ProtocolVersion, Role,
};
use mely::TaskState;
use mely_async::{TcpStream, timeout};
use std::io;
use std::net::SocketAddr;
use std::net::SocketAddrV4;

/// How much is read at a time: a group of headers, mostly.
const READ_BYTES: usize = 4 * 1024;

/// What a handshake has come to.
pub(super) struct Met {
    pub(super) agreement: Box<Agreement>,
    /// What the peer has sent behind it.
    pub(super) rest: Vec<u8>,
}

/// Why there is no connection.
pub(super) enum NotMet {
    /// One side has refused, and knows hosts instead.
    Refused(Vec<SocketAddrV4>),
    /// The peer does not speak this version, or is gone.
    Failed,
}

impl From<io::Error> for NotMet {
    fn from(_: io::Error) -> Self {
        Self::Failed
    }
}

impl From<crate::Error> for NotMet {
    fn from(_: crate::Error) -> Self {
        Self::Failed
    }
}

/// Reads more bytes of a peer.
///
/// # Errors
/// Also at the end of the stream.
pub(super) async fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut part = vec![0; READ_BYTES];
    match stream.read(&mut part).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            bytes.extend_from_slice(&part[..count]);
            Ok(())
        }
    }
}

/// The side that is connected to. `bytes` are what the peer has sent already.
pub(super) async fn accept(
    here: &Here,
    line: &TaskState<Line>,
    stream: &mut TcpStream,
    peer: SocketAddr,
    mut bytes: Vec<u8>,
) -> Result<(Seat, Met), NotMet> {
    let limits = &here.setting.options.protocol;
    let local = stream.local_addr().ok();
    let mut acceptor = Acceptor::new(here.setting.profile(local, peer));
    let (mut seat, mut out) = (None, Vec::new());
    loop {
        let mut input = &bytes[..];
        let step = acceptor.receive(&mut input, limits);
        let used = bytes.len() - input.len();
        bytes.drain(..used);
        match step? {
            AcceptorStep::Incomplete => read_more(stream, &mut bytes).await?,
            AcceptorStep::Offered => {
                let is_leaf = acceptor.version() == ProtocolVersion::V06
                    && acceptor.offer().ultrapeer == Some(false);
                let role = if is_leaf { Role::Leaf } else { Role::Ultrapeer };
                let reserved = here.reserve(role, line.colored()).await;
                match reserved.map_err(|_| NotMet::Failed)? {
                    Ok(reserved) => {
                        seat = Some(reserved);
                        let told = here.hub.call(|hub: &mut Hub, _| hub.told()).await;
                        acceptor.accept(&told.unwrap_or_default(), &mut out);
                    }
                    Err(hosts) => acceptor.refuse(503, "No room", &hosts, &mut out),
                }
                stream.write_all(&out).await?;
            }
            AcceptorStep::Agreed(agreement) => {
                let met = Met {
                    agreement,
                    rest: bytes,
                };
                return seat.map(|seat| (seat, met)).ok_or(NotMet::Failed);
            }
            AcceptorStep::Refused(refusal) => {
                here.setting.counts.refused.add(1);
                part(here, stream).await;
                return Err(NotMet::Refused(refusal.hosts));
            }
        }
    }
}

/// The side that connects.
pub(super) async fn initiate(
    here: &Here,
    stream: &mut TcpStream,
    peer: SocketAddr,
    version: ProtocolVersion,
) -> Result<Met, NotMet> {
    let limits = &here.setting.options.protocol;
    let profile: Profile = here.setting.profile(stream.local_addr().ok(), peer);
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    let mut initiator = match version {
        ProtocolVersion::V06 => Initiator::new(profile, &mut out),
        ProtocolVersion::V04 => Initiator::legacy(profile, &mut out),
    };
    loop {
        stream.write_all(&out).await?;
        out.clear();
        read_more(stream, &mut bytes).await?;
        let mut input = &bytes[..];
        let step = initiator.receive(&mut input, &mut out, limits);
        let used = bytes.len() - input.len();
        bytes.drain(..used);
        match step? {
            InitiatorStep::Incomplete => {}
            InitiatorStep::Agreed(agreement) => {
                stream.write_all(&out).await?;
                return Ok(Met {
                    agreement,
                    rest: bytes,
                });
            }
            InitiatorStep::Refused(refusal) => {
                here.setting.counts.refused.add(1);
                stream.write_all(&out).await?;
                part(here, stream).await;
                return Err(NotMet::Refused(refusal.hosts));
            }
        }
    }
}

/// Ends a connection so that the peer can read what it was sent last.
pub(super) async fn part(here: &Here, stream: &mut TcpStream) {
    let read = async {
        stream.shutdown().await?;
        let mut bytes = vec![0; READ_BYTES];
        while stream.read(&mut bytes).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(here.setting.options.node.bye_time, read).await;
}
