//! Where a message goes.
//!
//! The rules are those of the Gnutella 0.6 draft, section 2.2, for messages between ultrapeers, and
//! of "Ultrapeers: Another Step Towards Gnutella Scalability" for leaves.

mod drops;
mod guids;
mod pongs;
mod rules;

pub use drops::{DropCounts, DropReason};

use crate::address::AddressPolicy;
use crate::decoder::Frame;
use crate::error::Error;
use crate::guid::Guid;
use crate::handshake::Role;
use crate::header::Header;
use crate::limits::Limits;
use crate::message::Message;
use crate::qrp::{QueryKey, RouteTable};
use guids::GuidTable;
use pongs::PongCache;
use rules::forward;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of a connection, which the node chooses, and never for two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub u64);

/// What to do with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send it on, with this header.
    Forward {
        /// With the hop counted.
        header: Header,
        /// To whom, in the order of their numbers.
        to: Vec<PeerId>,
    },
    /// It is for this node: to search its files, answer with its own pong, push a file, take a table.
    Deliver,
    /// Send this message to whom it came from: a pong that was remembered.
    Answer {
        /// Its header.
        header: Header,
        /// Its payload.
        payload: Arc<[u8]>,
    },
    /// Nothing else. It is counted already.
    Drop(DropReason),
}

/// Where answers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Own,
    Peer(PeerId),
}

#[derive(Debug, Clone)]
struct Peer {
    role: Role,
    caches_pongs: bool,
    table: Option<Arc<RouteTable>>,
    /// It wants queries with fewer hops than this.
    hops_flow: u8,
    pinged_s: Option<u64>,
}

/// Decides where messages go. It holds no message and sends nothing: what it says is a list of
/// [`Action`]s. How fast each peer is served is the node's.
///
/// ```
/// use mely_gnutella::{Action, AddressPolicy, Decoder, Guid, Limits, Message, PeerId, Query, QueryFlags, Role, Router};
/// let limits = Limits::default();
/// let mut router = Router::new(Role::Ultrapeer, Guid([9; 16]), AddressPolicy::default(), &limits);
/// router.connect(PeerId(1), Role::Ultrapeer, true);
/// router.connect(PeerId(2), Role::Ultrapeer, true);
///
/// let query = Message::Query(Query { flags: QueryFlags::default(), text: b"song", extensions: b"" });
/// let mut bytes = Vec::new();
/// query.write(Guid([1; 16]), 3, 0, &mut bytes);
/// let mut decoder = Decoder::new(&limits);
/// let mut input = &bytes[..];
/// let frame = decoder.next(&mut input)?.expect("it is whole");
///
/// let actions = router.route(PeerId(1), &frame, &query, 0);
/// let Action::Forward { header, to } = &actions[1] else { panic!("{actions:?}") };
/// assert_eq!((header.ttl, header.hops, &to[..]), (2, 1, &[PeerId(2)][..]));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug)]
pub struct Router {
    role: Role,
    servent: Guid,
    policy: AddressPolicy,
    limits: Limits,
    peers: BTreeMap<PeerId, Peer>,
    /// Where pings, queries and pushes came from.
    origins: GuidTable<Origin>,
    /// Where hits of servents came from, for pushes to them.
    servents: GuidTable<PeerId>,
    pongs: PongCache,
    drops: DropCounts,
}

impl Router {
    /// A router without peers, of a node with this role and this name for pushes.
    pub fn new(role: Role, servent: Guid, policy: AddressPolicy, limits: &Limits) -> Self {
        Self {
            role,
            servent,
            policy,
            limits: limits.clone(),
            peers: BTreeMap::new(),
            origins: GuidTable::new(limits),
            servents: GuidTable::new(limits),
            pongs: PongCache::new(limits),
            drops: DropCounts::default(),
        }
    }

    /// Another role: a leaf sends nothing on.
    pub fn set_role(&mut self, role: Role) {
        self.role = role;
    }

    /// A connection, after its handshake. A peer that does not cache pongs has to be sent pings of
    /// others.
    pub fn connect(&mut self, peer: PeerId, role: Role, caches_pongs: bool) {
        let fresh = Peer {
            role,
            caches_pongs,
            table: None,
            hops_flow: u8::MAX,
            pinged_s: None,
        };
        self.peers.insert(peer, fresh);
    }

    /// The end of a connection. What would go there has no route from now on.
    pub fn disconnect(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
        self.pongs.forget(peer);
    }

    /// What a peer has, once its [`TableReceiver`](crate::TableReceiver) tells of a change.
    pub fn set_table(&mut self, peer: PeerId, table: Arc<RouteTable>) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.table = Some(table);
        }
    }

    /// Adds what the leaves have to a table of what this node has: so it goes to ultrapeers, whose
    /// last hop it spares.
    pub fn add_leaves(&self, table: &mut RouteTable) {
        let leaves = self.peers.values().filter(|peer| peer.role == Role::Leaf);
        for leaf in leaves.filter_map(|peer| peer.table.as_ref()) {
            table.merge(leaf);
        }
    }

    /// How many messages were dropped, and why.
    pub fn drops(&self) -> &DropCounts {
        &self.drops
    }

    /// Counts a message that never got here, such as one that cannot be read.
    pub fn count_drop(&mut self, reason: DropReason) {
        self.drops.count(reason);
    }

    /// Decides about a message of a peer. Seconds are those of any clock that does not go back.
    pub fn route(
        &mut self,
        from: PeerId,
        frame: &Frame<'_>,
        message: &Message<'_>,
        now_s: u64,
    ) -> Vec<Action> {
        let actions = self.decide(from, frame, message, now_s);
        actions.unwrap_or_else(|reason| {
            self.drops.count(reason);
            vec![Action::Drop(reason)]
        })
    }

    /// Decides about a message of this node's own, whose answers are to come back here.
    ///
    /// # Errors
    /// Those of [`QueryKey::of`].
    pub fn originate(
        &mut self,
        header: Header,
        message: &Message<'_>,
        now_s: u64,
    ) -> Result<Vec<Action>, Error> {
        self.origins.insert(header.guid, Origin::Own, now_s);
        match message {
            Message::Query(query) => {
                let key = QueryKey::of(query, &self.limits)?;
                Ok(self.spread(None, header, &key))
            }
            Message::Push(push) => {
                let to = self.servents.get(push.servent, now_s);
                let to = to.filter(|peer| self.peers.contains_key(peer));
                Ok(to.map_or(vec![], |peer| forward(header, vec![peer])))
            }
            _ => Ok(forward(header, self.peers.keys().copied().collect())),
        }
    }
}

#[cfg(test)]
mod tests;
