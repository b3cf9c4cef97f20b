//! Whom to connect to, and when.

use super::Hub;
use crate::handshake::Role;
use crate::node::options::DEFAULT_PORT;
use crate::node::setting::unix_s;
use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

/// Hosts that others tell of are as good as if they had been seen so long ago.
const HEARSAY_S: u64 = 600;

/// Times that a pause doubles at the most.
const DOUBLINGS_MAX: u32 = 16;

/// How it went with a host.
#[derive(Debug)]
pub(super) struct Retry {
    /// Somebody connects, or is connected.
    is_active: bool,
    failures: u32,
    not_before: Instant,
}

/// A host to be connected to: a name, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) struct Wanted(pub(in crate::node) String);

impl Hub {
    /// Others tell of hosts.
    pub(in crate::node) fn heard(&mut self, hosts: &[SocketAddrV4]) {
        let seen_s = unix_s().saturating_sub(HEARSAY_S);
        for &host in hosts {
            self.hosts.heard(host, seen_s, 0);
        }
    }

    /// The hosts of an earlier run.
    pub(in crate::node) fn read_hosts(&mut self, text: &str) {
        self.hosts.read_text(text, unix_s());
    }

    /// The hosts, for a later run.
    pub(in crate::node) fn hosts_text(&self) -> String {
        self.hosts.to_text()
    }

    /// Looks after tables and connections: whom to connect to now.
    pub(in crate::node) fn tend(&mut self, now: Instant) -> Vec<Wanted> {
        self.tend_tables();
        self.setting.counts.hosts.set(self.hosts.len() as u64);
        let limits = &self.setting.options.node;
        let forgotten = limits.retry_max;
        self.retries.retain(|_, retry| {
            retry.is_active || now < retry.not_before.checked_add(forgotten).unwrap_or(now)
        });
        let active = self.retries.values().filter(|retry| retry.is_active);
        let mut active = active.count();
        let ultrapeers = self
            .peers
            .values()
            .filter(|peer| peer.role == Role::Ultrapeer);
        let ultrapeers = ultrapeers.count();
        let dials_max = limits.max_dials + ultrapeers;
        let told = self.setting.options.connect.iter();
        let told: Vec<_> = told.map(|host| with_port(host)).collect();
        let connected = self.peers.values().filter_map(|peer| peer.listen);
        let connected: Vec<_> = connected.map(|listen| listen.to_string()).collect();
        let mut wanted = Vec::new();
        for host in &told {
            let is_there = connected.contains(host);
            if active < dials_max && !is_there && self.may_try(host, now) {
                wanted.push(host.clone());
                active += 1;
            }
        }
        let outgoing = limits.outgoing.min(self.places(Role::Ultrapeer));
        let known = self.hosts.iter().map(|host| host.address.to_string());
        for host in known {
            if active.max(ultrapeers + wanted.len()) >= outgoing || active >= dials_max {
                break;
            }
            let is_there = told.contains(&host) || connected.contains(&host);
            if !is_there && self.may_try(&host, now) {
                wanted.push(host);
                active += 1;
            }
        }
        for host in &wanted {
            let retry = self.retries.entry(host.clone()).or_insert(Retry {
                is_active: true,
                failures: 0,
                not_before: now,
            });
            retry.is_active = true;
        }
        wanted.into_iter().map(Wanted).collect()
    }

    fn may_try(&self, host: &str, now: Instant) -> bool {
        let retry = self.retries.get(host);
        retry.is_none_or(|retry| !retry.is_active && now >= retry.not_before)
    }

    /// A connection to a host was made.
    pub(in crate::node) fn reached(&mut self, host: &str, address: Option<SocketAddrV4>) {
        if let Some(retry) = self.retries.get_mut(host) {
            retry.failures = 0;
        }
        if let Some(address) = address {
            self.hosts.connected(address, unix_s());
        }
    }

    /// A connection to a host, or the attempt, has ended.
    pub(in crate::node) fn ended(&mut self, host: &str, was_reached: bool, now: Instant) {
        let limits = &self.setting.options.node;
        let (first, max) = (limits.retry_first, limits.retry_max);
        let Some(retry) = self.retries.get_mut(host) else {
            return;
        };
        retry.is_active = false;
        if !was_reached {
            retry.failures += 1;
            if let Ok(address) = host.parse() {
                self.hosts.failed(address);
            }
        }
        retry.not_before = now + pause(retry.failures, first, max);
    }
}

/// How long to wait after so many failures in a row.
fn pause(failures: u32, first: Duration, max: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(DOUBLINGS_MAX);
    first.saturating_mul(1 << doublings).min(max)
}

fn with_port(host: &str) -> String {
    match host.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
        _ => format!("{host}:{DEFAULT_PORT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit() {
        let second = Duration::from_secs(1);
        let pauses = [0, 1, 2, 5, u32::MAX].map(|n| pause(n, second, 10 * second).as_secs());
        assert_eq!(pauses, [1, 1, 2, 10, 10]);
    }

    #[test]
    fn hosts_without_a_port_have_the_usual_one() {
        assert_eq!(with_port("a.example"), "a.example:6346");
        assert_eq!(with_port("a.example:1"), "a.example:1");
    }
}
