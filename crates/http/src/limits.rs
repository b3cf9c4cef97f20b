//! Bounds on what one peer may make the server hold, read or wait for.

use std::time::Duration;

/// Bounds on memory and time, each with the answer a peer gets when it passes them.
///
/// ```
/// use mely_http::Limits;
/// let limits = Limits { max_clients: 100, ..Limits::default() };
/// assert_eq!(limits.max_head_bytes, 16 * 1024);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request line and its header section, blank line included (16 KiB). More: 431.
    pub max_head_bytes: usize,
    /// Bytes of a request target, query string included (8 KiB). More: 414.
    pub max_target_bytes: usize,
    /// Header fields of a request (100). More: 431. Values above 256 mean 256.
    pub max_headers: usize,
    /// Bytes of a request body, which is read and thrown away (64 KiB). More: 413.
    pub max_body_bytes: u64,
    /// From the first byte of a request to the last of its header section, and again to the last
    /// of its body (10 s). Later: 408.
    pub header_timeout: Duration,
    /// Silence between requests (60 s). Longer: closed without a word.
    pub idle_timeout: Duration,
    /// Without any byte taken by a peer that has a response to read (30 s). Longer: closed.
    pub write_timeout: Duration,
    /// After an error response, waiting for the peer to read it and close (2 s). Longer: closed.
    pub linger_timeout: Duration,
    /// Bytes thrown away while waiting for a peer to read an error response (256 KiB).
    pub linger_bytes: u64,
    /// Requests served on one connection before it is closed (no limit).
    pub max_requests_per_connection: Option<u64>,
    /// Bytes of responses kept in memory, all files together (256 MiB). The rest is streamed.
    pub cache_bytes: usize,
    /// Bytes of the largest file kept in memory (1 MiB). Larger files are streamed.
    pub cache_file_bytes: u64,
    /// Spellings of request paths remembered for the lookup without decoding (65 536).
    pub cached_targets: usize,
    /// Bytes of responses waiting for a peer, above which its next pipelined requests stay
    /// unparsed (256 KiB). One response may pass it.
    pub max_output_bytes: usize,
    /// Connections served at once (10 000). More: 503.
    pub max_clients: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_head_bytes: 16 * 1024,
            max_target_bytes: 8 * 1024,
            max_headers: 100,
            max_body_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            linger_timeout: Duration::from_secs(2),
            linger_bytes: 256 * 1024,
            max_requests_per_connection: None,
            cache_bytes: 256 * 1024 * 1024,
            cache_file_bytes: 1024 * 1024,
            cached_targets: 65_536,
            max_output_bytes: 256 * 1024,
            max_clients: 10_000,
        }
    }
}
