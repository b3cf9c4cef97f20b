//! The header: which machine and which runtime a trace is of.

use crate::bytes::{Bytes, put_text};
use crate::{Error, SOURCES_MAX, VERSION};

/// The first bytes: not text, and damaged by what damages line ends.
pub(crate) const MAGIC: [u8; 8] = *b"\x89MELYTR\n";

const BYTE_ORDER: u16 = 0xfeff;

/// Bytes of the fixed part: magic, version, byte order, length and checksum.
pub(crate) const FIXED_BYTES: usize = 20;

/// Bytes of the rest at the most: two texts and a core for each worker.
const REST_BYTES_MAX: u32 = 4 * SOURCES_MAX + 4096;

/// The core of a worker that is pinned to none.
pub const NOT_PINNED: u32 = u32::MAX;

/// Which machine and which runtime a trace is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The cycles in which costs and times are given, in a second.
    pub cycles_per_second: f64,
    /// The policy of the runtime.
    pub policy: String,
    /// The machine, in words.
    pub topology: String,
    /// The core of each worker, or [`NOT_PINNED`].
    pub cores: Vec<u32>,
}

impl Header {
    /// The header of a runtime with so many workers that are pinned to no core.
    pub fn new(workers: usize, cycles_per_second: f64) -> Self {
        Self {
            cycles_per_second,
            policy: String::new(),
            topology: String::new(),
            cores: vec![NOT_PINNED; workers],
        }
    }

    /// How many workers the runtime had; also the number of the source that stands for
    /// all threads outside.
    pub fn workers(&self) -> u32 {
        self.cores.len() as u32
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut rest = Vec::new();
        rest.extend(self.cycles_per_second.to_le_bytes());
        rest.extend(self.workers().to_le_bytes());
        put_text(&mut rest, &self.policy);
        put_text(&mut rest, &self.topology);
        for core in &self.cores {
            rest.extend(core.to_le_bytes());
        }
        let mut out = Vec::with_capacity(FIXED_BYTES + rest.len());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(BYTE_ORDER.to_le_bytes());
        out.extend((rest.len() as u32).to_le_bytes());
        out.extend(crc32fast::hash(&rest).to_le_bytes());
        out.extend(rest);
        out
    }

    /// Reads the fixed part: the length and the checksum of the rest.
    pub(crate) fn parse_fixed(bytes: &[u8; FIXED_BYTES]) -> Result<(usize, u32), Error> {
        let mut bytes = Bytes(bytes);
        if bytes.array() != Some(MAGIC) {
            return Err(Error::NotATrace);
        }
        let (version, order) = (bytes.u16(), bytes.u16());
        match (version, order) {
            (_, Some(order)) if order == BYTE_ORDER.swap_bytes() => return Err(Error::ByteOrder),
            (Some(version), _) if version != VERSION => return Err(Error::Version(version)),
            (_, Some(BYTE_ORDER)) => {}
            _ => return Err(Error::NotATrace),
        }
        match (bytes.u32(), bytes.u32()) {
            (Some(length), Some(checksum)) if length <= REST_BYTES_MAX => {
                Ok((length as usize, checksum))
            }
            _ => Err(Error::Header("it is too long")),
        }
    }

    /// Reads the rest.
    pub(crate) fn parse_rest(rest: &[u8], checksum: u32) -> Result<Self, Error> {
        if crc32fast::hash(rest) != checksum {
            return Err(Error::Checksum { at: 0, records: 0 });
        }
        let mut bytes = Bytes(rest);
        let header = Self::take(&mut bytes).ok_or(Error::Header("it has no such form"))?;
        let rate = header.cycles_per_second;
        if !bytes.is_empty() {
            return Err(Error::Header("it is longer than it says"));
        }
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::Header("its clock stands still"));
        }
        Ok(header)
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let cycles_per_second = f64::from_bits(bytes.u64()?);
        let workers = bytes.u32()?;
        if workers >= SOURCES_MAX {
            return None;
        }
        let mut text = || {
            let length = bytes.u16()?;
            bytes.text(usize::from(length)).map(str::to_owned)
        };
        let (policy, topology) = (text()?, text()?);
        let cores = (0..workers).map(|_| bytes.u32()).collect::<Option<_>>()?;
        Some(Self {
            cycles_per_second,
            policy,
            topology,
            cores,
        })
    }
}
