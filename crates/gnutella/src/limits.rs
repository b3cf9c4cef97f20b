//! Bounds on what one peer may make a node hold, read or send.

/// Bounds on memory and work. What an [`Error`](crate::Error) says when one is passed stands beside
/// it; where nothing stands, the oldest or worst entry makes room, or the rest is ignored.
///
/// ```
/// use mely_gnutella::Limits;
/// let limits = Limits { max_hosts: 50, ..Limits::default() };
/// assert_eq!(limits.max_ttl, 7);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one group of handshake headers, blank line included (8 KiB; `HandshakeTooLong`).
    /// A list of hosts is the longest thing in it, with some 20 bytes a host.
    pub max_handshake_bytes: usize,
    /// Header fields of one group (64; `TooManyFields`). Today's servents send about 20.
    pub max_handshake_fields: usize,
    /// Addresses that are taken from `X-Try-Ultrapeers`, `X-Try` and packed lists in pongs (50).
    pub max_try_hosts: usize,
    /// Bytes of the text after a status or in `User-Agent` that are kept (256).
    pub max_agent_bytes: usize,
    /// Bytes of a message after its header (64 KiB; `PayloadTooLong`), as other servents hold it.
    pub max_payload_bytes: u32,
    /// Bytes of the text of a query (256; `TooLong`).
    pub max_query_text_bytes: usize,
    /// Extensions of a query or of one result: URNs, XML and GGEP blocks (32; `TooMany`).
    pub max_extensions: usize,
    /// Extensions in a GGEP block (32; `TooMany`).
    pub max_ggep_extensions: usize,
    /// Bytes of all data of a GGEP block, or of all blocks of one query or result, inflated (64 KiB;
    /// `TooLong` or `ExtensionInflate`).
    pub max_ggep_bytes: usize,
    /// Pairs of vendor and selector that a peer may announce (256; `TooMany`).
    pub max_vendor_messages: usize,
    /// How many times longer the messages of a connection may be than their compressed form, on
    /// average (256; `InflatedTooMuch`). Deflate itself ends at about 1030.
    pub max_inflation_ratio: u64,
    /// Slots of a route table that a peer may announce (2 Mi; `RouteTableTooLarge`): the largest
    /// size in use, 256 KiB as bits.
    pub max_route_table_slots: u32,
    /// The sum of TTL and hops of a message that is sent on (7).
    pub max_ttl: u8,
    /// GUIDs remembered in each of four tables (65 536), about 4 MiB a full one.
    pub max_routes: usize,
    /// After this many seconds the older two of the tables are forgotten (600): longer than any
    /// answer takes on its way back.
    pub routes_age_s: u64,
    /// Pongs that are remembered (200).
    pub max_cached_pongs: usize,
    /// Seconds after which a pong is not told any more (60).
    pub pong_age_s: u64,
    /// Cached pongs that answer one ping (10).
    pub max_pongs_per_ping: usize,
    /// Seconds within which one peer's further pings are dropped (1).
    pub ping_interval_s: u64,
    /// Bytes of a pong that is remembered (512), extensions included.
    pub max_cached_pong_bytes: usize,
    /// Hosts that are remembered (2 000), about 80 bytes each.
    pub max_hosts: usize,
    /// Files that are shared (100 000).
    pub max_files: usize,
    /// Bytes of a file's name (255; `TooLong`), as file systems have it.
    pub max_file_name_bytes: usize,
    /// Results that one query is answered with (64).
    pub max_results: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_handshake_bytes: 8 * 1024,
            max_handshake_fields: 64,
            max_try_hosts: 50,
            max_agent_bytes: 256,
            max_payload_bytes: 64 * 1024,
            max_query_text_bytes: 256,
            max_extensions: 32,
            max_ggep_extensions: 32,
            max_ggep_bytes: 64 * 1024,
            max_vendor_messages: 256,
            max_inflation_ratio: 256,
            max_route_table_slots: 2 * 1024 * 1024,
            max_ttl: 7,
            max_routes: 65_536,
            routes_age_s: 600,
            max_cached_pongs: 200,
            pong_age_s: 60,
            max_pongs_per_ping: 10,
            ping_interval_s: 1,
            max_cached_pong_bytes: 512,
            max_hosts: 2_000,
            max_files: 100_000,
            max_file_name_bytes: 255,
            max_results: 64,
        }
    }
}
