//! Blocks as they are read: bytes in, records out, no I/O.

use crate::block::{HEAD_BYTES, Head, Kind, is_whole};
use crate::bytes::Bytes;
use crate::record::{self, Record, Times};
use crate::{BLOCK_BYTES_MAX, Error, HANDLERS_MAX, Header, RECORDS_MAX};

/// The names of the handlers of a trace, by number.
#[derive(Clone, Debug, Default)]
pub struct Handlers(Vec<Option<Box<str>>>);

impl Handlers {
    /// The name of a handler; `None` if the trace has not named it so far.
    pub fn name(&self, handler: u32) -> Option<&str> {
        self.0.get(handler as usize)?.as_deref()
    }

    /// All that are named: numbers and names.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        let numbered = (0..).zip(&self.0);
        numbered.filter_map(|(number, name)| Some((number, name.as_deref()?)))
    }

    fn set(&mut self, handler: u32, name: &str) {
        let at = handler as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(name.into());
    }
}

/// A record, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sourced {
    /// The number of a worker, or [`Header::workers`] for the threads outside.
    pub source: u32,
    /// What it recorded.
    pub record: Record,
}

/// The records of one block that are still to come.
#[derive(Debug, Default)]
struct Current {
    source: u32,
    payload: Vec<u8>,
    offset: usize,
    times: Times,
    records: u32,
    lost: u64,
}

/// What has been read of a trace.
#[derive(Debug)]
pub(crate) struct Parser {
    sources: u32,
    pub(crate) handlers: Handlers,
    /// Where the block begins that is being read.
    pub(crate) at: u64,
    /// Records read, and lost ones told of.
    pub(crate) records: u64,
    pub(crate) lost: u64,
    /// When the trace ended, in cycles, once its end has been read.
    pub(crate) end: Option<u64>,
    current: Current,
}

impl Parser {
    pub(crate) fn new(header: &Header, at: u64) -> Self {
        Self {
            sources: header.workers() + 1,
            handlers: Handlers::default(),
            at,
            records: 0,
            lost: 0,
            end: None,
            current: Current::default(),
        }
    }

    /// How many bytes follow a head.
    pub(crate) fn payload_bytes(&self, head: &[u8; HEAD_BYTES]) -> Result<usize, Error> {
        let head = Head::parse(head).ok_or_else(|| self.nonsense("it is of no known kind"))?;
        match usize::try_from(head.bytes) {
            Ok(bytes) if bytes <= BLOCK_BYTES_MAX => Ok(bytes),
            _ => Err(self.nonsense("it is too long")),
        }
    }

    /// Takes a block; its records follow by [`next_record`](Self::next_record).
    pub(crate) fn block(&mut self, head: &[u8; HEAD_BYTES], payload: Vec<u8>) -> Result<(), Error> {
        if !is_whole(head, &payload) {
            return Err(Error::Checksum {
                at: self.at,
                records: self.records,
            });
        }
        let head = Head::parse(head).ok_or_else(|| self.nonsense("it is of no known kind"))?;
        if u32::from(head.source) >= self.sources {
            return Err(self.nonsense("there is no such worker"));
        }
        match head.kind {
            Kind::Handlers => self.name_handlers(head.records, &payload),
            Kind::End => self.end(&payload),
            Kind::Records => {
                self.current = Current {
                    source: u32::from(head.source),
                    payload,
                    offset: 0,
                    times: Times::default(),
                    records: head.records,
                    lost: head.lost,
                };
                Ok(())
            }
        }
    }

    fn name_handlers(&mut self, count: u32, payload: &[u8]) -> Result<(), Error> {
        let mut bytes = Bytes(payload);
        for _ in 0..count {
            let number = bytes.varint();
            let length = bytes.varint().and_then(|length| length.try_into().ok());
            let name = length.and_then(|length| bytes.text(length));
            let (Some(number), Some(name)) = (number, name) else {
                return Err(self.nonsense("it has no such names"));
            };
            match u32::try_from(number) {
                Ok(number) if number < HANDLERS_MAX => self.handlers.set(number, name),
                _ => {
                    return Err(Error::TooMany {
                        what: "handlers",
                        max: u64::from(HANDLERS_MAX),
                    });
                }
            }
        }
        self.must_be_over(bytes)
    }

    fn end(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut bytes = Bytes(payload);
        let totals = [bytes.u64(), bytes.u64(), bytes.u64()];
        self.must_be_over(bytes)?;
        match totals {
            [Some(end), Some(records), Some(lost)]
                if records == self.records && lost == self.lost =>
            {
                self.end = Some(end);
                Ok(())
            }
            _ => Err(self.nonsense("its totals are not those of the blocks before it")),
        }
    }

    /// The next record of the block, or `None` at its end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Sourced>, Error> {
        let lost = std::mem::take(&mut self.current.lost);
        if lost > 0 {
            self.lost = self.lost.saturating_add(lost);
            return Ok(Some(self.sourced(Record::Lost(lost))));
        }
        let current = &self.current;
        let mut bytes = Bytes(current.payload.get(current.offset..).unwrap_or(&[]));
        if current.records == 0 {
            return self.must_be_over(bytes).map(|()| None);
        }
        let mut times = current.times;
        let record = record::take(&mut bytes, &mut times);
        let offset = current.payload.len() - bytes.0.len();
        self.current.times = times;
        self.current.offset = offset;
        self.current.records -= 1;
        let Some(record) = record else {
            return Err(self.nonsense("it has no such record"));
        };
        self.check(&record)?;
        self.records += 1;
        if self.records > RECORDS_MAX {
            return Err(Error::TooMany {
                what: "records",
                max: RECORDS_MAX,
            });
        }
        Ok(Some(self.sourced(record)))
    }

    fn check(&self, record: &Record) -> Result<(), Error> {
        let (handler, posted_by) = match *record {
            Record::Post { handler, .. } => (handler, 0),
            Record::Run(run) => (run.handler, run.posted_by),
            Record::Lost(_) => return Ok(()),
        };
        if posted_by >= self.sources {
            return Err(self.nonsense("an event was posted by no worker"));
        }
        match self.handlers.name(handler) {
            Some(_) => Ok(()),
            None => Err(Error::UnknownHandler {
                at: self.at,
                handler,
            }),
        }
    }

    fn sourced(&self, record: Record) -> Sourced {
        Sourced {
            source: self.current.source,
            record,
        }
    }

    fn must_be_over(&self, bytes: Bytes<'_>) -> Result<(), Error> {
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(self.nonsense("it is longer than what is in it")),
        }
    }

    pub(crate) fn nonsense(&self, what: &'static str) -> Error {
        Error::Block { at: self.at, what }
    }
}
