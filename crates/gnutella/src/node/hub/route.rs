//! Messages of a peer, and where they go.

use super::{HOSTS_TOLD, Hub};
use crate::decoder::Frame;
use crate::guid::Guid;
use crate::header::{Header, Kind};
use crate::message::{Message, Ping, Pong};
use crate::node::outlet::{Whole, frame_of, whole};
use crate::node::setting::{fresh_guid, unix_s};
use crate::routing::{Action, DropReason, PeerId};
use mely::Context;
use std::collections::BTreeMap;
use std::ops::Range;

/// How far a ping of this node's own goes: to those that the neighbours know.
const PING_TTL: u8 = 2;

/// What the hub says of the messages that a connection has received.
pub(in crate::node) struct Turn {
    /// The messages again, each with its header.
    pub(in crate::node) bytes: Vec<u8>,
    /// Those that are for this node: pings, queries and pushes.
    pub(in crate::node) ours: Vec<Range<usize>>,
    /// What the peer is to be sent: pongs that were remembered.
    pub(in crate::node) answers: Vec<Whole>,
    /// Hosts for pongs that are to tell some.
    pub(in crate::node) packed_hosts: Vec<u8>,
}

type Outgoing = BTreeMap<PeerId, Vec<Whole>>;

impl Hub {
    /// Routes whole messages, one behind the other.
    pub(in crate::node) fn turn(
        &mut self,
        from: PeerId,
        bytes: Vec<u8>,
        cx: &Context<'_, Hub>,
    ) -> Turn {
        let now_s = self.setting.now_s(cx.now());
        let mut turn = Turn {
            bytes: Vec::new(),
            ours: Vec::new(),
            answers: Vec::new(),
            packed_hosts: Vec::new(),
        };
        let (mut outgoing, mut at) = (Outgoing::new(), 0);
        while let Some(range) = next(&bytes, at) {
            at = range.end;
            let Some(frame) = frame_of(&bytes[range.clone()]) else {
                break;
            };
            if self.message(from, &frame, now_s, &mut turn.answers, &mut outgoing) {
                turn.ours.push(range);
            }
        }
        if turn.ours.iter().any(|range| is_ping(&bytes[range.clone()])) {
            turn.packed_hosts = self.hosts.packed(HOSTS_TOLD);
        }
        self.send_each(outgoing);
        turn.bytes = bytes;
        turn
    }

    /// Routes one message: whether the connection has to look at it, too.
    fn message(
        &mut self,
        from: PeerId,
        frame: &Frame<'_>,
        now_s: u64,
        answers: &mut Vec<Whole>,
        outgoing: &mut Outgoing,
    ) -> bool {
        let Ok(message) = Message::parse(frame, &self.setting.options.protocol) else {
            self.setting.counts.dropped(DropReason::Malformed);
            return false;
        };
        let mut is_ours = false;
        let actions = self.router.route(from, frame, &message, now_s);
        if let Message::Pong(pong) = &message {
            self.hear(pong, &actions);
        }
        for action in actions {
            match action {
                Action::Forward { header, to } => forward(header, frame.payload, &to, outgoing),
                Action::Deliver => is_ours = true,
                Action::Answer { header, payload } => answers.push(whole(header, &payload)),
                Action::Drop(reason) => self.setting.counts.dropped(reason),
            }
        }
        match &message {
            Message::QueryHit(hit) if is_ours => {
                self.found(frame.header.guid, hit);
                false
            }
            _ => is_ours,
        }
    }

    fn send_each(&self, outgoing: Outgoing) {
        for (to, messages) in outgoing {
            self.send(to, messages);
        }
    }

    /// A pong tells of a host, unless the router finds it no good. Those that tell that they are no
    /// ultrapeers are not worth a connection.
    fn hear(&mut self, pong: &Pong<'_>, actions: &[Action]) {
        let is_bad = |action: &Action| *action == Action::Drop(DropReason::BadAddress);
        if actions.iter().any(is_bad) {
            return;
        }
        let now_s = unix_s();
        let block = pong.ggep(&self.setting.options.protocol).ok().flatten();
        let Some(block) = block else {
            self.hosts.heard(pong.address, now_s, 0);
            return;
        };
        if block.ultrapeer().is_some() {
            let uptime_s = block.daily_uptime_s().unwrap_or(0);
            self.hosts.heard(pong.address, now_s, uptime_s);
        }
        let max = self.setting.options.protocol.max_try_hosts;
        let packed: Vec<_> = block.packed_hosts().take(max).collect();
        self.heard(&packed);
    }

    /// Pings one peer, or all.
    pub(in crate::node) fn ping(&mut self, only: Option<PeerId>) {
        let Some(header) = own(Kind::Ping, if only.is_some() { 1 } else { PING_TTL }) else {
            return;
        };
        // "SCP": hosts that have room are welcome; byte 0 says that this is for an ultrapeer, too.
        let ping = Message::Ping(Ping {
            extensions: b"\xc3\x83SCP\x41\x01",
        });
        let now_s = self.setting.now_s(std::time::Instant::now());
        let Ok(actions) = self.router.originate(header, &ping, now_s) else {
            return;
        };
        let bytes = written(&ping, header);
        for action in actions {
            let Action::Forward { to, .. } = action else {
                continue;
            };
            for peer in to
                .into_iter()
                .filter(|&to| only.is_none_or(|only| only == to))
            {
                self.send(peer, vec![bytes.clone()]);
            }
        }
    }

    /// Sends a message of this node's own where the router says.
    pub(super) fn originate(&mut self, header: Header, message: &Message<'_>) -> bool {
        let now_s = self.setting.now_s(std::time::Instant::now());
        let Ok(actions) = self.router.originate(header, message, now_s) else {
            return false;
        };
        let bytes = written(message, header);
        let payload = &bytes[Header::BYTES..];
        let mut outgoing = Outgoing::new();
        for action in actions {
            if let Action::Forward { header, to } = action {
                forward(header, payload, &to, &mut outgoing);
            }
        }
        self.send_each(outgoing);
        true
    }
}

/// The header of a message of this node's own.
pub(super) fn own(kind: Kind, ttl: u8) -> Option<Header> {
    let guid: Guid = fresh_guid().ok()?;
    Some(Header {
        guid,
        kind,
        ttl,
        hops: 0,
        length: 0,
    })
}

pub(super) fn written(message: &Message<'_>, header: Header) -> Whole {
    let mut bytes = Vec::new();
    message.write(header.guid, header.ttl, header.hops, &mut bytes);
    bytes.into()
}

fn forward(header: Header, payload: &[u8], to: &[PeerId], outgoing: &mut Outgoing) {
    let message = whole(header, payload);
    for &peer in to {
        let messages = outgoing.entry(peer).or_default();
        messages.push(message.clone());
    }
}

/// Where the message lies that begins there.
fn next(bytes: &[u8], begin: usize) -> Option<Range<usize>> {
    let header = Header::read(bytes.get(begin..)?).ok()?;
    let end = begin + Header::BYTES + header.length as usize;
    (end <= bytes.len()).then_some(begin..end)
}

fn is_ping(bytes: &[u8]) -> bool {
    Header::read(bytes).is_ok_and(|header| header.kind == Kind::Ping)
}
