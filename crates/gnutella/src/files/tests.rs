use super::*;
use crate::extension::Extension;
use crate::message::QueryFlags;
use crate::qrp::QueryKey;
use proptest::prelude::*;

fn query<'a>(text: &'a str, extensions: &'a str) -> Query<'a> {
    Query {
        flags: QueryFlags::default(),
        text: text.as_bytes(),
        extensions: extensions.as_bytes(),
    }
}

fn found(files: &FileIndex, text: &str, extensions: &str) -> Vec<u32> {
    let found = files.search(&query(text, extensions), &Limits::default());
    found.unwrap().iter().map(|file| file.index()).collect()
}

#[test]
fn all_words_are_found_in_any_case_and_order() {
    let mut files = FileIndex::new(&Limits::default());
    files.add("The Free Song (live).ogg", 1, None).unwrap();
    files.add("Another free-free song.mp3", 2, None).unwrap();
    files.add("ÉTÉ.txt", 3, None).unwrap();
    for (text, expected) in [
        ("free", &[1, 2][..]),
        ("song FREE", &[1, 2]),
        ("free song live", &[1]),
        ("fre", &[]),
        ("free nothing", &[]),
        ("été", &[3]),
        ("song song", &[1, 2]),
        ("", &[]),
        ("   ", &[]),
    ] {
        assert_eq!(found(&files, text, ""), expected, "{text}");
    }
    assert_eq!(files.remove(1).unwrap().name(), "The Free Song (live).ogg");
    assert_eq!(found(&files, "free song", ""), [2]);
    assert_eq!(found(&files, "live", ""), [0; 0]);
    assert_eq!(files.remove(1), None);
    assert_eq!(files.add("free again", 1, None), Ok(4));
}

#[test]
fn content_is_found_by_its_name() {
    let sha1 = Sha1Urn([7; 20]);
    let mut files = FileIndex::new(&Limits::default());
    files.add("one", 1, Some(sha1)).unwrap();
    files.add("the same", 1, Some(sha1)).unwrap();
    files.add("another", 1, Some(Sha1Urn([8; 20]))).unwrap();
    let urn = sha1.to_string();
    assert_eq!(found(&files, "", &urn), [1, 2]);
    assert_eq!(found(&files, "another", &urn), [1, 2]);
    assert_eq!(found(&files, "another", "urn:sha1:"), [3]);
    assert_eq!(found(&files, "", &Sha1Urn([9; 20]).to_string()), [0; 0]);
    files.remove(1);
    assert_eq!(files.with_sha1(sha1).unwrap().name(), "the same");
}

#[test]
fn a_result_tells_content_and_length() {
    let mut files = FileIndex::new(&Limits::default());
    let sha1 = Sha1Urn([7; 20]);
    let index = files.add("large", 5 << 32, Some(sha1)).unwrap();
    let result = files.get(index).unwrap().result();
    assert_eq!((result.bytes, result.name), (u32::MAX, &b"large"[..]));
    assert!(!result.extensions.contains(&0));
    let read = result.extensions(&Limits::default()).unwrap();
    assert_eq!(read[0].sha1(), Some(sha1));
    let Extension::Ggep(block) = &read[1] else {
        panic!("{read:?}")
    };
    assert_eq!(block.large_file_bytes(), Some(5 << 32));
    let index = files.add("small", 5, None).unwrap();
    let result = files.get(index).unwrap().result();
    assert_eq!((result.bytes, result.extensions), (5, &b""[..]));
    assert_eq!(files.counts(), (2, 5 << 22));
}

#[test]
fn limits_hold() {
    let limits = Limits {
        max_files: 3,
        max_file_name_bytes: 10,
        max_results: 2,
        ..Limits::default()
    };
    let mut files = FileIndex::new(&limits);
    for name in ["", "a\0b", "a\nb"] {
        assert!(matches!(
            files.add(name, 1, None),
            Err(Error::Malformed { .. })
        ));
    }
    assert!(matches!(
        files.add("elevenbytes", 1, None),
        Err(Error::TooLong { max: 10, .. })
    ));
    for _ in 0..3 {
        files.add("same name", 1, None).unwrap();
    }
    assert!(matches!(
        files.add("one", 1, None),
        Err(Error::TooMany { max: 3, .. })
    ));
    let found = files.search(&query("same", ""), &limits).unwrap();
    assert_eq!(found.len(), 2);
}

proptest! {
    /// What is found matches the table that is told to others.
    #[test]
    fn a_table_has_what_is_found(
        names in prop::collection::vec("[a-d]{3}( [a-d]{3}){0,3}", 1..20),
        text in "[a-d]{3}( [a-d]{3}){0,2}",
    ) {
        let limits = Limits::default();
        let mut files = FileIndex::new(&limits);
        for name in &names {
            files.add(name, 1, None).unwrap();
        }
        let query = query(&text, "");
        let found = files.search(&query, &limits).unwrap();
        let expected = names.iter().filter(|name| text.split(' ').all(|word| name.split(' ').any(|has| has == word)));
        prop_assert_eq!(found.len(), expected.count());
        let table = files.route_table(65_536, &limits).unwrap();
        let key = QueryKey::of(&query, &limits).unwrap();
        prop_assert!(found.is_empty() || table.matches(&key));
    }
}
