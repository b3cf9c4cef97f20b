//! Clients that make so many requests on a connection, one after the other, close it
//! and open another, as the papers' do.
//!
//! They are one thread, as `wrk` is: it leaves the other core to the server. The wait
//! for an answer begins with the request, and that of the first on a connection with
//! the connecting.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mely::net::TcpStream;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::answers::Answers;
use crate::measure::Error;
use crate::workloads::services::response::Response;

/// Significant digits of the waits.
const DIGITS: u8 = 2;

/// An answer that has not come at the end, after so long, is an error.
const STALLED: Duration = Duration::from_secs(1);

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 256;

/// Larger than the response.
const BUFFER: usize = 16 << 10;

/// How long to wait for events before the time is looked at.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// Loads the server on a port of this machine.
pub(super) fn run(
    port: u16,
    file: &str,
    connections: u32,
    requests_each: u32,
    seconds: u64,
) -> Result<Answers, Error> {
    let failed = |source| Error::Server {
        what: "the clients".to_owned(),
        source,
    };
    let mut crowd = Crowd::new(port, file, requests_each).map_err(failed)?;
    crowd
        .load(connections, Duration::from_secs(seconds))
        .map_err(failed)
}

/// What all clients have in common.
struct Crowd {
    address: SocketAddr,
    request: String,
    requests_each: u32,
    epoll: OwnedFd,
    waits: Histogram<u64>,
    errors: u64,
    buffer: Vec<u8>,
}

/// A client and its connection.
struct Client {
    stream: TcpStream,
    /// Requests that have been sent on this connection.
    sent: u32,
    /// When the request was sent, or the connecting begun.
    since: Instant,
    response: Response,
}

/// What becomes of a connection.
enum Next {
    Keep,
    Replace,
}

impl Crowd {
    fn new(port: u16, file: &str, requests_each: u32) -> io::Result<Self> {
        Ok(Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            request: format!("GET /{file} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
            requests_each,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            waits: Histogram::new(DIGITS).map_err(io::Error::other)?,
            errors: 0,
            buffer: vec![0; BUFFER],
        })
    }

    fn load(&mut self, connections: u32, time: Duration) -> io::Result<Answers> {
        let start = Instant::now();
        let mut clients: Vec<Client> = (0..u64::from(connections))
            .map(|number| self.connect(number))
            .collect::<io::Result<_>>()?;
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while start.elapsed() < time {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, Some(&PATIENCE)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let number = event.data.u64();
                let Some(client) = usize::try_from(number)
                    .ok()
                    .and_then(|n| clients.get_mut(n))
                else {
                    continue;
                };
                let flags = event.flags;
                let next = self.advance(client, flags).unwrap_or_else(|_| {
                    self.errors += 1;
                    Next::Replace
                });
                if matches!(next, Next::Replace) {
                    *client = self.connect(number)?;
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let stalled = clients.iter().filter(|c| c.since.elapsed() > STALLED);
        self.errors += stalled.count() as u64;
        Ok(Answers {
            requests: self.waits.len(),
            seconds,
            p99_us: self.waits.value_at_quantile(0.99) as f64 / 1e3,
            errors: self.errors,
        })
    }

    fn connect(&self, number: u64) -> io::Result<Client> {
        let since = Instant::now();
        let stream = TcpStream::connect(self.address)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        epoll::add(
            &self.epoll,
            stream.get_ref(),
            EventData::new_u64(number),
            flags,
        )?;
        Ok(Client {
            stream,
            sent: 0,
            since,
            response: Response::default(),
        })
    }

    /// Does what a connection is ready for; it failed if this fails.
    fn advance(&mut self, client: &mut Client, ready: EventFlags) -> io::Result<Next> {
        if client.sent == 0 {
            if !ready.contains(EventFlags::OUT) {
                return Ok(Next::Keep);
            }
            // Writes the first request, or finds out why there is no connection.
            client.request(&self.request)?;
        }
        loop {
            let count = match client.stream.read(&mut self.buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Next::Keep),
                Err(error) => return Err(error),
            };
            let complete = client.response.take(&self.buffer[..count]);
            if complete.map_err(|_| ErrorKind::InvalidData)? {
                let wait = u64::try_from(client.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                // Never refused: it grows as needed.
                self.waits.record(wait).ok();
                if client.sent == self.requests_each {
                    return Ok(Next::Replace);
                }
                client.since = Instant::now();
                client.request(&self.request)?;
            }
            // What was short was all there was; more comes with an event.
            if count < self.buffer.len() {
                return Ok(Next::Keep);
            }
        }
    }
}

impl Client {
    /// Sends a request. Nothing else waits to be sent: there is room for it.
    fn request(&mut self, request: &str) -> io::Result<()> {
        self.sent += 1;
        self.stream.write_all(request.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /// Answers on one connection after the other: how many requests each had.
    fn serve(listener: &TcpListener, connections: usize) -> io::Result<Vec<u32>> {
        let mut requests = Vec::new();
        for _ in 0..connections {
            let (mut stream, _) = listener.accept()?;
            let mut lines = BufReader::new(stream.try_clone()?).lines();
            let mut count = 0;
            while let Some(Ok(line)) = lines.next() {
                if line.is_empty() {
                    count += 1;
                    stream.write_all(ANSWER)?;
                }
            }
            requests.push(count);
        }
        Ok(requests)
    }

    #[test]
    fn a_connection_is_closed_after_its_last_request_and_another_opened() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = std::sync::mpsc::channel();
        let clients = std::thread::spawn(move || {
            let mut crowd = Crowd::new(port, "x", 3).unwrap();
            // Until the server has seen what it wants to see.
            while stopped.try_recv().is_err() {
                crowd.load(1, Duration::from_millis(10)).unwrap();
            }
            crowd.waits.len()
        });
        let requests = serve(&listener, 20).unwrap();
        stop.send(()).unwrap();
        let answered = clients.join().unwrap();
        assert!(requests.contains(&3), "{requests:?}");
        assert!(requests.iter().all(|&count| count <= 3), "{requests:?}");
        assert!(answered > 0);
    }

    #[test]
    fn a_server_that_closes_early_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut crowd = Crowd::new(port, "x", 3).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(listener.accept()));
            while crowd.errors == 0 {
                crowd.load(1, Duration::from_millis(10)).unwrap();
            }
        });
        assert_eq!(crowd.waits.len(), 0);
    }
}
