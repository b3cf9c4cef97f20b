//! Pongs that answer the pings of others (Gnutella 0.6 draft, section 2.2.4.1).

use super::PeerId;
use crate::limits::Limits;
use core::net::SocketAddrV4;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct CachedPong {
    pub(super) address: SocketAddrV4,
    /// As they are told to others.
    pub(super) hops: u8,
    pub(super) from: PeerId,
    pub(super) payload: Arc<[u8]>,
    pub(super) heard_s: u64,
}

/// The last pongs, the newest first, one of each host.
#[derive(Debug)]
pub(super) struct PongCache {
    pongs: VecDeque<CachedPong>,
    pongs_max: usize,
    age_s: u64,
}

impl PongCache {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            pongs: VecDeque::new(),
            pongs_max: limits.max_cached_pongs,
            age_s: limits.pong_age_s,
        }
    }

    pub(super) fn insert(&mut self, pong: CachedPong) {
        self.pongs.retain(|known| known.address != pong.address);
        self.pongs.push_front(pong);
        self.pongs.truncate(self.pongs_max);
    }

    pub(super) fn forget(&mut self, peer: PeerId) {
        self.pongs.retain(|pong| pong.from != peer);
    }

    /// Pongs for a peer, none of its own, from as many distances as there are: those that are near
    /// alone would make the network a clique.
    pub(super) fn choose(
        &mut self,
        asker: PeerId,
        now_s: u64,
        limits: &Limits,
    ) -> impl Iterator<Item = CachedPong> + use<> {
        let age_s = self.age_s;
        self.pongs
            .retain(|pong| now_s.saturating_sub(pong.heard_s) < age_s);
        let mut of_distance = [0_usize; 256];
        let mut candidates: Vec<(usize, CachedPong)> = Vec::new();
        for pong in self.pongs.iter().filter(|pong| pong.from != asker) {
            let nth = &mut of_distance[usize::from(pong.hops)];
            candidates.push((*nth, pong.clone()));
            *nth += 1;
        }
        candidates.sort_by_key(|(nth, pong)| (*nth, pong.hops));
        candidates.truncate(limits.max_pongs_per_ping);
        candidates.into_iter().map(|(_, pong)| pong)
    }
}
