//! The server: SWS, the web server of the paper (section V.C, figure 6), on a Mely runtime.
//!
//! | handler | color | does |
//! |---|---|---|
//! | Epoll | 0 | finds ready descriptors; only with the single reactor, else each worker does |
//! | RegisterFdInEpoll | 0, or the connection's | adds a descriptor to those that are watched |
//! | Accept | 1 | accepts connections, up to [`Limits::max_clients`](crate::Limits::max_clients) |
//! | ReadRequest | the connection's | one read |
//! | ParseRequest | the connection's | parses one request, decides what comes next |
//! | CheckInCache | the connection's | finds the response |
//! | WriteResponse | the connection's | one write |
//! | Close | the connection's | shuts the connection down |
//! | DecClientAccepted | 1 | counts a connection that ended |
//!
//! The paper takes the descriptor's number as the color of a connection; here each has a fresh
//! color of its own, so that a number that is used again does not join two connections. A tenth
//! handler, Timeout, looks after silent peers.
//!
//! A request on an open connection costs one read and one write. Reading a file that is not in
//! memory holds the core meanwhile, which happens in CheckInCache (files that will be cached) and
//! in WriteResponse (files that are streamed, as far as the system does not have them in memory).

mod address;
mod client;
mod clock;
mod error;
mod gate;
mod handlers;
mod listener;
mod options;
mod stats;
mod text;
mod transfer;

pub use address::Address;
pub use error::ServerError;
pub use options::ServerOptions;
pub use stats::ServerStats;
pub use text::TextServer;

use crate::response::Protocol;
use crate::site::Site;
use gate::{Entrance, Gate};
use handlers::{ACCEPT, CLOSE};
use listener::Listener;
use mely::net::Watch;
use mely::{Colored, Handle};
use stats::Counts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// The number of the gate's color, as in the paper.
const GATE_COLOR: u16 = 1;
/// How long connections that are cut may take to go: they only wait for their core.
const CUT_WAIT: Duration = Duration::from_secs(1);

/// What all handlers of a server share.
struct Shared {
    site: Arc<Site>,
    protocol: Arc<Protocol>,
    options: ServerOptions,
    counts: Counts,
    closing: AtomicBool,
}

/// A web server that runs on a runtime until it is shut down or dropped.
///
/// ```
/// use mely_http::server::{Server, ServerOptions};
/// use mely_http::{DateCache, Limits, Options, Protocol, Site};
/// use std::io::{Read, Write};
/// use std::time::{Duration, Instant, SystemTime};
/// use std::{net::TcpStream, sync::Arc};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// std::fs::write(dir.path().join("hello.txt"), "hello")?;
/// let now = DateCache::new().at(Instant::now(), SystemTime::now());
/// let protocol = Arc::new(Protocol::new(Limits::default()));
/// let site = Site::open(dir.path(), Options::default(), protocol.limits(), &now)?;
///
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let options = ServerOptions::listen(["127.0.0.1:0".parse()?]);
/// let server = Server::start(&rt, Arc::new(site), protocol, options)?;
///
/// let address = server.addresses()[0].to_string(); // http://127.0.0.1:PORT/
/// let mut client = TcpStream::connect(address.trim_start_matches("http://").trim_end_matches('/'))?;
/// client.write_all(b"GET /hello.txt HTTP/1.0\r\n\r\n")?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
/// assert!(answer.ends_with("\r\n\r\nhello"));
/// assert_eq!(server.shutdown(Duration::from_secs(5)).cut, 0);
/// # Ok(())
/// # }
/// ```
pub struct Server {
    shared: Arc<Shared>,
    gate: Colored<Gate>,
    addresses: Vec<Address>,
    is_shut_down: bool,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerReport {
    /// Connections that were cut because the deadline passed.
    pub cut: usize,
    /// What the server had counted.
    pub stats: ServerStats,
}

impl Server {
    /// Listens, and serves from then on.
    ///
    /// # Errors
    /// When one of the addresses cannot be listened on; nothing is left listening.
    pub fn start(
        handle: &Handle,
        site: Arc<Site>,
        protocol: Arc<Protocol>,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let listeners = options
            .listen
            .iter()
            .map(Listener::bind)
            .collect::<Result<Vec<_>, _>>()?;
        if listeners.is_empty() {
            return Err(ServerError::NoAddress);
        }
        let shared = Arc::new(Shared {
            site,
            protocol,
            options,
            counts: Counts::new(handle.workers()),
            closing: AtomicBool::new(false),
        });
        let addresses = listeners.iter().map(|l| l.bound().clone()).collect();
        let gate = handle
            .numbered_color(GATE_COLOR)
            .attach(Gate::new(Arc::clone(&shared)));
        let entrances = listeners
            .into_iter()
            .enumerate()
            .map(|(at, listener)| enter(&gate, at, listener))
            .collect::<Result<Vec<_>, _>>()?;
        gate.with_handler(&ACCEPT)
            .post_or_shed(move |gate, cx| gate.open(entrances, cx));
        Ok(Self {
            shared,
            gate,
            addresses,
            is_shut_down: false,
        })
    }

    /// Where it listens, with the ports that were taken.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What it has counted so far. Stops nobody.
    pub fn stats(&self) -> ServerStats {
        self.shared.counts.read()
    }

    /// A source of [`stats`](Self::stats) for other threads and handlers, which may outlive the
    /// server.
    pub fn stats_source(&self) -> impl Fn() -> ServerStats + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.counts.read()
    }

    /// Stops accepting, closes idle connections, lets the others finish their response, and cuts
    /// what is left when `deadline` has passed. Blocks meanwhile: not for handlers.
    pub fn shutdown(mut self, deadline: Duration) -> ServerReport {
        self.is_shut_down = true;
        let all_gone = self.close();
        let cut = match all_gone.recv_timeout(deadline) {
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // An error means that the runtime has ended, and all connections with it.
                let cut = self
                    .gate
                    .with_handler(&CLOSE)
                    .call(|gate, _| gate.cut())
                    .wait();
                let _ = all_gone.recv_timeout(CUT_WAIT);
                cut.unwrap_or(0)
            }
            _ => 0,
        };
        let stats = self.stats();
        ServerReport { cut, stats }
    }

    fn close(&self) -> mpsc::Receiver<()> {
        let (closed, all_gone): (Sender<()>, _) = mpsc::channel();
        self.gate
            .with_handler(&CLOSE)
            .post_or_shed(move |gate, _| gate.close(closed));
        all_gone
    }
}

/// Without [`Server::shutdown`], all connections are cut.
impl Drop for Server {
    fn drop(&mut self) {
        if !self.is_shut_down {
            drop(self.close());
            self.gate.with_handler(&CLOSE).post_or_shed(|gate, _| {
                gate.cut();
            });
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

fn enter(gate: &Colored<Gate>, at: usize, listener: Listener) -> Result<Entrance, ServerError> {
    let watch = Watch::new(
        listener.shared_fd(),
        gate,
        &ACCEPT,
        move |gate: &mut Gate, cx, _ready| gate.knocked(at, cx),
    );
    match watch {
        Ok(watch) => Ok(Entrance {
            _watch: watch,
            listener,
            ready: true,
        }),
        Err(source) => Err(ServerError::Watch {
            address: listener.bound().clone(),
            source,
        }),
    }
}
