//! A peer that writes and reads the bytes of the specification by itself.

use super::PATIENCE;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) const PING: u8 = 0x00;
pub(crate) const PONG: u8 = 0x01;
pub(crate) const BYE: u8 = 0x02;
pub(crate) const ROUTE_TABLE: u8 = 0x30;
pub(crate) const VENDOR: u8 = 0x31;
pub(crate) const PUSH: u8 = 0x40;
pub(crate) const QUERY: u8 = 0x80;
pub(crate) const QUERY_HIT: u8 = 0x81;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) guid: [u8; 16],
    pub(crate) kind: u8,
    pub(crate) ttl: u8,
    pub(crate) hops: u8,
    pub(crate) payload: Vec<u8>,
}

impl Said {
    pub(crate) fn new(kind: u8, number: u8, ttl: u8, payload: &[u8]) -> Self {
        let guid = [number; 16];
        Self {
            guid,
            kind,
            ttl,
            hops: 0,
            payload: payload.to_vec(),
        }
    }

    pub(crate) fn query(number: u8, ttl: u8, words: &str) -> Self {
        let payload = [b"\x80\0", words.as_bytes(), b"\0"].concat();
        Self::new(QUERY, number, ttl, &payload)
    }

    /// The same with a name that no other has.
    pub(crate) fn unlike_others(mut self) -> Self {
        self.guid = [0xaa; 16];
        // Relaxed: a name for each.
        self.guid[..4].copy_from_slice(&NAMED.fetch_add(1, Relaxed).to_le_bytes());
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.guid.to_vec();
        bytes.extend([self.kind, self.ttl, self.hops]);
        bytes.extend((self.payload.len() as u32).to_le_bytes());
        bytes.extend(&self.payload);
        bytes
    }
}

/// How many messages there were, none of which may have the name of another.
static NAMED: AtomicU32 = AtomicU32::new(0);

/// A connection of the test's own.
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    inflate: Option<Decompress>,
    deflate: Option<Compress>,
    /// Inflated, and not read.
    bytes: Vec<u8>,
    /// All messages that were read, as they came.
    pub(crate) seen: Vec<u8>,
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads lines up to an empty one.
pub(crate) fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        let mut byte = [0];
        match stream.read(&mut byte).unwrap() {
            0 => break,
            _ => head.push(byte[0]),
        }
    }
    String::from_utf8(head).unwrap()
}

impl Raw {
    fn new(stream: TcpStream, deflates: bool) -> Self {
        Self {
            stream,
            inflate: deflates.then(|| Decompress::new(true)),
            deflate: deflates.then(|| Compress::new(Compression::default(), true)),
            bytes: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Meets a node with these fields, which end by a line end each: what it answered.
    pub(crate) fn meet_with(to: SocketAddr, fields: &str) -> (Self, String) {
        let mut stream = connect(to);
        let offer = format!("GNUTELLA CONNECT/0.6\r\nUser-Agent: Raw/1\r\n{fields}\r\n");
        stream.write_all(offer.as_bytes()).unwrap();
        let answer = head(&mut stream);
        let deflates = answer.contains("Content-Encoding: deflate");
        if answer.starts_with("GNUTELLA/0.6 200") {
            let end = match deflates {
                true => "GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n",
                false => "GNUTELLA/0.6 200 OK\r\n\r\n",
            };
            stream.write_all(end.as_bytes()).unwrap();
        }
        (Self::new(stream, deflates), answer)
    }

    pub(crate) fn ultrapeer(to: SocketAddr) -> Self {
        let fields = "X-Ultrapeer: True\r\nX-Query-Routing: 0.1\r\nPong-Caching: 0.1\r\n";
        Self::meet_with(to, fields).0
    }

    pub(crate) fn leaf(to: SocketAddr) -> Self {
        Self::meet_with(to, "X-Ultrapeer: False\r\nX-Query-Routing: 0.1\r\n").0
    }

    pub(crate) fn deflated(to: SocketAddr) -> Self {
        let fields = "X-Ultrapeer: True\r\nAccept-Encoding: deflate\r\n";
        let (raw, answer) = Self::meet_with(to, fields);
        assert!(raw.deflate.is_some(), "{answer}");
        raw
    }

    pub(crate) fn legacy(to: SocketAddr) -> Self {
        let mut stream = connect(to);
        stream.write_all(b"GNUTELLA CONNECT/0.4\n\n").unwrap();
        assert_eq!(head(&mut stream), "GNUTELLA OK\n\n");
        Self::new(stream, false)
    }

    /// Answers a node that connects here.
    pub(crate) fn accepted(mut stream: TcpStream, fields: &str) -> (Self, String) {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let offer = head(&mut stream);
        let answer = format!("GNUTELLA/0.6 200 OK\r\nX-Ultrapeer: True\r\n{fields}\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        let end = head(&mut stream);
        assert!(end.starts_with("GNUTELLA/0.6 200 "), "{end}");
        (Self::new(stream, false), offer)
    }

    pub(crate) fn send(&mut self, said: &Said) {
        self.send_bytes(&said.bytes()).unwrap();
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let Some(deflate) = &mut self.deflate else {
            return self.stream.write_all(bytes);
        };
        let mut out = Vec::with_capacity(bytes.len() + 1024);
        deflate
            .compress_vec(bytes, &mut out, FlushCompress::Sync)
            .unwrap();
        self.stream.write_all(&out)
    }

    /// Reads until there are so many bytes, or the end: whether there are.
    fn fill(&mut self, count: usize) -> bool {
        while self.bytes.len() < count {
            let mut part = [0; 4096];
            let read = match self.stream.read(&mut part) {
                Ok(0) | Err(_) => return false,
                Ok(read) => read,
            };
            match &mut self.inflate {
                None => self.bytes.extend(&part[..read]),
                Some(inflate) => {
                    let mut rest = &part[..read];
                    while !rest.is_empty() {
                        let before = inflate.total_in();
                        let mut out = Vec::with_capacity(64 * 1024);
                        inflate
                            .decompress_vec(rest, &mut out, FlushDecompress::Sync)
                            .unwrap();
                        rest = &rest[(inflate.total_in() - before) as usize..];
                        self.bytes.extend(out);
                    }
                }
            }
        }
        true
    }

    /// The next message; nothing at the end.
    pub(crate) fn next(&mut self) -> Option<Said> {
        if !self.fill(23) {
            return None;
        }
        let length = u32::from_le_bytes(self.bytes[19..23].try_into().unwrap()) as usize;
        if !self.fill(23 + length) {
            return None;
        }
        let message: Vec<u8> = self.bytes.drain(..23 + length).collect();
        self.seen.extend(&message);
        Some(Said {
            guid: message[..16].try_into().unwrap(),
            kind: message[16],
            ttl: message[17],
            hops: message[18],
            payload: message[23..].to_vec(),
        })
    }

    /// The next message of a kind, whatever comes before.
    #[track_caller]
    pub(crate) fn next_of(&mut self, kind: u8) -> Said {
        loop {
            let said = self.next().expect("the message before the end");
            if said.kind == kind {
                return said;
            }
        }
    }

    /// Sends a ping that only the node answers, and waits for that: all that was sent before has
    /// been looked at. Gives what came before.
    #[track_caller]
    pub(crate) fn settle(&mut self) -> Vec<Said> {
        let ping = Said::new(PING, 0, 1, b"").unlike_others();
        let guid = ping.guid;
        self.send(&ping);
        let mut before = Vec::new();
        loop {
            let said = self.next().expect("a pong before the end");
            if said.kind == PONG && said.guid == guid {
                return before;
            }
            before.push(said);
        }
    }

    /// All kinds that still come until the end.
    pub(crate) fn rest(&mut self) -> Vec<Said> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Tells a node that this leaf has these words, by a table of eight bits a slot that is not
    /// compressed.
    pub(crate) fn send_table(&mut self, words: &[&str]) {
        const SLOTS: usize = 1024;
        let reset = [&[0][..], &(SLOTS as u32).to_le_bytes(), &[7]].concat();
        self.send(&Said::new(ROUTE_TABLE, 0xe0, 1, &reset));
        let mut slots = [0_u8; SLOTS];
        for word in words {
            // From infinity, which is 7, to a distance of one.
            slots[hash(word, 10)] = 0xfa;
        }
        let patch = [&[1, 1, 1, 0, 8][..], &slots].concat();
        self.send(&Said::new(ROUTE_TABLE, 0xe1, 1, &patch));
    }
}

/// The hash of "Query Routing for the Gnutella Network" 1.0, section 3.5, in its own words.
fn hash(word: &str, bits: u32) -> usize {
    let mut xor: u32 = 0;
    let mut j = 0;
    for letter in word.bytes() {
        let b = u32::from(letter.to_ascii_lowercase()) << (j * 8);
        xor ^= b;
        j = (j + 1) % 4;
    }
    let product = u64::from(xor) * 0x4F1B_BCDC;
    ((product << 32) >> (32 + (32 - bits))) as usize
}
