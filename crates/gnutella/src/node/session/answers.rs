//! What this node answers: hits and pongs.

use super::{Session, back};
use crate::ggep::Ggep;
use crate::header::{Header, Kind};
use crate::message::{HitFlags, HitTrailer, Message, Ping, Pong, Query, QueryHit};
use crate::node::outlet::Whole;
use std::time::Instant;

/// What this node calls itself where there is room for four letters.
const VENDOR: [u8; 4] = *b"MELY";

/// The speed that is told in hits, which nobody believes.
const SPEED_KBITS: u32 = 1000;

impl Session {
    /// The files that a query looks for, if there are any.
    pub(super) fn hits(&self, asked: Header, query: &Query<'_>) -> Option<Whole> {
        let setting = &self.here.setting;
        let limits = &setting.options.protocol;
        let found = setting.share.index().search(query, limits).ok()?;
        if found.is_empty() {
            return None;
        }
        let flags = HitFlags {
            push: Some(false),
            busy: Some(false),
            ..HitFlags::default()
        }
        .bytes();
        let hit = Message::QueryHit(QueryHit {
            address: setting.any_address(self.local),
            speed_kbits: SPEED_KBITS,
            results: found.iter().map(|file| file.result()).collect(),
            trailer: Some(HitTrailer {
                vendor: VENDOR,
                open: &flags,
                private: b"",
            }),
            servent: setting.servent,
        });
        let header = back(asked, Kind::QueryHit, limits);
        let mut bytes = Vec::new();
        hit.write(header.guid, header.ttl, 0, &mut bytes);
        // One that is longer would close the connection.
        let is_short = bytes.len() - Header::BYTES <= limits.max_payload_bytes as usize;
        is_short.then(|| bytes.into())
    }

    /// This node's own pong, with hosts if they are wanted.
    pub(super) fn pong(&self, asked: Header, ping: &Ping<'_>, hosts: &[u8]) -> Option<Whole> {
        let setting = &self.here.setting;
        let address = setting.address(self.local)?;
        let limits = &setting.options.protocol;
        let mut block = Ggep::default();
        let up_s = setting.now_s(Instant::now()) as u32;
        let uptime = up_s.to_le_bytes();
        let used = uptime
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(1, |last| last + 1);
        block.push(b"DU", &uptime[..used]).ok()?;
        block.push(b"VC", &VENDOR).ok()?;
        if setting.is_ultrapeer() {
            let (leaves, ultrapeers) = self.slots();
            block.push(b"UP", &[1, leaves, ultrapeers]).ok()?;
        }
        let wanted = ping.ggep(limits).ok().flatten();
        if !hosts.is_empty() && wanted.is_some_and(|block| block.wants_packed_hosts()) {
            block.push(b"IPP", hosts).ok()?;
        }
        let mut extensions = Vec::new();
        block.write(false, &mut extensions);
        let (files, kbytes) = setting.share.index().counts();
        let pong = Message::Pong(Pong {
            address,
            files,
            kbytes,
            extensions: &extensions,
        });
        let header = back(asked, Kind::Pong, limits);
        let mut bytes = Vec::new();
        pong.write(header.guid, header.ttl, 0, &mut bytes);
        Some(bytes.into())
    }

    /// Places that are free, for leaves and for ultrapeers.
    fn slots(&self) -> (u8, u8) {
        let (limits, counts) = (&self.here.setting.options.node, &self.here.setting.counts);
        let free = |max: usize, taken: u64| {
            let free = (max as u64).saturating_sub(taken);
            u8::try_from(free).unwrap_or(u8::MAX)
        };
        (
            free(limits.max_leaves, counts.leaves.get()),
            free(limits.max_ultrapeers, counts.ultrapeers.get()),
        )
    }
}
