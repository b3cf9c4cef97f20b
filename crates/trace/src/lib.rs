//! Traces of running Mely programs: what ran where, when, for how long, and what
//! posted it.
//!
//! A runtime that was built with a trace writes such a file; the simulator replays it,
//! and `mely trace info` sums it up. [`Writer`] and [`Reader`] work on any byte
//! stream; everything below them takes and gives bytes.
//!
//! ```
//! use mely_trace::{Block, Header, Origin, Reader, Record, Run, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), &Header::new(2, 2.5e9))?;
//! writer.handlers(&[(7, "Deposit")])?;
//! let mut block = Block::new(0);
//! block.root(100, 7, 42);
//! block.run(Run { handler: 7, color: 42, posted_by: 0, start: 150, cost: 900, panicked: false });
//! writer.block(&block)?;
//! let file = writer.finish(2_000)?;
//!
//! let mut reader = Reader::new(&file[..])?;
//! let root = reader.next_record()?.expect("a root");
//! assert_eq!((root.source, root.record), (0, Record::Post { handler: 7, color: 42, origin: Origin::Root(100) }));
//! assert!(matches!(reader.next_record()?, Some(r) if matches!(r.record, Record::Run(_))));
//! assert_eq!(reader.next_record()?, None);
//! assert_eq!(reader.handlers().name(7), Some("Deposit"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! All numbers are little-endian; `varint` is LEB128.
//!
//! | part | bytes |
//! |---|---|
//! | magic | `89 4D 45 4C 59 54 52 0A` |
//! | version | `u16`, [`VERSION`] |
//! | byte order | `u16` `FEFF` |
//! | header | length `u32`, checksum `u32`, then: cycles per second `f64`, workers `u32`, policy and topology as `u16` length and UTF-8, and for each worker its core as `u32` (`FFFFFFFF`: not pinned) |
//! | blocks | kind `u8`, 0 `u8`, source `u16`, payload length `u32`, records `u32`, lost before it `u64`, checksum `u32`, payload |
//!
//! The checksum is the CRC-32 of what it stands in (with itself left out) and the
//! payload. Kinds of blocks:
//!
//! * 1, handlers: of each the number as varint, the length of its name as varint, the name.
//! * 2, records of one source: a worker, or (as source [`Header::workers`]) all threads
//!   outside. Times are varints: cycles since the time before in the block, the first one
//!   since the start of the trace.
//! * 3, the end: cycles from the start to the end, records and lost records, each `u64`.
//!   A file without it is cut off.
//!
//! Records begin with a tag of one byte, then varints:
//!
//! * 1, a post by the event whose run follows in the same source: handler, color.
//! * 2, a post by no event (a timer, readiness, a thread outside): time, handler, color.
//! * 3, the run of an event, 4 the same with a panic: handler, color, the source that
//!   posted it, start, cycles that it took. The posts of the event come before it.
//!
//! Events that one source posts to one color run in that order, so a run of color *c*
//! posted by *s* is that of the first post of *s* to *c* that has not run yet: see
//! [`Graph`].

mod block;
mod bytes;
mod error;
mod graph;
mod header;
mod parser;
mod reader;
mod record;
mod writer;

pub use block::Block;
pub use error::Error;
pub use graph::{Event, Graph, NO_CAUSE};
pub use header::{Header, NOT_PINNED};
pub use reader::{Handlers, Reader, Sourced};
pub use record::{Origin, Record, Run};
pub use writer::{END_BYTES, Writer};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u16 = 1;

/// How many sources a trace has at the most: workers, and the threads outside.
pub const SOURCES_MAX: u32 = u16::MAX as u32;

/// The largest number of a handler: far beyond what a process tells apart.
pub const HANDLERS_MAX: u32 = 1 << 16;

/// The bytes that are kept of a handler's name, or of another text: names of closures are types,
/// which can be long.
pub const NAME_BYTES_MAX: usize = 1024;

/// The bytes of a block at the most: 16 times what the runtime fills.
pub const BLOCK_BYTES_MAX: usize = 1 << 20;

/// The records of a trace at the most: what 64 cores at 10 million events a second write in
/// a few minutes, some hundred gigabytes.
pub const RECORDS_MAX: u64 = 1 << 37;
