//! Searches (Gnutella 0.6 draft, section 2.2.5; the meaning of the speed after "New Interpretation
//! of the MinSpeed field in Queries").

use crate::bytes::{Reader, without_nuls};
use crate::error::Error;
use crate::extension::{Extension, extensions};
use crate::limits::Limits;
use std::borrow::Cow;

/// What the searcher can do, in the two bytes that once were the least speed of an answer.
///
/// The high byte comes first, unlike in every other number of the protocol.
///
/// ```
/// use mely_gnutella::QueryFlags;
/// let flags = QueryFlags::default().with(QueryFlags::XML);
/// assert!(flags.has(QueryFlags::XML) && !flags.has(QueryFlags::FIREWALLED));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueryFlags(pub u16);

impl QueryFlags {
    /// These are flags, not a speed.
    pub const MARK: u16 = 0x8000;
    /// The searcher cannot be connected to.
    pub const FIREWALLED: u16 = 0x4000;
    /// It reads XML in results.
    pub const XML: u16 = 0x2000;
    /// It is a leaf that tells its ultrapeer when it has enough.
    pub const LEAF_GUIDED: u16 = 0x1000;
    /// It reads hashes in GGEP.
    pub const GGEP_HASHES: u16 = 0x0800;
    /// It takes results by UDP.
    pub const OUT_OF_BAND: u16 = 0x0400;
    /// It can connect from behind a firewall to behind another.
    pub const FIREWALL_TO_FIREWALL: u16 = 0x0200;

    /// Whether a flag is set; none is in a speed of old.
    pub fn has(self, flag: u16) -> bool {
        self.0 & Self::MARK != 0 && self.0 & flag != 0
    }

    /// These flags and another.
    #[must_use]
    pub fn with(self, flag: u16) -> Self {
        Self(self.0 | Self::MARK | flag)
    }
}

impl Default for QueryFlags {
    /// Marked as flags, and none set.
    fn default() -> Self {
        Self(Self::MARK)
    }
}

/// A search.
///
/// ```
/// use mely_gnutella::{Query, QueryFlags};
/// let query = Query { flags: QueryFlags::default(), text: b"caf\xe9", extensions: b"" };
/// assert_eq!(query.text_lossy(), "caf\u{fffd}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// What the searcher can do.
    pub flags: QueryFlags,
    /// The words, in UTF-8 mostly; nothing in a search by name of content. Has no NUL.
    pub text: &'a [u8],
    /// What follows the text and its NUL, without NULs at its end.
    pub extensions: &'a [u8],
}

impl<'a> Query<'a> {
    pub(super) fn read(payload: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        let mut reader = Reader::new("a query", payload);
        let flags = QueryFlags(u16::from_be_bytes(reader.array()?));
        let text = reader.until_nul()?;
        if text.len() > limits.max_query_text_bytes {
            return Err(Error::TooLong {
                what: "the text of a query",
                max: limits.max_query_text_bytes,
            });
        }
        let extensions = without_nuls(reader.rest());
        Ok(Self {
            flags,
            text,
            extensions,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.flags.0.to_be_bytes());
        out.extend_from_slice(self.text);
        out.push(0);
        out.extend_from_slice(self.extensions);
        // HUGE ends its part by a NUL, too, and old servents look for it.
        if !self.extensions.is_empty() {
            out.push(0);
        }
    }

    /// The words, with a mark for each byte that is no UTF-8.
    pub fn text_lossy(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.text)
    }

    /// Names of content to search for, names that are wanted in results, XML and GGEP.
    ///
    /// # Errors
    /// Those of [`extensions`].
    pub fn extensions(&self, limits: &Limits) -> Result<Vec<Extension<'a>>, Error> {
        extensions(self.extensions, limits)
    }
}
