//! Reading a trace from a stream.

use std::io::{ErrorKind, Read};

use crate::block::HEAD_BYTES;
use crate::header::FIXED_BYTES;
use crate::parser::Parser;
pub use crate::parser::{Handlers, Sourced};
use crate::{Error, Header};

/// Reads a trace record by record, in memory for one block at a time.
///
/// Records of one source come in their order; those of different sources come block by
/// block. See the [crate] for an example.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    parser: Parser,
    /// How many bytes have been read.
    bytes: u64,
    /// Nothing more is to be read: the end was, or an error.
    over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header of a trace. Wants no buffered input: it reads block by block.
    ///
    /// # Errors
    ///
    /// If the input is no trace of this version, or is cut off in its header.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut bytes = 0;
        let mut fixed = [0; FIXED_BYTES];
        let got = fill(&mut input, &mut fixed)?;
        bytes += got as u64;
        if got < FIXED_BYTES {
            // What does not even begin like a trace is none, however short.
            let shown = got.min(crate::header::MAGIC.len());
            let is_one = got > 0 && fixed[..shown] == crate::header::MAGIC[..shown];
            return Err(match is_one {
                true => truncated(bytes, 0),
                false => Error::NotATrace,
            });
        }
        let (length, checksum) = Header::parse_fixed(&fixed)?;
        let rest = read(&mut input, length)?;
        bytes += rest.len() as u64;
        if rest.len() < length {
            return Err(truncated(bytes, 0));
        }
        let header = Header::parse_rest(&rest, checksum)?;
        Ok(Self {
            parser: Parser::new(&header, bytes),
            header,
            input,
            bytes,
            over: false,
        })
    }

    /// What the trace is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The handlers that have been named so far: those of all records so far.
    pub fn handlers(&self) -> &Handlers {
        &self.parser.handlers
    }

    /// How many records have been read, without those that are lost.
    pub fn records(&self) -> u64 {
        self.parser.records
    }

    /// How many records are known to be lost.
    pub fn lost(&self) -> u64 {
        self.parser.lost
    }

    /// When the trace ended, in cycles since its start; `None` before its end has been
    /// read.
    pub fn end(&self) -> Option<u64> {
        self.parser.end
    }

    /// Reads the next record; `None` at the end of a complete trace.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] after the last whole block of a trace without its end; others
    /// if it is damaged. After an error there are no more records.
    pub fn next_record(&mut self) -> Result<Option<Sourced>, Error> {
        if self.over {
            return Ok(None);
        }
        let next = self.try_next();
        self.over = !matches!(next, Ok(Some(_)));
        next
    }

    fn try_next(&mut self) -> Result<Option<Sourced>, Error> {
        loop {
            if let Some(record) = self.parser.next_record()? {
                return Ok(Some(record));
            }
            self.parser.at = self.bytes;
            let mut head = [0; HEAD_BYTES];
            let got = fill(&mut self.input, &mut head)?;
            self.bytes += got as u64;
            match (self.parser.end, got) {
                (Some(_), 0) => return Ok(None),
                (Some(_), _) => return Err(self.parser.nonsense("it comes after the end")),
                (None, HEAD_BYTES) => self.read_block(&head)?,
                (None, _) => return Err(truncated(self.bytes, self.parser.records)),
            }
        }
    }

    fn read_block(&mut self, head: &[u8; HEAD_BYTES]) -> Result<(), Error> {
        let length = self.parser.payload_bytes(head)?;
        let payload = read(&mut self.input, length)?;
        self.bytes += payload.len() as u64;
        if payload.len() < length {
            return Err(truncated(self.bytes, self.parser.records));
        }
        self.parser.block(head, payload)
    }
}

fn truncated(at: u64, records: u64) -> Error {
    Error::Truncated { at, records }
}

/// Reads up to so many bytes; fewer only at the end of the input.
fn read(input: &mut impl Read, length: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; length];
    let got = fill(input, &mut bytes)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// Fills a buffer as far as the input goes; how far.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Io(error)),
        }
    }
    Ok(got)
}
