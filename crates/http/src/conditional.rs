//! Entity tags and preconditions (RFC 9110 sections 8.8 and 13).

use crate::date::unix_seconds;
use std::time::{Duration, SystemTime};

/// A strong entity tag, quotes included, made of a file's identity and time of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag(Box<str>);

impl EntityTag {
    /// Tag of the file `inode` of `length_bytes`, modified `mtime_ns` nanoseconds after 1970.
    ///
    /// Two contents of the same length written to one file within one tick of the file system's
    /// clock (some milliseconds) have the same tag.
    ///
    /// ```
    /// use mely_http::EntityTag;
    /// assert_eq!(EntityTag::new(255, 16, 1).as_str(), "\"ff-10-1\"");
    /// ```
    pub fn new(mtime_ns: i128, length_bytes: u64, inode: u64) -> Self {
        Self(format!("\"{mtime_ns:x}-{length_bytes:x}-{inode:x}\"").into())
    }

    /// The tag as it stands in a header, quotes included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The preconditions of a request, as they stand in its header fields.
#[derive(Debug, Clone, Default)]
pub struct Preconditions<'a> {
    /// Values of `If-Match`, one a field line; `None` when the request has none.
    pub if_match: Option<Vec<&'a [u8]>>,
    /// Value of `If-Unmodified-Since`.
    pub if_unmodified_since: Option<&'a [u8]>,
    /// Values of `If-None-Match`, one a field line; `None` when the request has none.
    pub if_none_match: Option<Vec<&'a [u8]>>,
    /// Value of `If-Modified-Since`.
    pub if_modified_since: Option<&'a [u8]>,
}

/// What the preconditions of a GET or HEAD say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Answer as if there were none.
    Proceed,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

impl Preconditions<'_> {
    /// Evaluates them in the order of RFC 9110 section 13.2.2 against what exists now.
    /// Dates that cannot be read count as absent.
    ///
    /// ```
    /// use mely_http::{EntityTag, Precondition, Preconditions};
    /// use std::time::UNIX_EPOCH;
    /// let tag = EntityTag::new(1, 2, 3);
    /// let request = Preconditions { if_none_match: Some(vec![b"\"1-2-3\""]), ..Default::default() };
    /// assert_eq!(request.evaluate(&tag, UNIX_EPOCH), Precondition::NotModified);
    /// ```
    pub fn evaluate(&self, tag: &EntityTag, modified: SystemTime) -> Precondition {
        let modified = unix_seconds(modified);
        if let Some(lines) = &self.if_match {
            if !lines
                .iter()
                .any(|line| names_tag(line, tag, Comparison::Strong))
            {
                return Precondition::Failed;
            }
        } else if let Some(date) = self.if_unmodified_since.and_then(seconds)
            && modified > date
        {
            return Precondition::Failed;
        }
        if let Some(lines) = &self.if_none_match {
            if lines
                .iter()
                .any(|line| names_tag(line, tag, Comparison::Weak))
            {
                return Precondition::NotModified;
            }
        } else if let Some(date) = self.if_modified_since.and_then(seconds)
            && modified <= date
        {
            return Precondition::NotModified;
        }
        Precondition::Proceed
    }
}

/// Whether `If-Range` lets the range apply (RFC 9110 section 13.1.5).
///
/// A date only counts as a strong validator when the file was already a second old.
pub(crate) fn if_range_holds(
    value: &[u8],
    tag: &EntityTag,
    modified: SystemTime,
    now: SystemTime,
) -> bool {
    let value = value.trim_ascii();
    if value.starts_with(b"\"") || value.starts_with(b"W/") {
        return value == tag.as_str().as_bytes();
    }
    let old_enough = now
        .duration_since(modified)
        .is_ok_and(|age| age >= Duration::from_secs(1));
    old_enough && seconds(value) == Some(unix_seconds(modified))
}

fn seconds(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value.trim_ascii()).ok()?;
    httpdate::parse_http_date(text).ok().map(unix_seconds)
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

/// Whether one field line, `*` or a list of entity tags, names `tag`. Reads as far as the list is
/// well formed.
fn names_tag(line: &[u8], tag: &EntityTag, comparison: Comparison) -> bool {
    let mut rest = line.trim_ascii();
    if rest == b"*" {
        return true;
    }
    loop {
        while let [b' ' | b'\t' | b',', tail @ ..] = rest {
            rest = tail;
        }
        let weak = rest.starts_with(b"W/");
        if weak {
            rest = &rest[2..];
        }
        let Some(end) = rest
            .strip_prefix(b"\"")
            .and_then(|r| r.iter().position(|&b| b == b'"'))
        else {
            return false;
        };
        let (candidate, tail) = rest.split_at(end + 2);
        if candidate == tag.as_str().as_bytes() && !(weak && comparison == Comparison::Strong) {
            return true;
        }
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn modified() -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(784_111_777_900)
    }

    fn evaluate(preconditions: &Preconditions<'_>) -> Precondition {
        preconditions.evaluate(&EntityTag::new(10, 11, 12), modified())
    }

    const SAME: &[u8] = b"Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &[u8] = b"Sun, 06 Nov 1994 08:49:36 GMT";

    #[test]
    fn if_none_match_compares_weakly_and_hides_the_date() {
        let cases: &[(&[u8], Precondition)] = &[
            (b"\"a-b-c\"", Precondition::NotModified),
            (b"W/\"a-b-c\"", Precondition::NotModified),
            (b" \"x\" , \"y,z\",,\"a-b-c\"", Precondition::NotModified),
            (b"*", Precondition::NotModified),
            (b"\"x\"", Precondition::Proceed),
            (b"a-b-c", Precondition::Proceed),
            (b"", Precondition::Proceed),
            (b"\"a-b-c", Precondition::Proceed),
        ];
        for (value, expected) in cases {
            let request = Preconditions {
                if_none_match: Some(vec![value]),
                if_modified_since: Some(SAME),
                ..Default::default()
            };
            assert_eq!(evaluate(&request), *expected, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn dates_compare_by_the_second() {
        let since = |date| Preconditions {
            if_modified_since: Some(date),
            ..Default::default()
        };
        assert_eq!(evaluate(&since(SAME)), Precondition::NotModified);
        assert_eq!(evaluate(&since(BEFORE)), Precondition::Proceed);
        assert_eq!(evaluate(&since(b"yesterday")), Precondition::Proceed);
        let unmodified = |date| Preconditions {
            if_unmodified_since: Some(date),
            ..Default::default()
        };
        assert_eq!(evaluate(&unmodified(SAME)), Precondition::Proceed);
        assert_eq!(evaluate(&unmodified(BEFORE)), Precondition::Failed);
        assert_eq!(evaluate(&unmodified(b"?")), Precondition::Proceed);
    }

    #[test]
    fn if_match_compares_strongly_and_comes_first() {
        let with = |tag: &'static [u8]| Preconditions {
            if_match: Some(vec![tag]),
            if_unmodified_since: Some(BEFORE),
            if_none_match: Some(vec![b"*"]),
            ..Default::default()
        };
        assert_eq!(evaluate(&with(b"\"a-b-c\"")), Precondition::NotModified);
        assert_eq!(evaluate(&with(b"*")), Precondition::NotModified);
        assert_eq!(evaluate(&with(b"W/\"a-b-c\"")), Precondition::Failed);
        assert_eq!(evaluate(&with(b"\"x\"")), Precondition::Failed);
    }

    #[test]
    fn if_range_wants_a_strong_validator() {
        let tag = EntityTag::new(10, 11, 12);
        let later = modified() + Duration::from_secs(60);
        let holds = |value: &[u8], now| if_range_holds(value, &tag, modified(), now);
        assert!(holds(b"\"a-b-c\"", later));
        assert!(!holds(b"W/\"a-b-c\"", later));
        assert!(!holds(b"\"x\"", later));
        assert!(holds(SAME, later));
        assert!(!holds(SAME, modified()));
        assert!(!holds(BEFORE, later));
    }
}
