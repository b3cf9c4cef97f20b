//! Blocks: what a source has recorded in a row.

use crate::bytes::{Bytes, VARINT_BYTES_MAX};
use crate::record::{self, Run, Times};

/// Bytes of a block before its payload.
pub(crate) const HEAD_BYTES: usize = 24;

/// Bytes of the head before its checksum.
const SUMMED_BYTES: usize = HEAD_BYTES - 4;

/// The bytes that a record takes at the most.
const RECORD_BYTES_MAX: usize = 1 + 5 * VARINT_BYTES_MAX;

/// The bytes of a block that a source fills: some 7000 runs. Handing it over takes a
/// few microseconds, less than a nanosecond for each.
const FILL_BYTES: usize = 64 << 10;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Handlers,
    Records,
    End,
}

/// What stands before the payload of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) source: u16,
    pub(crate) bytes: u32,
    pub(crate) records: u32,
    pub(crate) lost: u64,
    pub(crate) checksum: u32,
}

impl Head {
    /// The head of a payload as bytes, with the checksum of both.
    pub(crate) fn to_bytes(self, payload: &[u8]) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[0] = match self.kind {
            Kind::Handlers => 1,
            Kind::Records => 2,
            Kind::End => 3,
        };
        out[2..4].copy_from_slice(&self.source.to_le_bytes());
        out[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        out[8..12].copy_from_slice(&self.records.to_le_bytes());
        out[12..20].copy_from_slice(&self.lost.to_le_bytes());
        let checksum = checksum(&out[..SUMMED_BYTES], payload);
        out[SUMMED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads a head; `None` if it is none.
    pub(crate) fn parse(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let kind = match bytes.u8()? {
            1 => Kind::Handlers,
            2 => Kind::Records,
            3 => Kind::End,
            _ => return None,
        };
        if bytes.u8()? != 0 {
            return None;
        }
        Some(Self {
            kind,
            source: bytes.u16()?,
            bytes: bytes.u32()?,
            records: bytes.u32()?,
            lost: bytes.u64()?,
            checksum: bytes.u32()?,
        })
    }
}

/// Whether a head and a payload are what was written.
pub(crate) fn is_whole(head: &[u8; HEAD_BYTES], payload: &[u8]) -> bool {
    let found = checksum(&head[..SUMMED_BYTES], payload);
    head[SUMMED_BYTES..] == found.to_le_bytes()
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

/// Records of one source, to be handed to the [`Writer`](crate::Writer) when there is
/// no room for more.
///
/// ```
/// let mut block = mely_trace::Block::new(3);
/// block.post(7, 42);
/// assert_eq!((block.source(), block.records(), block.has_room()), (3, 1, true));
/// ```
#[derive(Clone, Debug)]
pub struct Block {
    source: u16,
    records: u32,
    lost: u64,
    times: Times,
    payload: Vec<u8>,
}

impl Block {
    /// An empty block of a source: the number of a worker, or of the threads outside.
    pub fn new(source: u16) -> Self {
        Self {
            source,
            records: 0,
            lost: 0,
            times: Times::default(),
            payload: Vec::with_capacity(FILL_BYTES),
        }
    }

    /// Empties it; `lost` records are missing between what it held before and what
    /// comes.
    pub fn reuse(&mut self, lost: u64) {
        self.records = 0;
        self.lost = lost;
        self.times = Times::default();
        self.payload.clear();
    }

    /// The source that fills it.
    pub fn source(&self) -> u16 {
        self.source
    }

    /// How many records it has.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// How many records are missing before it.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether any record fits.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.payload.len() + RECORD_BYTES_MAX <= FILL_BYTES
    }

    /// Records a post by the event that is being run.
    #[inline]
    pub fn post(&mut self, handler: u32, color: u64) {
        self.records += 1;
        record::put_post(&mut self.payload, handler, color);
    }

    /// Records a post by no event, at a time in cycles since the start of the trace.
    #[inline]
    pub fn root(&mut self, time: u64, handler: u32, color: u64) {
        self.records += 1;
        record::put_root(&mut self.payload, &mut self.times, time, handler, color);
    }

    /// Records the run of an event, after its posts.
    #[inline]
    pub fn run(&mut self, run: Run) {
        self.records += 1;
        record::put_run(&mut self.payload, &mut self.times, &run);
    }

    /// The block as bytes: its head, and its payload.
    pub(crate) fn to_parts(&self) -> ([u8; HEAD_BYTES], &[u8]) {
        let head = Head {
            kind: Kind::Records,
            source: self.source,
            bytes: self.payload.len() as u32,
            records: self.records,
            lost: self.lost,
            checksum: 0,
        };
        (head.to_bytes(&self.payload), &self.payload)
    }
}
