//! What all parts of a node look at, and none changes.

use super::options::NodeOptions;
use super::share::Share;
use super::stats::Counts;
use crate::guid::Guid;
use crate::handshake::{Profile, Role};
use crate::header::Header;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What a node is, and what it counts.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) options: NodeOptions,
    pub(super) share: Share,
    pub(super) counts: Counts,
    /// The name of this node, for pushes.
    pub(super) servent: Guid,
    pub(super) listen: SocketAddr,
    pub(super) begun: Instant,
    pub(super) uploads: Places,
    pub(super) pushes: Places,
}

impl Setting {
    /// Seconds since the beginning, for route tables.
    pub(super) fn now_s(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.begun).as_secs()
    }

    /// Where this node accepts connections, as somebody sees it who is connected to this address of
    /// ours; nothing where that is no address of version 4.
    pub(super) fn address(&self, local: Option<SocketAddr>) -> Option<SocketAddrV4> {
        let known = plain(self.listen).filter(|address| !address.ip().is_unspecified());
        let seen = || local.and_then(plain).map(|local| *local.ip());
        let ip = known.map(|known| *known.ip()).or_else(seen)?;
        Some(SocketAddrV4::new(ip, self.listen.port()))
    }

    /// The same where a message has no place for nothing.
    pub(super) fn any_address(&self, local: Option<SocketAddr>) -> SocketAddrV4 {
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.listen.port());
        self.address(local).unwrap_or(nowhere)
    }

    /// What this node tells of itself on a connection.
    pub(super) fn profile(&self, local: Option<SocketAddr>, peer: SocketAddr) -> Profile {
        Profile {
            role: self.options.role,
            // Whoever wants to be its leaf may be so by a connection of its own.
            may_become_leaf: false,
            listen: self.address(local),
            remote: Some(ip_of(peer)),
            compress: self.options.compress,
            degree: u16::try_from(self.options.node.max_ultrapeers).unwrap_or(u16::MAX),
            max_ttl: self.options.protocol.max_ttl.min(QUERY_TTL),
            ..Profile::default()
        }
    }

    /// The bytes that wait for one peer: what one read of another brings finds room where nothing
    /// waits.
    pub(super) fn queue_bytes(&self) -> usize {
        let longest = self.options.protocol.max_payload_bytes as usize + Header::BYTES;
        self.options.node.queue_bytes.max(2 * longest)
    }

    pub(super) fn is_ultrapeer(&self) -> bool {
        self.options.role == Role::Ultrapeer
    }
}

/// The TTL that queries begin with, as today's ultrapeers have it.
pub(super) const QUERY_TTL: u8 = 4;

/// An address of version 4, perhaps written as one of version 6.
pub(super) fn plain(address: SocketAddr) -> Option<SocketAddrV4> {
    match ip_of(address) {
        IpAddr::V4(ip) => Some(SocketAddrV4::new(ip, address.port())),
        IpAddr::V6(_) => None,
    }
}

fn ip_of(address: SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}

/// Seconds of Unix time, for hosts.
pub(super) fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A name for a message or a servent.
///
/// # Errors
/// When the system has no bytes of chance.
pub(super) fn fresh_guid() -> io::Result<Guid> {
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    // So few bytes come whole, once the system has any.
    rustix::rand::getrandom(&mut bytes, flags)?;
    Ok(Guid::modern(bytes))
}

/// So many places, each for one at a time.
#[derive(Debug)]
pub(super) struct Places {
    taken: AtomicUsize,
    max: usize,
}

impl Places {
    pub(super) fn new(max: usize) -> Self {
        let taken = AtomicUsize::new(0);
        Self { taken, max }
    }

    /// A place, until it is dropped.
    pub(super) fn take(&self) -> Option<Place<'_>> {
        let next = |taken: usize| (taken < self.max).then_some(taken + 1);
        // Relaxed: it guards no memory, only how many there are.
        let before = self.taken.fetch_update(Relaxed, Relaxed, next);
        before.is_ok().then(|| Place(self))
    }
}

/// One of [`Places`], taken.
#[derive(Debug)]
pub(super) struct Place<'a>(&'a Places);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Relaxed: as above.
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let places = Places::new(2);
        let (first, second) = (places.take(), places.take());
        assert!(first.is_some() && second.is_some() && places.take().is_none());
        drop(first);
        let third = places.take();
        assert!(third.is_some() && places.take().is_none());
    }
}
