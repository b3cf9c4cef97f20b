//! Byte ranges (RFC 9110 section 14): one range at most.

use std::ops::Range;

/// What a `Range` header asks of a representation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeOutcome {
    /// Not one byte range: other units, several ranges, or nonsense. The whole is sent.
    Whole,
    /// These bytes, never empty, within the length.
    Part(Range<u64>),
    /// Nothing of it lies within the length: 416.
    Unsatisfiable,
}

/// Reads a `Range` header value against a representation of `length` bytes.
///
/// ```
/// use mely_http::{RangeOutcome, byte_range};
/// assert_eq!(byte_range(b"bytes=0-4", 10), RangeOutcome::Part(0..5));
/// assert_eq!(byte_range(b"bytes=-3", 10), RangeOutcome::Part(7..10));
/// assert_eq!(byte_range(b"bytes=10-", 10), RangeOutcome::Unsatisfiable);
/// assert_eq!(byte_range(b"bytes=0-1,4-5", 10), RangeOutcome::Whole);
/// ```
pub fn byte_range(value: &[u8], length: u64) -> RangeOutcome {
    let Some((unit, spec)) = split_once(value.trim_ascii(), b'=') else {
        return RangeOutcome::Whole;
    };
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return RangeOutcome::Whole;
    }
    let Some((first, last)) = split_once(spec.trim_ascii(), b'-') else {
        return RangeOutcome::Whole;
    };
    match (first.is_empty(), last.is_empty()) {
        (true, true) => RangeOutcome::Whole,
        (true, false) => suffix(last, length),
        (false, _) => from_first(first, last, length),
    }
}

fn suffix(last: &[u8], length: u64) -> RangeOutcome {
    match number(last) {
        None => RangeOutcome::Whole,
        Some(0) => RangeOutcome::Unsatisfiable,
        // A suffix of an empty file is satisfiable, and there is no way to write it as a part.
        Some(_) if length == 0 => RangeOutcome::Whole,
        Some(count) => RangeOutcome::Part(length.saturating_sub(count)..length),
    }
}

fn from_first(first: &[u8], last: &[u8], length: u64) -> RangeOutcome {
    let Some(first) = number(first) else {
        return RangeOutcome::Whole;
    };
    let last = match last {
        [] => u64::MAX,
        digits => match number(digits) {
            Some(last) if last >= first => last,
            _ => return RangeOutcome::Whole,
        },
    };
    if first >= length {
        return RangeOutcome::Unsatisfiable;
    }
    RangeOutcome::Part(first..last.saturating_add(1).min(length))
}

/// Digits only; what passes 64 bits is as good as infinite.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |sum: u64, d: &u8| sum.saturating_mul(10).saturating_add(u64::from(d - b'0'));
    Some(digits.iter().fold(0, digit))
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = bytes.iter().position(|&b| b == at)?;
    Some((&bytes[..position], &bytes[position + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use RangeOutcome::{Part, Unsatisfiable, Whole};
    use proptest::prelude::*;

    #[test]
    fn forms_of_one_range() {
        let cases: &[(&str, RangeOutcome)] = &[
            ("bytes=0-0", Part(0..1)),
            ("bytes=9-", Part(9..10)),
            ("bytes=2-100", Part(2..10)),
            ("BYTES = 2-3", Whole),
            ("Bytes= 2-3 ", Part(2..4)),
            ("bytes=-10", Part(0..10)),
            ("bytes=-11", Part(0..10)),
            ("bytes=-0", Unsatisfiable),
            ("bytes=10-11", Unsatisfiable),
            ("bytes=3-2", Whole),
            ("bytes=-", Whole),
            ("bytes=", Whole),
            ("bytes", Whole),
            ("bytes=a-b", Whole),
            ("bytes=1-b", Whole),
            ("bytes=+1-2", Whole),
            ("lines=1-2", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=0-99999999999999999999999", Part(0..10)),
            ("bytes=99999999999999999999999-", Unsatisfiable),
        ];
        for (value, outcome) in cases {
            assert_eq!(byte_range(value.as_bytes(), 10), *outcome, "{value}");
        }
        assert_eq!(byte_range(b"bytes=0-", 0), Unsatisfiable);
        assert_eq!(byte_range(b"bytes=-1", 0), Whole);
    }

    proptest! {
        #[test]
        fn a_part_is_never_empty_and_never_outside(value in "bytes=[0-9]{0,20}-[0-9]{0,20}", length: u64) {
            if let Part(part) = byte_range(value.as_bytes(), length) {
                prop_assert!(part.start < part.end && part.end <= length);
            }
        }

        #[test]
        fn any_bytes_have_an_outcome(value: Vec<u8>, length: u64) {
            byte_range(&value, length);
        }
    }
}
