//! h1, h1c, h2, h2c, ax: requests over HTTP to services of hyper and axum.
//!
//! The server is the runtime; its clients are one thread of the same process that waits
//! with epoll, writes requests that it knows by heart, and reads of the answers what it
//! must: the least that a client can take from the cores that it shares with the server.
//! Each request is sent when the one before it has been answered. The server's CPU time
//! is that of the process without that of this thread.
//!
//! | file | what |
//! |---|---|
//! | `crowd` | the clients' connections |
//! | `http1`, `http2` | what is said on them, without I/O |
//! | `response` | reads responses of HTTP/1 |

mod crowd;
mod http1;
mod http2;
pub(crate) mod response;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use self::crowd::Crowd;
use self::http1::Http1;
use self::http2::Http2;
use self::response::Refused;
use crate::contenders::implementation::Implementation;
use crate::contenders::runtimes::Conditions;
use crate::contenders::runtimes::services::{Service, serve};
use crate::measure::{Failure, Outcome};

/// What clients ask, and whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) version: Version,
    pub(super) service: Service,
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug)]
pub(super) enum Version {
    One,
    Two,
}

/// Connections of HTTP/1.
const CONNECTIONS: usize = 64;

/// Connections of HTTP/2: fewer, as each has [`STREAMS`] requests at a time.
const CONNECTIONS_2: usize = 16;
const STREAMS: usize = 8;

/// Significant digits of the waits.
const DIGITS: u8 = 2;

/// How long answers were waited for, in nanoseconds.
struct Waits(Histogram<u64>);

impl Waits {
    fn new() -> Result<Self, Failure> {
        Ok(Self(Histogram::new(DIGITS)?))
    }

    /// A request was sent, and its answer is there.
    fn answered(&mut self, sent: Instant, now: Instant) {
        let wait = now.saturating_duration_since(sent).as_nanos();
        // Never refused: it grows as needed.
        self.0.record(u64::try_from(wait).unwrap_or(u64::MAX)).ok();
    }
}

/// What a client says on its connection.
trait Dialogue: Sized {
    /// Begins: writes what is sent first, with the first requests.
    fn begin(now: Instant, out: &mut Vec<u8>) -> Self;

    /// Takes bytes in: notes the answers, and writes the next requests.
    fn take(
        &mut self,
        bytes: &[u8],
        now: Instant,
        waits: &mut Waits,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused>;
}

/// Runs it once.
pub(super) fn measure(
    implementation: Implementation,
    conditions: Conditions,
    asked: Asked,
    time: Duration,
) -> Result<Outcome, Failure> {
    let client = |address: SocketAddr| match asked.version {
        Version::One => Crowd::<Http1>::connect(address, CONNECTIONS)?.measure(time),
        Version::Two => Crowd::<Http2>::connect(address, CONNECTIONS_2)?.measure(time),
    };
    serve(implementation, conditions, asked.service, client)
        .unwrap_or_else(|| Err("it cannot serve".into()))
}
