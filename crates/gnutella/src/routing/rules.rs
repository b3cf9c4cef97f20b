//! The rules for each kind of message.

use super::pongs::CachedPong;
use super::{Action, DropReason, Origin, Peer, PeerId, Router};
use crate::decoder::Frame;
use crate::guid::Guid;
use crate::handshake::Role;
use crate::header::{Header, Kind};
use crate::message::{Message, Pong, Query, VendorMessage};
use crate::qrp::QueryKey;
use std::sync::Arc;

impl Router {
    pub(super) fn decide(
        &mut self,
        from: PeerId,
        frame: &Frame<'_>,
        message: &Message<'_>,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        if !self.peers.contains_key(&from) {
            return Err(DropReason::PeerGone);
        }
        match message {
            Message::Bye(_) | Message::RouteTable(_) => self.neighbours(frame.header),
            Message::Vendor(vendor) => self.vendor(from, frame.header, vendor),
            Message::Unknown { .. } => Err(DropReason::UnknownType),
            Message::Ping(_) => self.ping(from, frame.header, now_s),
            Message::Pong(pong) => self.pong(from, frame, pong, now_s),
            Message::Query(query) => self.query(from, frame.header, query, now_s),
            Message::QueryHit(hit) => {
                let actions = self.answer(from, frame.header, now_s)?;
                self.servents.put(hit.servent, from, now_s);
                Ok(actions)
            }
            Message::Push(push) => self.push(from, frame.header, push.servent, now_s),
        }
    }

    /// The header as it is sent on: a hop more, a TTL less, both together no more than the limit.
    fn hop(&self, header: Header) -> Result<Header, DropReason> {
        if header.ttl == 0 {
            return Err(DropReason::Expired);
        }
        let room = self.limits.max_ttl.checked_sub(header.hops);
        let room = room.filter(|&room| room > 0).ok_or(DropReason::TooFar)?;
        Ok(Header {
            ttl: header.ttl.min(room) - 1,
            hops: header.hops + 1,
            ..header
        })
    }

    /// What only concerns the two ends of a connection, and should not have come farther.
    fn neighbours(&self, header: Header) -> Result<Vec<Action>, DropReason> {
        if header.hops > 0 {
            return Err(DropReason::Strayed);
        }
        Ok(vec![Action::Deliver])
    }

    fn vendor(
        &mut self,
        from: PeerId,
        header: Header,
        message: &VendorMessage<'_>,
    ) -> Result<Vec<Action>, DropReason> {
        let actions = self.neighbours(header)?;
        if let (Some(hops), Some(peer)) = (message.hops_flow(), self.peers.get_mut(&from)) {
            peer.hops_flow = hops;
        }
        Ok(actions)
    }

    fn ping(
        &mut self,
        from: PeerId,
        header: Header,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        let next = self.hop(header)?;
        let interval_s = self.limits.ping_interval_s;
        let peer = self.peers.get_mut(&from).ok_or(DropReason::PeerGone)?;
        if peer
            .pinged_s
            .is_some_and(|last_s| now_s < last_s.saturating_add(interval_s))
        {
            return Err(DropReason::TooOften);
        }
        peer.pinged_s = Some(now_s);
        if !self.origins.insert(header.guid, Origin::Peer(from), now_s) {
            return Err(DropReason::Duplicate);
        }
        let mut actions = vec![Action::Deliver];
        // One that goes no farther than here asks for this node alone.
        if next.ttl == 0 {
            return Ok(actions);
        }
        let pongs = self.pongs.choose(from, now_s, &self.limits);
        actions.extend(pongs.map(|pong| Action::Answer {
            header: Header {
                guid: header.guid,
                kind: Kind::Pong,
                // As far as the ping has come, and no farther.
                ttl: next.hops,
                hops: pong.hops,
                length: pong.payload.len() as u32,
            },
            payload: pong.payload,
        }));
        if self.role == Role::Ultrapeer {
            let needs = |peer: &Peer| peer.role == Role::Ultrapeer && !peer.caches_pongs;
            actions.extend(forward(next, self.others(from, needs)));
        }
        Ok(actions)
    }

    fn pong(
        &mut self,
        from: PeerId,
        frame: &Frame<'_>,
        pong: &Pong<'_>,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        if !self.policy.accepts(pong.address) {
            return Err(DropReason::BadAddress);
        }
        // Only answers are remembered: what nobody asked for may be made up.
        let Some(origin) = self.origins.get(frame.header.guid, now_s) else {
            return Err(DropReason::NoRoute);
        };
        let next = self.hop(frame.header)?;
        if frame.payload.len() <= self.limits.max_cached_pong_bytes {
            self.pongs.insert(CachedPong {
                address: pong.address,
                hops: next.hops,
                from,
                payload: Arc::from(frame.payload),
                heard_s: now_s,
            });
        }
        self.back(from, origin, next)
    }

    fn query(
        &mut self,
        from: PeerId,
        header: Header,
        query: &Query<'_>,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        let next = self.hop(header)?;
        let key = QueryKey::of(query, &self.limits).map_err(|_| DropReason::Malformed)?;
        if !self.origins.insert(header.guid, Origin::Peer(from), now_s) {
            return Err(DropReason::Duplicate);
        }
        let mut actions = vec![Action::Deliver];
        actions.extend(self.spread(Some(from), next, &key));
        Ok(actions)
    }

    /// To whom a query goes.
    pub(super) fn spread(
        &self,
        from: Option<PeerId>,
        header: Header,
        key: &QueryKey,
    ) -> Vec<Action> {
        if self.role == Role::Leaf && from.is_some() {
            return Vec::new();
        }
        let has = |peer: &Peer| peer.table.as_ref().map(|table| table.matches(key));
        let wants = |peer: &Peer| header.hops < peer.hops_flow;
        let leaves =
            |peer: &Peer| peer.role == Role::Leaf && wants(peer) && has(peer) == Some(true);
        // An ultrapeer's table tells of its leaves: where a query ends there, it need not go without
        // a match.
        let ultrapeers = |peer: &Peer| {
            let is_last = header.ttl == 1 && has(peer) == Some(false);
            peer.role == Role::Ultrapeer && wants(peer) && !is_last
        };
        let others = |is_meant: &dyn Fn(&Peer) -> bool| match from {
            Some(from) => self.others(from, is_meant),
            None => self.where_peers(is_meant).collect(),
        };
        // A leaf stands behind this node, not a hop away: it is asked where the query ends here, too.
        let to_leaves = Header {
            ttl: header.ttl.max(1),
            ..header
        };
        let mut actions = forward(to_leaves, others(&leaves));
        if header.ttl > 0 {
            actions.extend(forward(header, others(&ultrapeers)));
        }
        actions
    }

    /// A message that goes back to where another one came from.
    fn answer(
        &mut self,
        from: PeerId,
        header: Header,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        let origin = self.origins.get(header.guid, now_s);
        let origin = origin.ok_or(DropReason::NoRoute)?;
        let next = self.hop(header)?;
        self.back(from, origin, next)
    }

    fn back(&self, from: PeerId, origin: Origin, next: Header) -> Result<Vec<Action>, DropReason> {
        match origin {
            Origin::Own => Ok(vec![Action::Deliver]),
            Origin::Peer(peer) if peer == from || !self.peers.contains_key(&peer) => {
                Err(DropReason::NoRoute)
            }
            Origin::Peer(_) if next.ttl == 0 => Err(DropReason::Expired),
            Origin::Peer(peer) => Ok(forward(next, vec![peer])),
        }
    }

    fn push(
        &mut self,
        from: PeerId,
        header: Header,
        servent: Guid,
        now_s: u64,
    ) -> Result<Vec<Action>, DropReason> {
        let next = self.hop(header)?;
        if !self.origins.insert(header.guid, Origin::Peer(from), now_s) {
            return Err(DropReason::Duplicate);
        }
        let to = if servent == self.servent {
            Origin::Own
        } else {
            let peer = self.servents.get(servent, now_s);
            Origin::Peer(peer.ok_or(DropReason::NoRoute)?)
        };
        self.back(from, to, next)
    }

    fn others(&self, from: PeerId, is_meant: impl Fn(&Peer) -> bool) -> Vec<PeerId> {
        let meant = self.where_peers(is_meant);
        meant.filter(|&peer| peer != from).collect()
    }

    fn where_peers(&self, is_meant: impl Fn(&Peer) -> bool) -> impl Iterator<Item = PeerId> {
        let meant = self.peers.iter().filter(move |(_, peer)| is_meant(peer));
        meant.map(|(&id, _)| id)
    }
}

/// Nothing, if there is nobody.
pub(super) fn forward(header: Header, to: Vec<PeerId>) -> Vec<Action> {
    if to.is_empty() {
        return Vec::new();
    }
    vec![Action::Forward { header, to }]
}
