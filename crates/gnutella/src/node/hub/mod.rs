//! The one color that decides where messages go: it has the router, the peers and the hosts.
//!
//! What takes time is done under the colors of the connections: to inflate and decode, to search
//! the files, to compress and write. The hub looks at each message once, by its GUID mostly.

mod hosts;
mod route;
mod searches;
mod tables;

pub(super) use hosts::Wanted;
pub(super) use route::Turn;
pub use searches::Found;

use super::handlers::SEND;
use super::outlet::{Line, Whole};
use super::setting::{Setting, plain};
use crate::address::AddressPolicy;
use crate::handshake::{Agreement, Role};
use crate::hosts::HostCache;
use crate::qrp::RouteTable;
use crate::routing::{PeerId, Router};
use hosts::Retry;
use mely::{Budget, Colored, PostError};
use searches::Search;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;

/// Ultrapeers that a leaf has: more make no search better.
const LEAF_ULTRAPEERS_MAX: usize = 3;

/// Hosts that are told to whom is refused, and with pongs.
const HOSTS_TOLD: usize = 10;

/// The state of the hub.
pub(super) struct Hub {
    setting: Arc<Setting>,
    router: Router,
    hosts: HostCache,
    policy: AddressPolicy,
    peers: BTreeMap<PeerId, Peer>,
    last_peer: u64,
    retries: HashMap<String, Retry>,
    searches: VecDeque<Search>,
    /// A leaf's table is another, or a leaf is gone.
    is_table_old: bool,
}

/// A connection, from the moment that there is room for it.
struct Peer {
    role: Role,
    /// Whether its handshake is over.
    is_joined: bool,
    /// Where it accepts connections, if it told.
    listen: Option<SocketAddrV4>,
    /// Whether it takes tables.
    takes_tables: bool,
    /// The table that it was sent.
    sent: Option<RouteTable>,
    line: Colored<Line>,
    /// Of bytes on their way to its color.
    budget: Budget,
}

/// A place for a connection, given back when it is dropped.
pub(super) struct Seat {
    hub: Colored<Hub>,
    pub(super) peer: PeerId,
}

impl Seat {
    pub(super) fn new(hub: Colored<Hub>, peer: PeerId) -> Self {
        Self { hub, peer }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let peer = self.peer;
        // It fails only where the runtime has ended, and the hub with it.
        let _ = self.hub.post_control(move |hub, _| hub.leave(peer));
    }
}

impl Hub {
    pub(super) fn new(setting: Arc<Setting>) -> Self {
        let limits = &setting.options.protocol;
        let own = plain(setting.listen).filter(|own| !own.ip().is_unspecified());
        let policy = AddressPolicy {
            allow_private: setting.options.is_private(),
            own: own.into_iter().collect(),
        };
        let role = setting.options.role;
        Self {
            router: Router::new(role, setting.servent, policy.clone(), limits),
            hosts: HostCache::new(policy.clone(), limits),
            policy,
            peers: BTreeMap::new(),
            last_peer: 0,
            retries: HashMap::new(),
            searches: VecDeque::new(),
            is_table_old: false,
            setting,
        }
    }

    /// A place for a peer of this role, or hosts to try instead.
    pub(super) fn reserve(
        &mut self,
        role: Role,
        line: Colored<Line>,
    ) -> Result<PeerId, Vec<SocketAddrV4>> {
        let alike = self.peers.values().filter(|peer| peer.role == role).count();
        if alike >= self.places(role) {
            return Err(self.hosts.best(HOSTS_TOLD));
        }
        self.last_peer += 1;
        let id = PeerId(self.last_peer);
        let peer = Peer {
            role,
            is_joined: false,
            listen: None,
            takes_tables: false,
            sent: None,
            line,
            budget: Budget::new(self.setting.queue_bytes()),
        };
        self.peers.insert(id, peer);
        Ok(id)
    }

    fn places(&self, role: Role) -> usize {
        let limits = &self.setting.options.node;
        match (self.setting.options.role, role) {
            (Role::Ultrapeer, Role::Ultrapeer) => limits.max_ultrapeers,
            (Role::Ultrapeer, Role::Leaf) => limits.max_leaves,
            (Role::Leaf, Role::Ultrapeer) => limits.max_ultrapeers.min(LEAF_ULTRAPEERS_MAX),
            (Role::Leaf, Role::Leaf) => 0,
        }
    }

    /// The hosts that are told to whom is accepted.
    pub(super) fn told(&self) -> Vec<SocketAddrV4> {
        self.hosts.best(HOSTS_TOLD)
    }

    /// A handshake is over, on a connection that has this address of ours: whether the peer may stay.
    /// It may not where it is this node itself, which others have told of.
    pub(super) fn join(
        &mut self,
        id: PeerId,
        agreement: &Agreement,
        ours: Option<SocketAddrV4>,
    ) -> bool {
        let told = &agreement.peer;
        if let Some(own) = ours.filter(|&ours| told.listen == Some(ours) && self.is_unique(ours)) {
            self.know_own(own);
            return false;
        }
        let Some(peer) = self.peers.get_mut(&id) else {
            return false;
        };
        peer.role = agreement.peer_role;
        peer.is_joined = true;
        peer.listen = told.listen;
        peer.takes_tables = agreement.peer_role == Role::Ultrapeer
            && match self.setting.options.role {
                Role::Leaf => told.query_routing.is_some(),
                Role::Ultrapeer => told.ultrapeer_query_routing.is_some(),
            };
        self.router
            .connect(id, agreement.peer_role, told.pong_caching.is_some());
        if let Some(listen) = told.listen.filter(|_| peer.role == Role::Ultrapeer) {
            self.heard(&[listen]);
        }
        self.heard(&told.try_hosts);
        self.count_peers();
        self.send_table(id);
        self.ping(Some(id));
        true
    }

    /// Whether nobody else has this address: those of local networks are everybody's.
    fn is_unique(&self, address: SocketAddrV4) -> bool {
        let anybodys = AddressPolicy {
            own: Vec::new(),
            ..self.policy.clone()
        };
        anybodys.accepts(address)
    }

    /// No host that others tell of is this node.
    fn know_own(&mut self, own: SocketAddrV4) {
        if !self.policy.own.contains(&own) {
            self.policy.own.push(own);
            self.hosts.set_policy(self.policy.clone());
        }
    }

    fn leave(&mut self, id: PeerId) {
        let peer = self.peers.remove(&id);
        self.router.disconnect(id);
        self.is_table_old |= peer.is_some_and(|peer| peer.role == Role::Leaf);
        self.count_peers();
    }

    fn count_peers(&self) {
        let count = |role| {
            let joined = self.peers.values().filter(|peer| peer.is_joined);
            joined.filter(|peer| peer.role == role).count() as u64
        };
        let counts = &self.setting.counts;
        counts.ultrapeers.set(count(Role::Ultrapeer));
        counts.leaves.set(count(Role::Leaf));
    }

    /// Hands messages to the color of a peer. Whose budget is used up, does not read.
    fn send(&self, to: PeerId, messages: Vec<Whole>) {
        let Some(peer) = self.peers.get(&to).filter(|peer| peer.is_joined) else {
            return;
        };
        let bytes = messages.iter().map(|message| message.len()).sum();
        let Ok(share) = peer.budget.try_take(bytes) else {
            self.refuse(peer, messages.len());
            return;
        };
        let sent = peer.line.with_handler(&SEND).post(move |line, _| {
            if let Some(outlet) = line {
                outlet.send(&messages);
            }
            drop(share);
        });
        // One whose color has ended has left, and is about to say so.
        if let Err(PostError::Full(_)) = sent {
            self.setting.counts.shed.add(1);
        }
    }

    /// Too much is on its way to a peer already.
    fn refuse(&self, peer: &Peer, messages: usize) {
        use mely_async::WhenFull;
        if self.setting.options.node.when_full == WhenFull::Shed {
            self.setting.counts.shed.add(messages as u64);
            return;
        }
        let close = |line: &mut Line, _: &mut mely::Context<'_, Line>| {
            if let Some(outlet) = line {
                outlet.close_clogged();
            }
        };
        // A color that has ended needs no closing.
        let _ = peer.line.post_control(close);
    }
}
