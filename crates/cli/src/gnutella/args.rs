//! The options of `mely gnutella`.

use crate::units;
use clap::{Args, ValueEnum};
use mely_gnutella::node::{NodeLimits, NodeOptions, WhenFull};
use mely_gnutella::{Limits, Role};
use mely_http::server::Address;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Run a node of the Gnutella network.
///
/// It speaks versions 0.4 and 0.6, routes messages, and shares a directory over HTTP on the same
/// port. Files are read to their ends first, to name them by their content. SIGINT and SIGTERM say
/// bye to all peers and end it in less than a second; a second signal ends it at once.
#[derive(Args)]
pub(crate) struct GnutellaArgs {
    /// Where to listen: HOST:PORT.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6346", value_parser = address)]
    listen: SocketAddr,
    /// The directory to share, with those within; links and names with a dot in front are left out.
    #[arg(long, value_name = "DIR")]
    pub(super) share: Option<PathBuf>,
    /// Hosts to stay connected to: HOST or HOST:PORT.
    #[arg(long, value_name = "HOST", num_args = 1.., value_parser = host)]
    connect: Vec<String>,
    /// Be a leaf, which stands behind ultrapeers and sends nothing on.
    #[arg(long)]
    leaf: bool,
    /// Remember hosts in this file.
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Take addresses of local networks for hosts; so it is where --listen is one.
    #[arg(long)]
    allow_private: bool,
    /// Do not compress connections.
    #[arg(long)]
    no_compress: bool,

    /// Serve metrics there, in the text format of Prometheus: HOST:PORT or unix:PATH.
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<Address>,
    /// How many workers [default: one for each core that may be used].
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,
    /// In the end, print what was counted as JSON, and nothing else on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Say nothing but addresses and errors.
    #[arg(long, short)]
    pub(super) quiet: bool,

    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,
}

#[derive(Args)]
struct LimitArgs {
    /// Ultrapeers that may be connected; a leaf has three at the most.
    #[arg(long, value_name = "N", default_value_t = NodeLimits::default().max_ultrapeers)]
    max_ultrapeers: usize,
    /// Leaves that may be connected.
    #[arg(long, value_name = "N", default_value_t = NodeLimits::default().max_leaves)]
    max_leaves: usize,
    /// Ultrapeers to see to be connected to.
    #[arg(long, value_name = "N", default_value_t = NodeLimits::default().outgoing)]
    outgoing: usize,
    /// Connections that were accepted, of all kinds.
    #[arg(long, value_name = "N", default_value_t = NodeLimits::default().max_connections)]
    max_connections: usize,
    /// Files that are sent at a time; more get 503.
    #[arg(long, value_name = "N", default_value_t = NodeLimits::default().max_uploads)]
    max_uploads: usize,
    /// Bytes that may wait for one peer.
    #[arg(long, value_name = "SIZE", default_value = "256K", value_parser = units::memory_bytes)]
    queue_bytes: usize,
    /// What becomes of a peer that does not read.
    #[arg(long, value_enum, default_value = "close")]
    when_full: Full,
    /// How long a handshake may take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    handshake_timeout: Duration,
    /// Silence of a peer before it is closed.
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = units::duration)]
    idle_timeout: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
enum Full {
    /// It is closed.
    Close,
    /// It misses messages.
    Shed,
}

impl GnutellaArgs {
    pub(super) fn options(&self) -> NodeOptions {
        let given = &self.limits;
        NodeOptions {
            listen: self.listen,
            role: if self.leaf {
                Role::Leaf
            } else {
                Role::Ultrapeer
            },
            connect: self.connect.clone(),
            hosts: self.hosts.clone(),
            allow_private: self.allow_private,
            compress: !self.no_compress,
            node: NodeLimits {
                max_ultrapeers: given.max_ultrapeers,
                max_leaves: given.max_leaves,
                outgoing: given.outgoing,
                max_connections: given.max_connections,
                max_uploads: given.max_uploads,
                queue_bytes: given.queue_bytes,
                when_full: match given.when_full {
                    Full::Close => WhenFull::Close,
                    Full::Shed => WhenFull::Shed,
                },
                handshake_time: given.handshake_timeout,
                idle_time: given.idle_timeout,
                ..NodeLimits::default()
            },
            protocol: Limits::default(),
        }
    }
}

/// An address to listen on; a name is looked up.
fn address(given: &str) -> Result<SocketAddr, String> {
    let found = given.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| "give HOST:PORT, such as 0.0.0.0:6346".to_owned())
}

/// A host to connect to. Whether there is one is seen later.
fn host(given: &str) -> Result<String, String> {
    let (name, port) = given.rsplit_once(':').unwrap_or((given, "1"));
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_name = !name.is_empty() && !name.contains([':', '/', ' ']);
    match is_port && is_name {
        true => Ok(given.to_owned()),
        false => Err("give HOST or HOST:PORT, such as 192.0.2.7:6346".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_name_and_perhaps_a_port() {
        for good in ["a.example", "a.example:6346", "192.0.2.1"] {
            assert!(host(good).is_ok(), "{good}");
        }
        for bad in ["", ":1", "a:", "a:0", "a:99999", "http://a/", "::1"] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }
}
