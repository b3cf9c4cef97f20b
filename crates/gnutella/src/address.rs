//! Which addresses are worth telling and connecting to.

use core::net::{Ipv4Addr, SocketAddrV4};

/// Refuses addresses that cannot be a peer's: anybody may tell any address, and each one that is
/// believed costs connections, ours and those of all that we tell it.
///
/// ```
/// use mely_gnutella::AddressPolicy;
/// let policy = AddressPolicy::default();
/// assert!(policy.accepts("1.2.3.4:6346".parse()?));
/// assert!(!policy.accepts("192.168.1.2:6346".parse()?));
/// let lan = AddressPolicy { allow_private: true, ..policy };
/// assert!(lan.accepts("192.168.1.2:6346".parse()?));
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Takes addresses of local networks and of this machine, for networks of one's own.
    pub allow_private: bool,
    /// This node's addresses, as far as it knows.
    pub own: Vec<SocketAddrV4>,
}

impl AddressPolicy {
    /// Whether an address may be a peer's.
    pub fn accepts(&self, address: SocketAddrV4) -> bool {
        let ip = *address.ip();
        address.port() != 0
            && !is_nobody(ip)
            && (self.allow_private || !is_private(ip))
            && !self.own.contains(&address)
    }
}

/// Addresses that no machine has (RFC 6890).
fn is_nobody(ip: Ipv4Addr) -> bool {
    let [first, second, third, _] = ip.octets();
    let is_benchmark = first == 198 && matches!(second, 18 | 19);
    let is_assignment = (first, second, third) == (192, 0, 0);
    first == 0 || first >= 224 || ip.is_documentation() || is_benchmark || is_assignment
}

fn is_private(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    ip.is_private() || ip.is_loopback() || ip.is_link_local() || is_shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_each_kind() {
        let default = AddressPolicy {
            own: vec!["1.1.1.1:1".parse().unwrap()],
            ..AddressPolicy::default()
        };
        let lan = AddressPolicy {
            allow_private: true,
            ..default.clone()
        };
        for (address, anywhere, in_lan) in [
            ("1.2.3.4:6346", true, true),
            ("1.2.3.4:0", false, false),
            ("1.1.1.1:1", false, false),
            ("1.1.1.1:2", true, true),
            ("0.1.2.3:1", false, false),
            ("10.1.2.3:1", false, true),
            ("100.63.0.1:1", true, true),
            ("100.64.0.1:1", false, true),
            ("127.0.0.1:1", false, true),
            ("169.254.0.1:1", false, true),
            ("172.16.0.1:1", false, true),
            ("192.0.0.1:1", false, false),
            ("192.0.2.1:1", false, false),
            ("192.168.0.1:1", false, true),
            ("198.18.0.1:1", false, false),
            ("224.0.0.1:1", false, false),
            ("255.255.255.255:1", false, false),
        ] {
            let parsed = address.parse().unwrap();
            assert_eq!(default.accepts(parsed), anywhere, "{address}");
            assert_eq!(lan.accepts(parsed), in_lan, "{address}");
        }
    }
}
