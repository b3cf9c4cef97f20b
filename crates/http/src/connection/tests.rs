use super::*;
use crate::date::DateCache;
use crate::limits::Limits;
use crate::parser::tests::request_like;
use crate::site::Options;
use proptest::prelude::*;
use std::os::unix::fs::FileExt;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

mod answers;
mod lifetime;

struct World {
    _directory: TempDir,
    site: Site,
    protocol: Arc<Protocol>,
    start: Instant,
}

const BIG: usize = 20_000;
const STREAMED: usize = 50_000;

impl World {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let modified = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (name, content) in [
            ("a.txt", b"0123456789".to_vec()),
            ("empty", Vec::new()),
            ("big", vec![b'b'; BIG]),
            ("streamed.bin", (0..STREAMED).map(|n| n as u8).collect()),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::File::open(&path)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        }
        std::fs::create_dir(directory.path().join("dir")).unwrap();
        let start = Instant::now();
        let now = now_at(start, 0);
        let limits = Limits {
            cache_file_bytes: 30_000,
            ..limits
        };
        let site = Site::open(directory.path(), Options::default(), &limits, &now).unwrap();
        Self {
            _directory: directory,
            site,
            protocol: Arc::new(Protocol::new(limits)),
            start,
        }
    }

    fn at_ms(&self, ms: u64) -> Now {
        now_at(self.start, ms)
    }

    fn connection(&self) -> Connection {
        Connection::new(self.protocol.clone(), &self.at_ms(0))
    }

    /// Feeds `input` in pieces, then the end of input; what comes back, with the final step.
    fn converse(&self, input: &[u8], piece: usize) -> Vec<u8> {
        let mut peer = Peer {
            connection: self.connection(),
            output: Vec::new(),
            shut_down: false,
        };
        let mut rest = input;
        for _ in 0..200_000 {
            match self.step(&mut peer) {
                Step::Read => {
                    let room = peer.connection.read_buffer();
                    assert!(!room.is_empty(), "asked to read into nothing");
                    let count = piece.min(room.len()).min(rest.len());
                    room[..count].copy_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    peer.connection.advance(count, &self.at_ms(0));
                }
                Step::Close => return peer.output,
                _ => {}
            }
        }
        panic!("the connection never closed");
    }

    /// One step that needs no input.
    fn step(&self, peer: &mut Peer) -> Step {
        let now = self.at_ms(0);
        let step = peer.connection.parse(&now);
        match step {
            Step::Request => {
                assert!(peer.connection.check_in_cache(&self.site, &now).is_some());
            }
            Step::Write => peer.write_some(&now, 7_001),
            Step::ShutdownWrite => peer.shut_down = true,
            Step::Read | Step::Close => {}
        }
        step
    }
}

fn now_at(start: Instant, ms: u64) -> Now {
    // Long after the files changed, whatever the clock of this machine says.
    DateCache::new().at(
        start + Duration::from_millis(ms),
        UNIX_EPOCH + Duration::from_secs(1_900_000_000),
    )
}

struct Peer {
    connection: Connection,
    output: Vec<u8>,
    shut_down: bool,
}

impl Peer {
    fn write_some(&mut self, now: &Now, most: usize) {
        assert!(!self.shut_down, "written after the shutdown");
        let before = self.output.len();
        match self.connection.pending_output() {
            Output::Empty => panic!("asked to write nothing"),
            Output::Bytes(slices) => {
                let all: Vec<u8> = slices
                    .iter()
                    .flat_map(|slice| slice.iter().copied())
                    .collect();
                self.output.extend_from_slice(&all[..all.len().min(most)]);
            }
            Output::File {
                file,
                offset,
                length,
            } => {
                let mut part = vec![0; (length as usize).min(most)];
                file.read_exact_at(&mut part, offset).unwrap();
                self.output.extend_from_slice(&part);
            }
        }
        let count = (self.output.len() - before) as u64;
        assert!(count > 0, "asked to write nothing");
        self.connection.advance_output(count, now);
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n{fields}\r\n")
}

fn answer(request: &str) -> String {
    text(&World::new().converse(request.as_bytes(), usize::MAX))
}

/// Head and content of a lone answer.
fn parts(answer: &str) -> (&str, &str) {
    answer
        .split_once("\r\n\r\n")
        .expect("an answer has a blank line")
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop::sample::select(vec![
        get("/a.txt", ""),
        get("/big", ""),
        get("/streamed.bin", "Range: bytes=5-9999\r\n"),
        get("/dir", "Connection: keep-alive\r\n"),
        get("/a.txt", "Content-Length: 3\r\n") + "abc",
        get(
            "/a.txt",
            "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
        ) + "3\r\nabc\r\n0\r\n\r\n",
        "HEAD /big HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".into(),
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab".into(),
    ]);
    let requests = prop::collection::vec(whole, 0..8).prop_map(|all| all.concat().into_bytes());
    (requests, request_like()).prop_map(|(requests, tail)| [requests, tail].concat())
}

proptest! {
    #[test]
    fn pieces_do_not_change_the_answers(inputs in prop::collection::vec((stream(), 1usize..50), 1..8)) {
        let world = World::with(Limits {
            max_head_bytes: 500, max_target_bytes: 100, max_body_bytes: 50, max_output_bytes: 9000,
            ..Limits::default()
        });
        for (input, piece) in inputs {
            let whole = world.converse(&input, usize::MAX);
            prop_assert_eq!(text(&world.converse(&input, piece)), text(&whole));
        }
    }
}

#[test]
fn a_full_buffer_always_has_room_for_the_body() {
    let limits = Limits {
        max_head_bytes: 700,
        ..Limits::default()
    };
    let world = World::with(limits);
    let fields = format!("A: {}\r\nTransfer-Encoding: chunked\r\n", "x".repeat(620));
    for body in [
        format!("0\r\nT: {}", "t".repeat(5000)),
        format!("1;{}", "e".repeat(5000)),
    ] {
        let answer = text(&world.converse((get("/a.txt", &fields) + &body).as_bytes(), 100));
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}
