//! Hosts to connect to, and to tell others of.

use crate::address::AddressPolicy;
use crate::limits::Limits;
use core::fmt::Write;
use core::net::SocketAddrV4;
use std::collections::{BTreeSet, HashMap};

/// Uptime counts for this much at the most: who is up every day all day is no better after that.
const UPTIME_S_MAX: u32 = 24 * 3600;

/// What a failed connection counts for, doubled with each: a host that was seen a day ago is tried
/// before one that failed five times in a row.
const FAILURE_S: u64 = 3600;

/// After so many failed connections in a row a host is forgotten.
const FAILURES_MAX: u8 = 6;

/// What is known of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Where it accepts connections.
    pub address: SocketAddrV4,
    /// When somebody last heard of it, in seconds of Unix time.
    pub seen_s: u64,
    /// How many seconds it is up on an average day, as it says itself.
    pub uptime_s: u32,
    /// How many connections to it failed in a row.
    pub failures: u8,
}

impl Host {
    /// Later is better: when it was seen, and as many seconds as it is up a day.
    fn rank(&self) -> u64 {
        let bonus_s = u64::from(self.uptime_s.min(UPTIME_S_MAX));
        let malus_s = FAILURE_S << self.failures.min(FAILURES_MAX);
        let malus_s = if self.failures == 0 { 0 } else { malus_s };
        self.seen_s.saturating_add(bonus_s).saturating_sub(malus_s)
    }
}

/// A bounded set of hosts, the best of which are asked first and told to others.
///
/// Times are seconds of Unix time, as they are kept from one run to the next.
///
/// ```
/// use mely_gnutella::{AddressPolicy, HostCache, Limits};
/// let mut hosts = HostCache::new(AddressPolicy::default(), &Limits::default());
/// hosts.heard("1.2.3.4:6346".parse()?, 1_000, 0);
/// hosts.heard("1.2.3.5:6346".parse()?, 1_000, 7_200);
/// assert_eq!(hosts.best(1), ["1.2.3.5:6346".parse()?]);
///
/// let mut restored = HostCache::new(AddressPolicy::default(), &Limits::default());
/// assert_eq!(restored.read_text(&hosts.to_text(), 2_000), 2);
/// assert_eq!(restored.best(2), hosts.best(2));
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HostCache {
    policy: AddressPolicy,
    hosts_max: usize,
    hosts: HashMap<SocketAddrV4, Host>,
    ranked: BTreeSet<(u64, SocketAddrV4)>,
}

impl HostCache {
    /// An empty cache, which takes addresses of this policy.
    pub fn new(policy: AddressPolicy, limits: &Limits) -> Self {
        Self {
            policy,
            hosts_max: limits.max_hosts,
            hosts: HashMap::new(),
            ranked: BTreeSet::new(),
        }
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Somebody told of a host: a pong of its own now, or a list of another host, which should be
    /// taken for somewhat older. Tells whether it is kept: not if its address is refused, or if all
    /// others are better.
    pub fn heard(&mut self, address: SocketAddrV4, seen_s: u64, uptime_s: u32) -> bool {
        let known = self.hosts.get(&address).copied();
        self.keep(Host {
            address,
            seen_s: known.map_or(seen_s, |known| known.seen_s.max(seen_s)),
            uptime_s: known.map_or(uptime_s, |known| known.uptime_s.max(uptime_s)),
            failures: known.map_or(0, |known| known.failures),
        })
    }

    /// A connection to a host was made.
    pub fn connected(&mut self, address: SocketAddrV4, now_s: u64) {
        let uptime_s = self.hosts.get(&address).map_or(0, |known| known.uptime_s);
        self.keep(Host {
            address,
            seen_s: now_s,
            uptime_s,
            failures: 0,
        });
    }

    /// A connection to a host could not be made. It is forgotten after the sixth in a row.
    pub fn failed(&mut self, address: SocketAddrV4) {
        let Some(mut host) = self.remove(address) else {
            return;
        };
        host.failures += 1;
        if host.failures < FAILURES_MAX {
            self.keep(host);
        }
    }

    /// Another policy, as when this node learns its own address: what it refuses is forgotten.
    pub fn set_policy(&mut self, policy: AddressPolicy) {
        self.policy = policy;
        let hosts: Vec<_> = self.hosts.keys().copied().collect();
        for address in hosts {
            if !self.policy.accepts(address) {
                self.remove(address);
            }
        }
    }

    /// All hosts, the best first.
    pub fn iter(&self) -> impl Iterator<Item = &Host> + '_ {
        let ranked = self.ranked.iter().rev();
        ranked.filter_map(|(_, address)| self.hosts.get(address))
    }

    /// The best addresses, for `X-Try-Ultrapeers`.
    pub fn best(&self, count: usize) -> Vec<SocketAddrV4> {
        self.iter().take(count).map(|host| host.address).collect()
    }

    /// The best addresses as the data of `IPP` in a pong, six bytes each.
    pub fn packed(&self, count: usize) -> Vec<u8> {
        let mut packed = Vec::new();
        for address in self.best(count) {
            packed.extend_from_slice(&address.ip().octets());
            packed.extend_from_slice(&address.port().to_le_bytes());
        }
        packed
    }

    /// All hosts as text, a line each, the best first: address, when it was seen, its uptime, its
    /// failures.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for host in self.iter() {
            let Host {
                address,
                seen_s,
                uptime_s,
                failures,
            } = host;
            // Writing into a text cannot fail.
            let _ = writeln!(text, "{address} {seen_s} {uptime_s} {failures}");
        }
        text
    }

    /// Takes the hosts of a text, and tells how many are kept. Lines that are none are passed over,
    /// and nothing was seen later than now.
    pub fn read_text(&mut self, text: &str, now_s: u64) -> usize {
        let mut kept = 0;
        for host in text.lines().filter_map(read_line) {
            let seen_s = host.seen_s.min(now_s);
            kept += usize::from(self.keep(Host { seen_s, ..host }));
        }
        kept
    }

    fn keep(&mut self, host: Host) -> bool {
        if !self.policy.accepts(host.address) || self.hosts_max == 0 {
            return false;
        }
        self.remove(host.address);
        if self.hosts.len() >= self.hosts_max {
            let worst = self.ranked.first().copied();
            match worst {
                Some((rank, address)) if rank < host.rank() => self.remove(address),
                _ => return false,
            };
        }
        self.ranked.insert((host.rank(), host.address));
        self.hosts.insert(host.address, host);
        true
    }

    fn remove(&mut self, address: SocketAddrV4) -> Option<Host> {
        let host = self.hosts.remove(&address)?;
        self.ranked.remove(&(host.rank(), address));
        Some(host)
    }
}

fn read_line(line: &str) -> Option<Host> {
    let mut words = line.split_whitespace();
    Some(Host {
        address: words.next()?.parse().ok()?,
        seen_s: words.next()?.parse().ok()?,
        uptime_s: words.next()?.parse().ok()?,
        failures: words.next()?.parse().ok().filter(|&n| n < FAILURES_MAX)?,
    })
}

#[cfg(test)]
mod tests;
