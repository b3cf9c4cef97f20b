//! What stands behind the text of a query and behind the name of a result.
//!
//! Blocks in a row, divided by the byte 0x1c: URNs and other text, XML, or GGEP, which knows its own
//! length and may have that byte in it (HUGE 0.94, section 3, and GGEP 0.51).

use crate::error::Error;
use crate::ggep::{GGEP_MAGIC, Ggep};
use crate::limits::Limits;
use crate::urn::Sha1Urn;

/// Divides the blocks.
pub const EXTENSION_SEPARATOR: u8 = 0x1c;

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension<'a> {
    /// Text that begins with `urn:`. In a query `urn:` alone asks for any names in the results, and
    /// a whole name asks for that very file.
    Urn(&'a str),
    /// Extensions with names.
    Ggep(Ggep),
    /// XML, or what a servent compressed it to, in braces.
    Xml(&'a [u8]),
    /// Anything else: of no meaning here, and sent on.
    Other(&'a [u8]),
}

impl Extension<'_> {
    /// The file's name that this is, if it is one that this node knows: a URN, or `H` in GGEP with
    /// the type 1 (a SHA-1) or 2 (a bitprint, whose first part that is).
    pub fn sha1(&self) -> Option<Sha1Urn> {
        match self {
            Self::Urn(text) => text.parse().ok(),
            Self::Ggep(block) => match block.get(b"H")? {
                [1 | 2, hash @ ..] => hash.first_chunk().copied().map(Sha1Urn),
                _ => None,
            },
            Self::Xml(_) | Self::Other(_) => None,
        }
    }
}

/// Reads blocks until the bytes end.
///
/// ```
/// use mely_gnutella::{Extension, Limits, extensions};
/// let read = extensions(b"urn:sha1:\x1c\xc3\x81M\x41\x04", &Limits::default())?;
/// assert!(matches!(read[..], [Extension::Urn("urn:sha1:"), Extension::Ggep(_)]));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooMany`] blocks, and those of [`Ggep::read`].
pub fn extensions<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Vec<Extension<'a>>, Error> {
    let mut rest = bytes;
    let mut found = Vec::new();
    let mut room = limits.max_ggep_bytes;
    while let Some(&first) = rest.first() {
        // A NUL ends what stands between two of them; what comes behind is another servent's idea.
        if matches!(first, EXTENSION_SEPARATOR | 0) {
            rest = &rest[1..];
            continue;
        }
        if found.len() == limits.max_extensions {
            return Err(Error::TooMany {
                what: "extensions",
                max: limits.max_extensions,
            });
        }
        if first == GGEP_MAGIC {
            let (block, length) = Ggep::read_within(&mut room, rest, limits)?;
            found.push(Extension::Ggep(block));
            rest = &rest[length..];
        } else {
            let end = rest
                .iter()
                .position(|byte| matches!(byte, &EXTENSION_SEPARATOR | 0));
            let (block, behind) = rest.split_at(end.unwrap_or(rest.len()));
            found.push(text(block));
            rest = behind;
        }
    }
    Ok(found)
}

fn text(block: &[u8]) -> Extension<'_> {
    match (block, core::str::from_utf8(block)) {
        ([b'<' | b'{', ..], _) => Extension::Xml(block),
        (_, Ok(text)) if is_urn(text) => Extension::Urn(text),
        _ => Extension::Other(block),
    }
}

fn is_urn(text: &str) -> bool {
    text.get(..4)
        .is_some_and(|head| head.eq_ignore_ascii_case("urn:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHA1: &str = "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";

    #[test]
    fn blocks_of_every_kind_stand_in_a_row() {
        let bytes = [
            SHA1.as_bytes(),
            b"\x1c<a/>\x1c{deflate}\x1c\xc3\x81A\x42\x1c\x1c\x1cbitrate 128\x1curn:\0",
        ]
        .concat();
        let read = extensions(&bytes, &Limits::default()).unwrap();
        assert_eq!(read[0], Extension::Urn(SHA1));
        assert_eq!(read[0].sha1(), SHA1.parse().ok());
        assert_eq!(read[1], Extension::Xml(b"<a/>"));
        assert_eq!(read[2], Extension::Xml(b"{deflate}"));
        let Extension::Ggep(block) = &read[3] else {
            panic!("{:?}", read[3])
        };
        assert_eq!(block.get(b"A"), Some(&[0x1c, 0x1c][..]));
        assert_eq!(read[4], Extension::Other(b"bitrate 128"));
        assert_eq!(read[5], Extension::Urn("urn:"));
        assert_eq!(read.len(), 6);
    }

    #[test]
    fn a_hash_may_be_in_ggep() {
        for (kind, expected) in [(1, Some(Sha1Urn([9; 20]))), (3, None)] {
            let mut block = Ggep::default();
            block.push(b"H", &[&[kind][..], &[9; 20]].concat()).unwrap();
            assert_eq!(Extension::Ggep(block).sha1(), expected);
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let limits = Limits {
            max_extensions: 3,
            ..Limits::default()
        };
        assert_eq!(extensions(b"a\x1cb\x1cc", &limits).unwrap().len(), 3);
        assert!(extensions(b"a\x1cb\x1cc\x1cd", &limits).is_err());
        assert_eq!(extensions(&[0x1c; 1000], &limits), Ok(vec![]));
    }

    #[test]
    fn blocks_share_their_room() {
        let limits = Limits {
            max_ggep_bytes: 5,
            ..Limits::default()
        };
        let block = b"\xc3\x81A\x43xyz";
        assert!(extensions(block, &limits).is_ok());
        let two = [&block[..], block].concat();
        let error = extensions(&two, &limits).unwrap_err();
        assert!(matches!(error, Error::TooLong { max: 5, .. }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read = extensions(&bytes, &Limits::default());
            prop_assert!(read.is_err() || read.unwrap().len() <= 32);
        }
    }
}
