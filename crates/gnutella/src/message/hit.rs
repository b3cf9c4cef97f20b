//! Results of a search (Gnutella 0.6 draft, section 2.2.6).

use crate::bytes::{Reader, put_ip, put_port};
use crate::error::Error;
use crate::extension::{Extension, extensions};
use crate::ggep::{GGEP_MAGIC, Ggep};
use crate::guid::Guid;
use crate::limits::Limits;
use core::net::SocketAddrV4;

/// Results fit one byte of a count.
const RESULTS_MAX: usize = 255;

/// The GUID at the end.
const SERVENT_BYTES: usize = 16;

/// What one servent found.
///
/// ```
/// use mely_gnutella::{Guid, HitResult, Message, QueryHit};
/// let hit = Message::QueryHit(QueryHit {
///     address: "192.0.2.1:6346".parse().expect("an address"),
///     speed_kbits: 1000,
///     results: vec![HitResult { index: 1, bytes: 42, name: b"a.txt", extensions: b"" }],
///     trailer: None,
///     servent: Guid([9; 16]),
/// });
/// let mut bytes = Vec::new();
/// hit.write(Guid([1; 16]), 7, 0, &mut bytes);
/// assert_eq!(bytes.len(), 23 + 11 + 8 + 7 + 16);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHit<'a> {
    /// Where the files can be had.
    pub address: SocketAddrV4,
    /// The speed of the servent in kilobits a second.
    pub speed_kbits: u32,
    /// The files: 255 at the most, and those behind are not written.
    pub results: Vec<HitResult<'a>>,
    /// What the servent tells of itself.
    pub trailer: Option<HitTrailer<'a>>,
    /// The name of the servent, to which pushes go.
    pub servent: Guid,
}

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitResult<'a> {
    /// The number by which the servent knows it.
    pub index: u32,
    /// Its length; all bits set where 32 do not hold it and GGEP has `LF`.
    pub bytes: u32,
    /// Its name, in UTF-8 mostly. Has no NUL.
    pub name: &'a [u8],
    /// What stands between the NUL behind the name and the next. Has none itself.
    pub extensions: &'a [u8],
}

impl<'a> HitResult<'a> {
    /// Names of the content, XML and GGEP.
    ///
    /// # Errors
    /// Those of [`extensions`].
    pub fn extensions(&self, limits: &Limits) -> Result<Vec<Extension<'a>>, Error> {
        extensions(self.extensions, limits)
    }
}

/// What a servent tells of itself behind its results ("query hit descriptor", QHD).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitTrailer<'a> {
    /// Four letters of the vendor.
    pub vendor: [u8; 4],
    /// Data in an open format: two bytes of [`HitFlags`] first. 255 bytes at the most.
    pub open: &'a [u8],
    /// Data in the vendor's format, and GGEP.
    pub private: &'a [u8],
}

/// Answers to yes-or-no questions; nothing where the servent does not say.
///
/// Each is a bit of one byte that tells whether the bit in the other one means anything. For `push`
/// the bytes have their roles exchanged.
///
/// ```
/// use mely_gnutella::HitFlags;
/// let flags = HitFlags { push: Some(true), busy: Some(false), ..HitFlags::default() };
/// assert_eq!(flags.bytes(), [0x05, 0x01]);
/// assert_eq!(HitFlags::read(&[0x05, 0x01]), flags);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HitFlags {
    /// The servent cannot be connected to: ask by a push.
    pub push: Option<bool>,
    /// All its places for uploads are taken.
    pub busy: Option<bool>,
    /// It has uploaded something already.
    pub uploaded: Option<bool>,
    /// Its speed was measured, not typed in.
    pub measured: Option<bool>,
    /// There is GGEP in the private data.
    pub ggep: Option<bool>,
}

const PUSH: u8 = 0x01;
const BUSY: u8 = 0x04;
const UPLOADED: u8 = 0x08;
const MEASURED: u8 = 0x10;
const GGEP: u8 = 0x20;

impl HitFlags {
    /// Reads open data; nothing is known from fewer than two bytes.
    pub fn read(open: &[u8]) -> Self {
        let Some(&[first, second]) = open.first_chunk() else {
            return Self::default();
        };
        let said = |bit, says, value| (says & bit != 0).then_some(value & bit != 0);
        Self {
            push: said(PUSH, second, first),
            busy: said(BUSY, first, second),
            uploaded: said(UPLOADED, first, second),
            measured: said(MEASURED, first, second),
            ggep: said(GGEP, first, second),
        }
    }

    /// The two bytes of open data.
    pub fn bytes(self) -> [u8; 2] {
        let mut bytes = [0, 0];
        let mut say = |bit, answer: Option<bool>, says: usize| {
            if let Some(value) = answer {
                bytes[says] |= bit;
                bytes[1 - says] |= if value { bit } else { 0 };
            }
        };
        say(PUSH, self.push, 1);
        say(BUSY, self.busy, 0);
        say(UPLOADED, self.uploaded, 0);
        say(MEASURED, self.measured, 0);
        say(GGEP, self.ggep, 0);
        bytes
    }
}

impl HitTrailer<'_> {
    /// The answers in the open data.
    pub fn flags(&self) -> HitFlags {
        HitFlags::read(self.open)
    }

    /// The GGEP block in the private data, if the flags tell of one: the first thing in it that can
    /// be read as a block, as vendors put data of theirs before and behind it.
    pub fn ggep(&self, limits: &Limits) -> Option<Ggep> {
        if self.flags().ggep != Some(true) {
            return None;
        }
        let starts = self.private.iter().enumerate();
        let starts = starts.filter(|&(_, &byte)| byte == GGEP_MAGIC);
        // Each failed attempt costs a reading, and compressed data more: a few are enough.
        starts
            .take(ATTEMPTS)
            .find_map(|(at, _)| Ggep::read(&self.private[at..], limits).ok())
            .map(|(block, _)| block)
    }
}

/// Places in private data that may begin a GGEP block.
const ATTEMPTS: usize = 4;

impl<'a> QueryHit<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let what = "a query hit";
        let (front, servent) = payload
            .split_last_chunk::<SERVENT_BYTES>()
            .ok_or(Error::Truncated { what })?;
        let mut reader = Reader::new(what, front);
        let count = reader.u8()?;
        let port = reader.u16()?;
        let address = SocketAddrV4::new(reader.ip()?, port);
        let speed_kbits = reader.u32()?;
        let mut results = Vec::new();
        for _ in 0..count {
            results.push(HitResult {
                index: reader.u32()?,
                bytes: reader.u32()?,
                name: reader.until_nul()?,
                extensions: reader.until_nul()?,
            });
        }
        let trailer = match reader.remaining() {
            0 => None,
            _ => Some(HitTrailer::read(reader)?),
        };
        Ok(Self {
            address,
            speed_kbits,
            results,
            trailer,
            servent: Guid(*servent),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let results = &self.results[..self.results.len().min(RESULTS_MAX)];
        out.push(results.len() as u8);
        put_port(out, self.address);
        put_ip(out, self.address);
        out.extend_from_slice(&self.speed_kbits.to_le_bytes());
        for result in results {
            out.extend_from_slice(&result.index.to_le_bytes());
            out.extend_from_slice(&result.bytes.to_le_bytes());
            out.extend_from_slice(result.name);
            out.push(0);
            out.extend_from_slice(result.extensions);
            out.push(0);
        }
        if let Some(trailer) = &self.trailer {
            let open = &trailer.open[..trailer.open.len().min(255)];
            out.extend_from_slice(&trailer.vendor);
            out.push(open.len() as u8);
            out.extend_from_slice(open);
            out.extend_from_slice(trailer.private);
        }
        out.extend_from_slice(&self.servent.0);
    }
}

impl<'a> HitTrailer<'a> {
    fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let vendor = reader.array()?;
        let length = reader.u8()?;
        Ok(Self {
            vendor,
            open: reader.take(usize::from(length))?,
            private: reader.rest(),
        })
    }
}
