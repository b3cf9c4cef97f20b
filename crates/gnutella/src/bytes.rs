//! Numbers, addresses and texts out of the bytes of a message.

use crate::error::Error;
use core::net::{Ipv4Addr, SocketAddrV4};

/// Takes from the front of a message; what is missing is told as the end of `what`.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, what }
    }

    fn end(&self) -> Error {
        Error::Truncated { what: self.what }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(self.end())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.end())?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn ip(&mut self) -> Result<Ipv4Addr, Error> {
        self.array().map(|bytes: [u8; 4]| Ipv4Addr::from(bytes))
    }

    /// What stands before the next NUL, which is taken, too.
    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8], Error> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let taken = self.take(end.ok_or(self.end())?)?;
        self.take(1)?;
        Ok(taken)
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// The port comes before the address in some messages and after it in others, but always the low
/// byte first, while an address goes as it is written.
pub(crate) fn put_port(out: &mut Vec<u8>, address: SocketAddrV4) {
    out.extend_from_slice(&address.port().to_le_bytes());
}

pub(crate) fn put_ip(out: &mut Vec<u8>, address: SocketAddrV4) {
    out.extend_from_slice(&address.ip().octets());
}

/// The bytes without the NULs at their end.
pub(crate) fn without_nuls(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0);
    &bytes[..end.map_or(0, |last| last + 1)]
}
