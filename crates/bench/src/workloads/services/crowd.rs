//! The clients: so many connections, and the one thread that waits for all of them.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::{ClockId, clock_gettime};

use super::{Dialogue, Waits};
use crate::measure::{Failure, Outcome, Served};

/// This part of the measured time comes before it: connections, caches and learned costs
/// are warm then.
const WARM_UP: u32 = 5;

/// How often as long as was asked the first answer is waited for: on a busy machine the
/// server may not have had a core yet.
const PATIENCE: u32 = 10_000;

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 64;

/// Larger than what is on the way to a client.
const BUFFER: usize = 64 << 10;

/// How long to wait for events before the time is looked at.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// All clients.
pub(super) struct Crowd<D> {
    epoll: OwnedFd,
    clients: Vec<Client<D>>,
    waits: Waits,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

struct Client<D> {
    stream: TcpStream,
    dialogue: D,
}

impl<D: Dialogue> Crowd<D> {
    /// Connects them, and sends the first requests.
    pub(super) fn connect(address: SocketAddr, connections: usize) -> Result<Self, Failure> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let (mut clients, mut out) = (Vec::with_capacity(connections), Vec::new());
        for number in 0..connections {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let data = EventData::new_u64(number as u64);
            epoll::add(&epoll, &stream, data, EventFlags::IN)?;
            let dialogue = D::begin(Instant::now(), &mut out);
            stream.write_all(&out)?;
            out.clear();
            clients.push(Client { stream, dialogue });
        }
        Ok(Self {
            epoll,
            clients,
            waits: Waits::new()?,
            buffer: vec![0; BUFFER],
            out,
        })
    }

    /// Loads the server for `time` after a warm-up.
    pub(super) fn measure(mut self, time: Duration) -> Result<Outcome, Failure> {
        self.load(time / WARM_UP)?;
        self.waits.0.reset();
        let (start, cpu) = (Instant::now(), cpu_of_server());
        self.load(time)?;
        let (time, cpu) = (start.elapsed(), cpu_of_server().saturating_sub(cpu));
        let waits = &self.waits.0;
        let p99 = Duration::from_nanos(waits.value_at_quantile(0.99));
        Ok(Outcome {
            events: waits.len(),
            time,
            served: Some(Served { cpu, p99 }),
        })
    }

    /// Asks and takes answers in for so long, and until there is a first one.
    fn load(&mut self, time: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while start.elapsed() < time || self.waits.0.is_empty() {
            if start.elapsed() > time * PATIENCE {
                return Err("no answer has come".into());
            }
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, Some(&TURN)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let number = usize::try_from(event.data.u64())?;
                self.advance(number)
                    .map_err(|error| format!("connection {number}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Reads what there is, and asks for more.
    fn advance(&mut self, number: usize) -> io::Result<()> {
        let client = &mut self.clients[number];
        let count = match client.stream.read(&mut self.buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let (bytes, now) = (&self.buffer[..count], Instant::now());
        client
            .dialogue
            .take(bytes, now, &mut self.waits, &mut self.out)
            .map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
        // All that was sent before has been answered: there is room for it.
        client.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

/// The CPU time of this process without that of this thread.
fn cpu_of_server() -> Duration {
    let used = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    used(ClockId::ProcessCPUTime).saturating_sub(used(ClockId::ThreadCPUTime))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::http1::Http1;
    use super::*;

    fn against(serve: impl FnOnce(TcpStream) + Send) -> Result<Outcome, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || serve(listener.accept().unwrap().0));
            Crowd::<Http1>::connect(address, 1)?.measure(Duration::from_millis(10))
        })
    }

    #[test]
    fn answers_are_counted_and_the_wait_for_them() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let outcome = against(|mut stream| {
            let mut bytes = [0; 1024];
            while let Ok(1..) = stream.read(&mut bytes) {
                if stream.write_all(answer).is_err() {
                    return;
                }
            }
        });
        let outcome = outcome.unwrap();
        assert!(outcome.events > 0);
        assert!(outcome.served.unwrap().p99 > Duration::ZERO);
    }

    #[test]
    fn a_server_that_closes_or_answers_otherwise_is_an_error() {
        let closed = against(drop).unwrap_err().to_string();
        assert!(closed.contains("connection 0"), "{closed}");
        let refused = against(|mut stream| {
            let answer = b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n";
            // Until the client has had it, and gone.
            stream.write_all(answer).unwrap();
            while let Ok(1..) = stream.read(&mut [0; 1024]) {}
        });
        assert!(refused.is_err());
    }
}
