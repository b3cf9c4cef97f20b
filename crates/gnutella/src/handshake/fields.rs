//! What the headers of a handshake tell.

use crate::limits::Limits;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};

/// The port of addresses that come without one.
const DEFAULT_PORT: u16 = 6346;

/// The headers of a peer that this crate knows; others are ignored, and so are values that make no
/// sense. Versions are as the peer wrote them, and mostly only whether there is one matters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeFields {
    /// `User-Agent`: the program and its version.
    pub user_agent: Option<String>,
    /// `X-Ultrapeer`: whether it is one.
    pub ultrapeer: Option<bool>,
    /// `X-Ultrapeer-Needed`: whether an ultrapeer may stay one beside it.
    pub ultrapeer_needed: Option<bool>,
    /// `X-Query-Routing`: it sends route tables as a leaf and takes them as an ultrapeer.
    pub query_routing: Option<String>,
    /// `X-Ultrapeer-Query-Routing`: it exchanges them with ultrapeers, too.
    pub ultrapeer_query_routing: Option<String>,
    /// `X-Dynamic-Querying`: it sends queries to a few peers at a time.
    pub dynamic_querying: Option<String>,
    /// `X-Try-Ultrapeers`, or `X-Try` of older servents: hosts to connect to.
    pub try_hosts: Vec<SocketAddrV4>,
    /// `Listen-IP`, `Node` or `X-My-Address`: where it accepts connections.
    pub listen: Option<SocketAddrV4>,
    /// `Remote-IP`: our address, as it sees it.
    pub remote_ip: Option<IpAddr>,
    /// `Accept-Encoding: deflate`: it reads compressed messages.
    pub accepts_deflate: bool,
    /// `Content-Encoding: deflate`: it will send compressed messages.
    pub sends_deflate: bool,
    /// `Vendor-Message`: it reads them.
    pub vendor_messages: Option<String>,
    /// `GGEP`: it reads and sends on GGEP blocks.
    pub ggep: Option<String>,
    /// `Pong-Caching`: it answers pings itself.
    pub pong_caching: Option<String>,
    /// `Bye-Packet`: it reads byes.
    pub bye: Option<String>,
    /// `X-Max-TTL`: it drops queries that begin with a larger TTL.
    pub max_ttl: Option<u8>,
    /// `X-Degree`: how many ultrapeers it connects to.
    pub degree: Option<u16>,
    /// `Crawler`: it only wants to know whom we are connected to.
    pub crawler: Option<String>,
}

impl HandshakeFields {
    /// Takes one field; of two alike the later counts, but for lists, which are one.
    pub(super) fn take(&mut self, name: &str, value: &str, limits: &Limits) {
        let text = || Some(shortened(value, limits.max_agent_bytes).to_owned());
        match &*name.to_ascii_lowercase() {
            "user-agent" => self.user_agent = text(),
            "x-ultrapeer" => self.ultrapeer = yes_or_no(value),
            "x-ultrapeer-needed" => self.ultrapeer_needed = yes_or_no(value),
            "x-query-routing" => self.query_routing = text(),
            "x-ultrapeer-query-routing" => self.ultrapeer_query_routing = text(),
            "x-dynamic-querying" => self.dynamic_querying = text(),
            "x-try-ultrapeers" | "x-try" => self.take_hosts(value, limits),
            "listen-ip" | "node" | "x-my-address" => self.listen = host(value),
            "remote-ip" => self.remote_ip = value.parse().ok(),
            "accept-encoding" => self.accepts_deflate = has_deflate(value),
            "content-encoding" => self.sends_deflate = has_deflate(value),
            "vendor-message" => self.vendor_messages = text(),
            "ggep" => self.ggep = text(),
            "pong-caching" => self.pong_caching = text(),
            "bye-packet" => self.bye = text(),
            "x-max-ttl" => self.max_ttl = value.parse().ok(),
            "x-degree" => self.degree = value.parse().ok(),
            "crawler" => self.crawler = text(),
            _ => {}
        }
    }

    fn take_hosts(&mut self, value: &str, limits: &Limits) {
        for host in value.split(',').filter_map(host) {
            if self.try_hosts.len() == limits.max_try_hosts {
                return;
            }
            if !self.try_hosts.contains(&host) {
                self.try_hosts.push(host);
            }
        }
    }

    /// What a third group of headers says anew.
    pub(super) fn amend(&mut self, later: &HandshakeFields) {
        self.ultrapeer = later.ultrapeer.or(self.ultrapeer);
        self.sends_deflate = later.sends_deflate;
        self.listen = later.listen.or(self.listen);
        self.remote_ip = later.remote_ip.or(self.remote_ip);
    }
}

/// Whole characters of a text, no more than so many bytes.
pub(super) fn shortened(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn yes_or_no(value: &str) -> Option<bool> {
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    if is("true") || is("yes") || value == "1" {
        Some(true)
    } else if is("false") || is("no") || value == "0" {
        Some(false)
    } else {
        None
    }
}

fn has_deflate(value: &str) -> bool {
    let mut encodings = value.split(',');
    encodings.any(|encoding| encoding.trim().eq_ignore_ascii_case("deflate"))
}

/// An address, perhaps with the time behind it when it was last seen, as Shareaza writes it.
fn host(value: &str) -> Option<SocketAddrV4> {
    let address = value.split_whitespace().next()?;
    if let Ok(address) = address.parse() {
        return Some(address);
    }
    let ip: Ipv4Addr = address.parse().ok()?;
    Some(SocketAddrV4::new(ip, DEFAULT_PORT))
}
