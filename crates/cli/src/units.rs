//! Durations and sizes as people write them.

use std::time::Duration;

/// Parses `30`, `30s`, `500ms`, `2m`.
pub(crate) fn duration(given: &str) -> Result<Duration, String> {
    let digits = given.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| "give a number with ms, s or m, such as 30s".to_owned())?;
    match &given[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number)),
        "" | "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        unit => Err(format!("unknown unit '{unit}'; known are ms, s and m")),
    }
}

/// Parses `4096`, `64K`, `256M`, `2G`: powers of 1024.
pub(crate) fn bytes(given: &str) -> Result<u64, String> {
    let digits = given.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| "give a number of bytes, also with K, M or G, such as 256M".to_owned())?;
    let unit: u64 = match &given[digits.len()..] {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        unit => return Err(format!("unknown unit '{unit}'; known are K, M and G")),
    };
    number
        .checked_mul(unit)
        .ok_or_else(|| "that is more than a number can hold".to_owned())
}

/// Parses what [`bytes`] does, for memory.
pub(crate) fn memory_bytes(given: &str) -> Result<usize, String> {
    usize::try_from(bytes(given)?).map_err(|_| "that is more than memory can hold".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "s", "-1s", "1h", "1.5s", "30é"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("256M"), Ok(256 << 20));
        for bad in ["", "M", "-1", "1T", "99999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
