//! Whatever the bytes are, reading them ends with records or an error.

use mely_trace::{Block, Error, Graph, Header, Origin, Reader, Record, Run, Writer};
use proptest::prelude::*;

const WORKERS: u16 = 2;

#[derive(Clone, Debug)]
enum Written {
    Post(u32, u64),
    Root(u64, u32, u64),
    Run(Run),
}

fn written() -> impl Strategy<Value = Written> {
    let run = (0..4u32, any::<u64>(), 0..=u32::from(WORKERS), 0..1u64 << 40)
        .prop_flat_map(|head| (Just(head), any::<u64>(), any::<bool>()))
        .prop_map(|((handler, color, posted_by, start), cost, panicked)| {
            Written::Run(Run {
                handler,
                color,
                posted_by,
                start,
                cost,
                panicked,
            })
        });
    prop_oneof![
        (0..4u32, any::<u64>()).prop_map(|(handler, color)| Written::Post(handler, color)),
        (0..1u64 << 40, 0..4u32, any::<u64>()).prop_map(|(t, h, c)| Written::Root(t, h, c)),
        run
    ]
}

fn blocks() -> impl Strategy<Value = Vec<(u16, u64, Vec<Written>)>> {
    let block = (
        0..=WORKERS,
        prop_oneof![Just(0u64), 1..9u64],
        prop::collection::vec(written(), 0..20),
    );
    prop::collection::vec(block, 0..6)
}

fn file(blocks: &[(u16, u64, Vec<Written>)]) -> Vec<u8> {
    let mut header = Header::new(usize::from(WORKERS), 2.5e9);
    header.policy = "adaptive".to_owned();
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    writer
        .handlers(&[(0, "(unresolved)"), (1, "(other)"), (2, "A"), (3, "B")])
        .unwrap();
    for (source, lost, records) in blocks {
        let mut block = Block::new(*source);
        block.reuse(*lost);
        for record in records {
            match record {
                Written::Post(handler, color) => block.post(*handler, *color),
                Written::Root(time, handler, color) => block.root(*time, *handler, *color),
                Written::Run(run) => block.run(*run),
            }
        }
        writer.block(&block).unwrap();
    }
    writer.finish(1 << 41).unwrap()
}

/// What comes before the end or an error.
fn read(bytes: &[u8]) -> (Vec<(u32, Record)>, Result<(), Error>) {
    let mut records = Vec::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (records, Err(error)),
    };
    loop {
        match reader.next_record() {
            Ok(Some(read)) => records.push((read.source, read.record)),
            Ok(None) => return (records, Ok(())),
            Err(error) => {
                assert!(matches!(reader.next_record(), Ok(None)), "an error ends it");
                return (records, Err(error));
            }
        }
    }
}

/// What reading a block gives back: times that go back stay where they are.
fn expected(blocks: &[(u16, u64, Vec<Written>)]) -> Vec<(u32, Record)> {
    let mut all = Vec::new();
    for (source, lost, records) in blocks {
        let source = u32::from(*source);
        if *lost > 0 {
            all.push((source, Record::Lost(*lost)));
        }
        let mut now = 0;
        for record in records {
            let record = match record {
                Written::Post(handler, color) => Record::Post {
                    handler: *handler,
                    color: *color,
                    origin: Origin::Event,
                },
                Written::Root(time, handler, color) => {
                    now = now.max(*time);
                    Record::Post {
                        handler: *handler,
                        color: *color,
                        origin: Origin::Root(now),
                    }
                }
                Written::Run(run) => {
                    now = now.max(run.start);
                    Record::Run(Run { start: now, ..*run })
                }
            };
            all.push((source, record));
        }
    }
    all
}

proptest! {
    #[test]
    fn what_is_written_is_read(blocks in blocks()) {
        let (records, end) = read(&file(&blocks));
        prop_assert!(end.is_ok(), "{end:?}");
        prop_assert_eq!(records, expected(&blocks));
    }

    #[test]
    fn every_truncation_gives_a_shorter_trace_and_says_so(blocks in blocks()) {
        let bytes = file(&blocks);
        let (whole, _) = read(&bytes);
        for length in 0..bytes.len() {
            let (records, end) = read(&bytes[..length]);
            prop_assert!(whole.starts_with(&records));
            let counted = records.iter().filter(|(_, r)| !matches!(r, Record::Lost(_))).count();
            match end {
                Err(Error::Truncated { at, records }) => {
                    prop_assert_eq!((at, records), (length as u64, counted as u64));
                }
                Err(Error::NotATrace) => prop_assert_eq!(length, 0),
                other => prop_assert!(false, "{length}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(blocks in blocks(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = file(&blocks);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(read(&bytes).1.is_err(), "byte {at}");
    }

    #[test]
    fn random_bytes_are_no_trace(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).1.is_err());
    }

    #[test]
    fn random_bytes_behind_a_header_are_refused(tail in prop::collection::vec(any::<u8>(), 1..200)) {
        let mut bytes = file(&[]);
        bytes.extend(tail);
        prop_assert!(read(&bytes).1.is_err());
    }

    #[test]
    fn a_graph_keeps_every_run_and_its_causes_ran_before_or_elsewhere(blocks in blocks()) {
        let bytes = file(&blocks);
        let graph = Graph::read(&mut Reader::new(&bytes[..]).unwrap()).unwrap();
        let all = expected(&blocks);
        let runs = all.iter().filter(|(_, r)| matches!(r, Record::Run(_))).count();
        let posts = all.iter().filter(|(_, r)| matches!(r, Record::Post { .. })).count() as u64;
        prop_assert_eq!(graph.events.len(), runs);
        let paired = runs as u64 - graph.without_post;
        prop_assert_eq!(paired + graph.without_run, posts);
    }
}

fn message(bytes: &[u8]) -> String {
    read(bytes).1.unwrap_err().to_string()
}

#[test]
fn each_error_names_what_is_wrong() {
    let bytes = file(&[]);
    assert!(message(b"GET / HTTP/1.1\r\nHost: a\r\n").contains("no trace of Mely"));
    assert!(message(b"short").contains("no trace of Mely"));
    assert!(message(&bytes[..30]).contains("cut off at byte 30"));
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(message(&other).contains("version 9"));
    let mut swapped = bytes.clone();
    swapped.swap(8, 9);
    swapped.swap(10, 11);
    assert!(message(&swapped).contains("wrong order"));
    let mut damaged = bytes;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(message(&damaged).contains("checksum"));
}

#[test]
fn handlers_without_a_name_are_refused() {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    let mut block = Block::new(0);
    block.post(5, 1);
    writer.block(&block).unwrap();
    let bytes = writer.finish(1).unwrap();
    assert!(message(&bytes).contains("handler 5"));
}

#[test]
fn sources_that_are_no_worker_are_refused() {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    writer.block(&Block::new(2)).unwrap();
    assert!(message(&writer.finish(1).unwrap()).contains("no such worker"));
}

#[test]
fn long_names_are_cut() {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    let long = "x".repeat(mely_trace::NAME_BYTES_MAX + 1);
    let many: Vec<_> = (0..2000).map(|number| (number, &long[..])).collect();
    writer.handlers(&many).unwrap();
    let bytes = writer.finish(1).unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.next_record().unwrap(), None);
    assert_eq!(reader.handlers().iter().count(), 2000);
    assert_eq!(
        reader.handlers().name(1999).map(str::len),
        Some(long.len() - 1)
    );
}

#[test]
fn a_color_that_moves_keeps_its_order_whatever_block_comes_first() {
    let mut writer = Writer::new(Vec::new(), &Header::new(2, 1e9)).unwrap();
    writer.handlers(&[(0, "(unresolved)"), (1, "A")]).unwrap();
    let run = |start| Run {
        handler: 1,
        color: 9,
        posted_by: 2,
        start,
        cost: 5,
        panicked: false,
    };
    let (mut first, mut second, mut outside) = (Block::new(1), Block::new(0), Block::new(2));
    first.run(run(50));
    second.run(run(90));
    outside.root(30, 0, 9);
    outside.root(70, 0, 9);
    for block in [second, outside, first] {
        writer.block(&block).unwrap();
    }
    let bytes = writer.finish(100).unwrap();
    let graph = Graph::read(&mut Reader::new(&bytes[..]).unwrap()).unwrap();
    let times: Vec<_> = graph.events.iter().map(|e| (e.posted, e.start)).collect();
    assert_eq!(times, [(70, 90), (30, 50)]);
}

#[test]
fn a_run_whose_post_was_lost_takes_no_later_one() {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    writer.handlers(&[(0, "(unresolved)"), (1, "A")]).unwrap();
    let mut block = Block::new(0);
    block.reuse(1);
    for start in [10, 30] {
        let (handler, color, posted_by) = (1, 9, 0);
        let (cost, panicked) = (5, false);
        if start == 30 {
            block.root(20, 1, 9);
        }
        block.run(Run {
            handler,
            color,
            posted_by,
            start,
            cost,
            panicked,
        });
    }
    writer.block(&block).unwrap();
    let bytes = writer.finish(100).unwrap();
    let graph = Graph::read(&mut Reader::new(&bytes[..]).unwrap()).unwrap();
    let posted: Vec<_> = graph.events.iter().map(|e| e.posted).collect();
    assert_eq!((posted, graph.without_post), (vec![10, 20], 1));
}
