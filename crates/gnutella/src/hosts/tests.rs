use super::*;
use proptest::prelude::*;

fn cache(max_hosts: usize) -> HostCache {
    let limits = Limits {
        max_hosts,
        ..Limits::default()
    };
    HostCache::new(AddressPolicy::default(), &limits)
}

fn host(number: u16) -> SocketAddrV4 {
    SocketAddrV4::new([1, 2, 3, 4].into(), number)
}

fn ports(cache: &HostCache) -> Vec<u16> {
    cache.iter().map(|host| host.address.port()).collect()
}

#[test]
fn the_freshest_and_steadiest_are_first() {
    let mut cache = cache(10);
    cache.heard(host(1), 100_000, 0);
    cache.heard(host(2), 99_000, 2_000);
    cache.heard(host(3), 50_000, u32::MAX);
    cache.heard(host(4), 99_500, 0);
    assert_eq!(ports(&cache), [3, 2, 1, 4]);
    // A day of uptime is all that counts.
    cache.heard(host(5), 137_000, 0);
    assert_eq!(ports(&cache), [5, 3, 2, 1, 4]);
    // Older news change nothing.
    assert!(cache.heard(host(5), 1, 0));
    assert_eq!(ports(&cache)[0], 5);
}

#[test]
fn failures_count_until_a_connection_is_made() {
    let mut cache = cache(10);
    cache.heard(host(1), 100_000, 0);
    cache.heard(host(2), 99_000, 0);
    cache.failed(host(1));
    assert_eq!(ports(&cache), [2, 1]);
    cache.connected(host(1), 99_001);
    assert_eq!(ports(&cache), [1, 2]);
    for _ in 0..5 {
        cache.failed(host(1));
        cache.heard(host(1), 99_001, 0);
    }
    assert_eq!(ports(&cache), [2, 1]);
    cache.failed(host(1));
    assert_eq!(ports(&cache), [2]);
    cache.failed(host(9));
    assert_eq!(cache.len(), 1);
}

#[test]
fn the_worst_makes_room() {
    let mut cache = cache(2);
    assert!(cache.heard(host(1), 10, 0));
    assert!(cache.heard(host(2), 20, 0));
    assert!(!cache.heard(host(3), 5, 0));
    assert!(cache.heard(host(3), 15, 0));
    assert_eq!(ports(&cache), [2, 3]);
    assert!(!self::cache(0).heard(host(1), 1, 0));
}

#[test]
fn own_and_impossible_addresses_are_refused() {
    let mut cache = cache(10);
    for address in ["10.0.0.1:1", "0.0.0.0:1", "1.2.3.4:0", "239.1.1.1:1"] {
        assert!(!cache.heard(address.parse().unwrap(), 1, 0), "{address}");
    }
    cache.heard(host(1), 1, 0);
    cache.heard(host(2), 1, 0);
    cache.set_policy(AddressPolicy {
        own: vec![host(1)],
        ..AddressPolicy::default()
    });
    assert_eq!(ports(&cache), [2]);
    assert!(!cache.heard(host(1), 1, 0));
}

#[test]
fn lists_for_others() {
    let mut cache = cache(10);
    cache.heard(host(0x18ca), 2, 0);
    cache.heard(host(2), 1, 0);
    assert_eq!(cache.best(1), [host(0x18ca)]);
    assert_eq!(cache.packed(2), [1, 2, 3, 4, 0xca, 0x18, 1, 2, 3, 4, 2, 0]);
}

#[test]
fn texts_are_read_as_far_as_they_make_sense() {
    let mut cache = cache(10);
    let text = "1.2.3.4:1 5 6 0\n\nnonsense\n1.2.3.4:2 5\n10.0.0.1:1 5 6 0\n1.2.3.4:3 99 0 1\n\
        1.2.3.4:4 5 6 255\n";
    assert_eq!(cache.read_text(text, 50), 2);
    assert_eq!(cache.to_text(), "1.2.3.4:1 5 6 0\n1.2.3.4:3 50 0 1\n");
}

proptest! {
    #[test]
    fn the_two_orders_agree(
        steps in prop::collection::vec((0..4_u8, 1..20_u16, 0..200_000_u64, 0..100_000_u32), 0..100),
    ) {
        let mut cache = cache(8);
        for (step, number, seen_s, uptime_s) in steps {
            match step {
                0 => cache.failed(host(number)),
                1 => cache.connected(host(number), seen_s),
                _ => {
                    cache.heard(host(number), seen_s, uptime_s);
                }
            }
            prop_assert!(cache.len() <= 8);
            prop_assert_eq!(cache.iter().count(), cache.len());
            prop_assert!(cache.iter().is_sorted_by_key(|host| u64::MAX - host.rank()));
        }
        let mut restored = self::cache(8);
        prop_assert_eq!(restored.read_text(&cache.to_text(), 200_000), cache.len());
        prop_assert_eq!(restored.to_text(), cache.to_text());
    }

    #[test]
    fn any_text_is_read(text in "[0-9.: \n]{0,200}|.{0,100}") {
        let mut cache = cache(8);
        cache.read_text(&text, u64::MAX);
        prop_assert!(cache.len() <= 8);
    }
}
