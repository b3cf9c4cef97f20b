use super::*;
use crate::message::{Compressor, QueryFlags, RouteTableUpdate};
use proptest::prelude::*;
use std::borrow::Cow;

fn table(slots: u32, names: &[&str]) -> RouteTable {
    let mut table = RouteTable::new(slots, &Limits::default()).unwrap();
    names.iter().for_each(|name| table.insert_name(name));
    table
}

fn key(text: &str, extensions: &str) -> QueryKey {
    let query = Query {
        flags: QueryFlags::default(),
        text: text.as_bytes(),
        extensions: extensions.as_bytes(),
    };
    QueryKey::of(&query, &Limits::default()).unwrap()
}

#[test]
fn the_hashes_of_the_specification() {
    for (word, bits, expected) in [
        ("", 13, 0),
        ("eb", 13, 6791),
        ("ebc", 13, 7082),
        ("ebck", 13, 6698),
        ("ebckl", 13, 3179),
        ("ebcklm", 13, 3235),
        ("ebcklme", 13, 6438),
        ("ebcklmen", 13, 1062),
        ("ebcklmenq", 13, 3527),
        ("n", 16, 65003),
        ("nd", 16, 54193),
        ("ndf", 16, 4953),
        ("NDFL", 16, 58201),
        ("ndfla", 16, 34830),
        ("ndflal", 16, 36910),
    ] {
        assert_eq!(slot(product(word.as_bytes()), bits), expected, "{word}");
    }
}

#[test]
fn all_of_two_words_and_two_thirds_of_more() {
    let table = table(65_536, &["Free Song.ogg", "another (live)"]);
    for (text, matched) in [
        ("free", true),
        ("FREE song", true),
        ("free nothing", false),
        ("free song nothing", true),
        ("free nothing never", false),
        ("free song nothing never", false),
        ("free song live nothing", true),
        ("free free free nothing", false),
        ("of", false),
        ("of a free", true),
        ("", false),
    ] {
        assert_eq!(table.matches(&key(text, "")), matched, "{text}");
    }
}

#[test]
fn content_is_found_by_its_name_whatever_the_words() {
    let name = "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    let mut table = table(65_536, &["free"]);
    assert!(!table.matches(&key("free", name)));
    table.insert_urn(name.parse().unwrap());
    assert!(table.matches(&key("", name)));
    assert!(table.matches(&key("nothing", &format!("urn:\x1c{name}"))));
}

#[test]
fn tables_of_other_sizes_are_merged() {
    let small = table(1024, &["free"]);
    let large = table(1 << 20, &["song"]);
    let mut merged = table(65_536, &["live"]);
    merged.merge(&small);
    merged.merge(&large);
    assert_eq!(merged.slots_set(), 64 + 1 + 1);
    for word in ["free", "song", "live"] {
        assert!(merged.matches(&key(word, "")), "{word}");
    }
}

#[test]
fn sizes_are_checked() {
    let limits = Limits::default();
    let new = |slots| RouteTable::new(slots, &limits);
    assert_eq!(new(1).unwrap().slots(), 1);
    assert_eq!(new(1 << 21).unwrap().slots(), 1 << 21);
    for slots in [0, 3, 65_535] {
        assert!(matches!(new(slots), Err(Error::RouteTable(_))), "{slots}");
    }
    assert!(matches!(
        new(1 << 22),
        Err(Error::RouteTableTooLarge { .. })
    ));
}

fn patch(number: u8, count: u8, bits: u8, data: &'static [u8]) -> RouteTableUpdate<'static> {
    RouteTableUpdate::Patch {
        number,
        count,
        compressor: Compressor::None,
        bits,
        data: Cow::Borrowed(data),
    }
}

fn reset(slots: u32) -> RouteTableUpdate<'static> {
    RouteTableUpdate::Reset { slots, infinity: 7 }
}

/// The slots that are set after these messages.
fn received(updates: &[RouteTableUpdate<'_>]) -> Result<Vec<usize>, Error> {
    let mut receiver = TableReceiver::new();
    for update in updates {
        receiver.apply(update, &Limits::default())?;
    }
    let table = receiver.table().expect("a whole patch");
    let set = (0..table.slots()).filter(|&slot| table.is_set(slot));
    Ok(set.collect())
}

#[test]
fn patches_of_every_width() {
    // The slots 1 and 2 of eight appear, one bit, four bits and eight bits each.
    assert_eq!(
        received(&[reset(8), patch(1, 1, 1, &[0x60])]),
        Ok(vec![1, 2])
    );
    let four = patch(1, 1, 4, &[0x0a, 0xa0, 0, 0]);
    assert_eq!(received(&[reset(8), four.clone()]), Ok(vec![1, 2]));
    let eight = patch(1, 1, 8, &[0, 0xfa, 0xfa, 0, 0, 0, 0, 0]);
    assert_eq!(received(&[reset(8), eight]), Ok(vec![1, 2]));
    // The slot 1 goes away and 7 appears, in two parts.
    let parts = [patch(1, 2, 4, &[0x06, 0]), patch(2, 2, 4, &[0, 0x0a])];
    let updates = [&[reset(8), four.clone()], &parts[..]].concat();
    assert_eq!(received(&updates), Ok(vec![2, 7]));
    let turned = patch(1, 1, 1, &[0xff]);
    assert_eq!(
        received(&[reset(8), four, turned]),
        Ok(vec![0, 3, 4, 5, 6, 7])
    );
    assert_eq!(
        received(&[reset(2), patch(1, 1, 1, &[0xff])]),
        Ok(vec![0, 1])
    );
}

#[test]
fn impossible_updates_are_refused() {
    for updates in [
        vec![patch(1, 1, 4, &[0; 4])],
        vec![reset(8), patch(2, 2, 4, &[0; 4])],
        vec![reset(8), patch(1, 0, 4, &[0; 4])],
        vec![reset(8), patch(0, 1, 4, &[0; 4])],
        vec![reset(8), patch(1, 1, 2, &[0; 2])],
        vec![reset(8), patch(1, 1, 4, &[0; 3])],
        vec![reset(8), patch(1, 1, 4, &[0; 5])],
        vec![reset(8), patch(1, 2, 4, &[0; 2]), patch(1, 2, 4, &[0; 2])],
        vec![reset(8), patch(1, 2, 4, &[0; 2]), patch(2, 3, 4, &[0; 2])],
        vec![reset(7)],
        vec![RouteTableUpdate::Reset {
            slots: 8,
            infinity: 0,
        }],
    ] {
        let error = received(&updates).unwrap_err();
        assert!(matches!(error, Error::RouteTable(_)), "{updates:?}");
    }
}

#[test]
fn a_compressed_patch_is_no_longer_than_its_table() {
    let bomb = crate::deflate::deflated(&[0; 1 << 20]);
    let part = RouteTableUpdate::Patch {
        number: 1,
        count: 1,
        compressor: Compressor::Deflate,
        bits: 4,
        data: Cow::Owned(bomb),
    };
    assert!(matches!(
        received(&[reset(1024), part]),
        Err(Error::RouteTable(_))
    ));
}

#[test]
fn nothing_is_told_of_a_table_that_is_known() {
    let before = table(1024, &["free"]);
    assert_eq!(before.updates(Some(&before)), []);
    let after = table(1024, &["free", "song"]);
    let updates = after.updates(Some(&before));
    assert!(matches!(
        updates[..],
        [RouteTableUpdate::Patch { count: 1, .. }]
    ));
    let updates = after.updates(Some(&table(2048, &[])));
    assert!(matches!(
        updates[0],
        RouteTableUpdate::Reset { slots: 1024, .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tables_arrive(
        first in prop::collection::vec("[a-z]{3,6}", 0..60),
        second in prop::collection::vec("[a-z]{3,6}", 0..60),
        size in 0..18_u32,
    ) {
        let limits = Limits::default();
        let first = table(1 << size, &first.iter().map(String::as_str).collect::<Vec<_>>());
        let second = table(1 << size, &second.iter().map(String::as_str).collect::<Vec<_>>());
        let mut receiver = TableReceiver::new();
        for update in first.updates(None) {
            receiver.apply(&update, &limits).unwrap();
        }
        prop_assert_eq!(receiver.table(), Some(&first));
        for update in second.updates(Some(&first)) {
            receiver.apply(&update, &limits).unwrap();
        }
        prop_assert_eq!(receiver.table(), Some(&second));
    }

    #[test]
    fn a_table_without_a_pattern_goes_in_many_parts(seed: u64) {
        let mut table = RouteTable::new(1 << 18, &Limits::default()).unwrap();
        let mut state = seed;
        for part in &mut table.present {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *part = state ^ state >> 29;
        }
        let updates = table.updates(None);
        prop_assert!(updates.len() > 3);
        let mut receiver = TableReceiver::new();
        for update in &updates {
            receiver.apply(update, &Limits::default()).unwrap();
        }
        prop_assert_eq!(receiver.table(), Some(&table));
    }

    #[test]
    fn any_updates_are_applied_or_refused(
        updates in prop::collection::vec(
            (0..4_u8, 0..4_u8, prop::sample::select(vec![1, 4, 8]), any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)),
            0..10,
        ),
        size in 0..8_u32,
    ) {
        let mut receiver = TableReceiver::new();
        receiver.apply(&reset(1_u32 << size), &Limits::default()).unwrap();
        for (number, count, bits, is_deflated, data) in updates {
            let compressor = if is_deflated { Compressor::Deflate } else { Compressor::None };
            let update = RouteTableUpdate::Patch { number, count, compressor, bits, data: Cow::Owned(data) };
            if receiver.apply(&update, &Limits::default()).is_err() {
                break;
            }
        }
    }
}
