//! Writing a trace.

use std::io::{self, Write};

use crate::Header;
use crate::block::{Block, Head, Kind};
use crate::bytes::{put_varint, shortened};

/// The bytes that [`Writer::finish`] adds.
pub const END_BYTES: u64 = 48;

/// Writes a trace: the header at once, then blocks as they come, then the end.
///
/// Each block goes out in two writes and nothing is kept back, so that a program that
/// dies leaves all that was handed over. See the [crate] for an example.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    bytes: u64,
    records: u64,
    lost: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// If there are too many workers, and what `out` says.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        if header.workers() >= crate::SOURCES_MAX {
            let what = "a trace has no room for so many workers";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let header = header.to_bytes();
        out.write_all(&header)?;
        Ok(Self {
            out,
            bytes: header.len() as u64,
            records: 0,
            lost: 0,
        })
    }

    /// Names handlers, before the first block that has events of them. Names are cut
    /// after [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX) bytes.
    ///
    /// # Errors
    ///
    /// What the underlying writer says.
    pub fn handlers(&mut self, named: &[(u32, &str)]) -> io::Result<()> {
        // So few that the names fit in a block however long they are.
        const HANDLERS: usize = crate::BLOCK_BYTES_MAX / (2 * crate::NAME_BYTES_MAX);
        for named in named.chunks(HANDLERS) {
            let mut payload = Vec::new();
            for &(number, name) in named {
                let name = shortened(name);
                put_varint(&mut payload, u64::from(number));
                put_varint(&mut payload, name.len() as u64);
                payload.extend(name.as_bytes());
            }
            self.own_block(Kind::Handlers, named.len() as u32, &payload)?;
        }
        Ok(())
    }

    /// Writes what a source has recorded.
    ///
    /// # Errors
    ///
    /// What the underlying writer says.
    pub fn block(&mut self, block: &Block) -> io::Result<()> {
        let (head, payload) = block.to_parts();
        self.write(&head, payload)?;
        self.records += u64::from(block.records());
        self.lost += block.lost();
        Ok(())
    }

    /// Ends the trace so many cycles after its start: from now on it is complete. Gives
    /// back what was written to.
    ///
    /// # Errors
    ///
    /// What the underlying writer says.
    pub fn finish(mut self, cycles: u64) -> io::Result<W> {
        let totals = [cycles, self.records, self.lost].map(u64::to_le_bytes);
        self.own_block(Kind::End, 0, totals.as_flattened())?;
        debug_assert_eq!(
            END_BYTES,
            (crate::block::HEAD_BYTES + totals.len() * 8) as u64
        );
        self.out.flush()?;
        Ok(self.out)
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The records written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The records that were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes a block that no source recorded.
    fn own_block(&mut self, kind: Kind, records: u32, payload: &[u8]) -> io::Result<()> {
        let head = Head {
            kind,
            source: 0,
            bytes: payload.len() as u32,
            records,
            lost: 0,
            checksum: 0,
        };
        self.write(&head.to_bytes(payload), payload)
    }

    fn write(&mut self, head: &[u8], payload: &[u8]) -> io::Result<()> {
        self.out.write_all(head)?;
        self.out.write_all(payload)?;
        self.bytes += (head.len() + payload.len()) as u64;
        Ok(())
    }
}
