//! Time as the protocol sees it: always handed in, and formatted at most once a second.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seconds since the epoch of the last date HTTP can write, 9999-12-31T23:59:59Z.
const LAST_SECOND: u64 = 253_402_300_799;

/// A formatted HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`, always 29 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DateValue([u8; 29]);

impl DateValue {
    /// Formats `time`, cut to whole seconds. Times that HTTP cannot write (before 1970, after
    /// 9999) become the nearest one it can.
    ///
    /// ```
    /// use mely_http::DateValue;
    /// use std::time::{Duration, UNIX_EPOCH};
    /// let date = DateValue::from_time(UNIX_EPOCH + Duration::from_secs(784_111_777));
    /// assert_eq!(date.as_str(), "Sun, 06 Nov 1994 08:49:37 GMT");
    /// ```
    pub fn from_time(time: SystemTime) -> Self {
        let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds(time)));
        let mut value = *b"Thu, 01 Jan 1970 00:00:00 GMT";
        if text.len() == value.len() {
            value.copy_from_slice(text.as_bytes());
        }
        Self(value)
    }

    /// The 29 bytes.
    pub fn as_bytes(&self) -> &[u8; 29] {
        &self.0
    }

    /// The same as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for DateValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whole seconds since 1970, within what an HTTP date can write.
pub(crate) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
        .min(LAST_SECOND)
}

/// One instant on both clocks, with its `Date` header already formatted.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For timeouts and revalidation.
    pub monotonic: Instant,
    /// For dates.
    pub wall: SystemTime,
    /// `wall` as a `Date` header value.
    pub date: DateValue,
}

/// Formats the `Date` value once for all the instants of a second. One per worker.
///
/// ```
/// use mely_http::DateCache;
/// use std::time::{Duration, Instant, UNIX_EPOCH};
/// let mut dates = DateCache::new();
/// let now = dates.at(Instant::now(), UNIX_EPOCH + Duration::from_millis(1_500));
/// assert_eq!(now.date.as_str(), "Thu, 01 Jan 1970 00:00:01 GMT");
/// ```
#[derive(Debug, Clone)]
pub struct DateCache {
    second: u64,
    value: DateValue,
}

impl DateCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            second: 0,
            value: DateValue::from_time(UNIX_EPOCH),
        }
    }

    /// The instant that both clocks show, with its date.
    pub fn at(&mut self, monotonic: Instant, wall: SystemTime) -> Now {
        let second = unix_seconds(wall);
        if second != self.second {
            self.value = DateValue::from_time(wall);
            self.second = second;
        }
        Now {
            monotonic,
            wall,
            date: self.value,
        }
    }
}

impl Default for DateCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_outside_the_range_of_http_are_clamped() {
        let before = UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(
            DateValue::from_time(before).as_str(),
            "Thu, 01 Jan 1970 00:00:00 GMT"
        );
        let after = UNIX_EPOCH + Duration::from_secs(LAST_SECOND + 5);
        assert_eq!(
            DateValue::from_time(after).as_str(),
            "Fri, 31 Dec 9999 23:59:59 GMT"
        );
    }

    #[test]
    fn a_new_second_gives_a_new_date() {
        let mut dates = DateCache::new();
        let start = Instant::now();
        let texts: Vec<String> = [999, 1000, 1999, 2000, 1000]
            .map(|ms| {
                dates
                    .at(start, UNIX_EPOCH + Duration::from_millis(ms))
                    .date
                    .as_str()[23..25]
                    .to_string()
            })
            .to_vec();
        assert_eq!(texts, ["00", "01", "01", "02", "01"]);
    }
}
