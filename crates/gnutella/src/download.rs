//! Names of files in the HTTP requests of a download (Gnutella 0.6 draft, section 4.1, and HUGE
//! 0.94, section 6.1). The requests themselves are HTTP's.

use crate::error::Error;
use crate::limits::Limits;
use crate::urn::Sha1Urn;
use core::fmt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const BY_INDEX: &str = "/get/";
const BY_NAME: &str = "/uri-res/N2R?";

/// What stays as it is in a path (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The target of a request for a file.
///
/// ```
/// use mely_gnutella::{FileTarget, Limits};
/// let limits = Limits::default();
/// let target = FileTarget::parse("/get/7/free%20song.ogg", &limits)?;
/// assert_eq!(target, FileTarget::Index { index: 7, name: "free song.ogg".to_owned() });
/// assert_eq!(target.to_string(), "/get/7/free%20song.ogg");
///
/// let urn = "/uri-res/N2R?urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
/// assert_eq!(FileTarget::parse(urn, &limits)?.to_string(), urn);
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTarget {
    /// `/get/INDEX/NAME`: a file by its number in a hit, and its name to be sure.
    Index {
        /// The number.
        index: u32,
        /// The name. It names no path: a server looks the number up and compares.
        name: String,
    },
    /// `/uri-res/N2R?urn:sha1:...`: a file by its content.
    Content(Sha1Urn),
}

impl FileTarget {
    /// Reads the target of a request.
    ///
    /// # Errors
    /// [`Error::Malformed`] for another target, and [`Error::TooLong`] for a name beyond the limit.
    pub fn parse(target: &str, limits: &Limits) -> Result<Self, Error> {
        let malformed = Error::Malformed {
            what: "the target of a request",
        };
        if let Some(urn) = target.strip_prefix(BY_NAME) {
            let urn = percent_decode_str(urn).decode_utf8();
            return urn.map_err(|_| malformed)?.parse().map(Self::Content);
        }
        let rest = target.strip_prefix(BY_INDEX).ok_or(malformed.clone())?;
        let (index, name) = rest.split_once('/').ok_or(malformed.clone())?;
        // Some clients end the name by a slash.
        let name = name.strip_suffix('/').unwrap_or(name);
        let name = percent_decode_str(name).decode_utf8_lossy();
        if name.len() > limits.max_file_name_bytes {
            return Err(Error::TooLong {
                what: "the name of a file",
                max: limits.max_file_name_bytes,
            });
        }
        let is_number = index.bytes().all(|digit| digit.is_ascii_digit());
        match index.parse() {
            Ok(index) if is_number && !name.is_empty() => Ok(Self::Index {
                index,
                name: name.into_owned(),
            }),
            _ => Err(malformed),
        }
    }
}

impl fmt::Display for FileTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index { index, name } => {
                let name = utf8_percent_encode(name, ESCAPED);
                write!(f, "{BY_INDEX}{index}/{name}")
            }
            Self::Content(urn) => write!(f, "{BY_NAME}{urn}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(target: &str) -> Result<FileTarget, Error> {
        FileTarget::parse(target, &Limits::default())
    }

    #[test]
    fn targets_of_all_clients() {
        let named = |index, name: &str| {
            Ok(FileTarget::Index {
                index,
                name: name.to_owned(),
            })
        };
        assert_eq!(parse("/get/1/a.txt/"), named(1, "a.txt"));
        assert_eq!(parse("/get/01/a b+c"), named(1, "a b+c"));
        assert_eq!(parse("/get/1/%2e%2E%2fetc"), named(1, "../etc"));
        assert_eq!(parse("/get/1/%ff%"), named(1, "\u{fffd}%"));
        let urn = "/uri-res/N2R?urn%3Asha1%3A3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        assert!(matches!(parse(urn), Ok(FileTarget::Content(_))));
    }

    #[test]
    fn other_targets_are_refused() {
        for target in [
            "",
            "/",
            "/get",
            "/get/",
            "/get/1",
            "/get/1/",
            "/get/+1/a",
            "/get/-1/a",
            "/get/4294967296/a",
            "/get//a",
            "/uri-res/N2R?",
            "/uri-res/N2R?urn:md5:x",
            "/uri-res/N2L?urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        ] {
            assert!(parse(target).is_err(), "{target}");
        }
        let long = format!("/get/1/{}", "a".repeat(256));
        assert!(matches!(parse(&long), Err(Error::TooLong { .. })));
    }

    proptest! {
        #[test]
        fn targets_are_read_back(index: u32, name in "[^/]{1,40}", bytes: [u8; 20]) {
            for target in [FileTarget::Index { index, name }, FileTarget::Content(Sha1Urn(bytes))] {
                prop_assert_eq!(parse(&target.to_string()), Ok(target));
            }
        }

        #[test]
        fn any_target_is_read_or_refused(target in "(/get/|/uri-res/N2R\\?)?.{0,40}") {
            let _ = parse(&target);
        }
    }
}
