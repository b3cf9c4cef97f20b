//! Clients that ask for a page, pause, and ask again, so often on each connection.
//!
//! They are one thread. Waiting for a page begins with its request; connecting is measured apart.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use mely::net::TcpStream;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::measure::Failure;
use crate::workloads::services::response::Response;

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 256;

/// Larger than a page of 8 KB with its head.
const BUFFER: usize = 16 << 10;

/// The kernel is waited for so long, and then the clock is looked at.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    pub(crate) clients: usize,
    /// Between an answer and the next request.
    pub(crate) pause: Duration,
    /// On a connection; then it is closed, and another one opened.
    pub(crate) requests_each: u32,
    pub(crate) time: Duration,
}

/// What clients have seen, waits in order.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connects: Vec<Duration>,
    pub(crate) responses: Vec<Duration>,
    /// Answers of each client.
    pub(crate) answers: Vec<u32>,
    pub(crate) errors: u64,
}

impl Seen {
    /// Jain's index: 1 if all clients had the same, 1/n if one had all.
    pub(crate) fn fairness(&self) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for &answers in &self.answers {
            sum += f64::from(answers);
            squares += f64::from(answers) * f64::from(answers);
        }
        match squares > 0.0 {
            true => sum * sum / (self.answers.len() as f64 * squares),
            false => 0.0,
        }
    }
}

enum Doing {
    Connecting,
    Waiting,
    Pausing,
}

struct Client {
    stream: TcpStream,
    doing: Doing,
    since: Instant,
    sent: u32,
    response: Response,
}

struct Crowd<'a> {
    address: SocketAddr,
    request: &'a [u8],
    habit: Habit,
    epoll: OwnedFd,
    seen: Seen,
    /// Who goes on when: all pause for the same time, so these are in order.
    pausing: VecDeque<(Instant, usize)>,
    buffer: Vec<u8>,
}

/// Lets clients do that. Answers that have not come at the end count as waiting until then.
pub(crate) fn load(address: SocketAddr, path: &str, habit: Habit) -> Result<Seen, Failure> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut crowd = Crowd {
        address,
        request: request.as_bytes(),
        habit,
        epoll: epoll::create(CreateFlags::CLOEXEC)?,
        seen: Seen {
            answers: vec![0; habit.clients],
            ..Seen::default()
        },
        pausing: VecDeque::new(),
        buffer: vec![0; BUFFER],
    };
    let mut clients = (0..habit.clients)
        .map(|number| crowd.connect(number))
        .collect::<io::Result<Vec<_>>>()?;
    let start = Instant::now();
    while start.elapsed() < habit.time {
        crowd.turn(&mut clients)?;
    }
    for client in &clients {
        match client.doing {
            Doing::Connecting => crowd.seen.connects.push(client.since.elapsed()),
            Doing::Waiting => crowd.seen.responses.push(client.since.elapsed()),
            Doing::Pausing => {}
        }
    }
    crowd.seen.connects.sort_unstable();
    crowd.seen.responses.sort_unstable();
    Ok(crowd.seen)
}

impl Crowd<'_> {
    fn connect(&self, number: usize) -> io::Result<Client> {
        let since = Instant::now();
        let stream = TcpStream::connect(self.address)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        let data = EventData::new_u64(number as u64);
        epoll::add(&self.epoll, stream.get_ref(), data, flags)?;
        Ok(Client {
            stream,
            doing: Doing::Connecting,
            since,
            sent: 0,
            response: Response::default(),
        })
    }

    fn turn(&mut self, clients: &mut [Client]) -> Result<(), Failure> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, Some(&TURN)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let number = usize::try_from(event.data.u64())?;
            if self
                .advance(number, &mut clients[number], event.flags)
                .is_err()
            {
                self.seen.errors += 1;
                clients[number] = self.connect(number)?;
            }
        }
        let now = Instant::now();
        while let Some(&(_, number)) = self.pausing.front().filter(|(until, _)| *until <= now) {
            self.pausing.pop_front();
            let client = &mut clients[number];
            let went = match client.sent == self.habit.requests_each {
                true => Err(ErrorKind::ConnectionReset.into()),
                false => client.ask(self.request),
            };
            // After its last request, or where the server has gone: a connection anew.
            if went.is_err() {
                *client = self.connect(number)?;
            }
        }
        Ok(())
    }

    /// Does what a connection is ready for; it failed if this fails.
    fn advance(&mut self, number: usize, client: &mut Client, ready: EventFlags) -> io::Result<()> {
        match client.doing {
            // Its connection was lost, or is told again of what was known.
            Doing::Pausing => return Ok(()),
            Doing::Connecting if !ready.contains(EventFlags::OUT) => return Ok(()),
            Doing::Connecting => {
                self.seen.connects.push(client.since.elapsed());
                client.ask(self.request)?;
            }
            Doing::Waiting => {}
        }
        loop {
            let count = match client.stream.read(&mut self.buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let complete = client.response.take(&self.buffer[..count]);
            if complete.map_err(|_| ErrorKind::InvalidData)? {
                self.seen.responses.push(client.since.elapsed());
                self.seen.answers[number] += 1;
                client.doing = Doing::Pausing;
                let until = Instant::now() + self.habit.pause;
                self.pausing.push_back((until, number));
                return Ok(());
            }
        }
    }
}

impl Client {
    fn ask(&mut self, request: &[u8]) -> io::Result<()> {
        self.doing = Doing::Waiting;
        self.since = Instant::now();
        self.sent += 1;
        self.stream.write_all(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_if_all_have_the_same() {
        let fairness = |answers: &[u32]| {
            let answers = answers.to_vec();
            Seen {
                answers,
                ..Seen::default()
            }
            .fairness()
        };
        assert_eq!(fairness(&[5, 5, 5, 5]), 1.0);
        assert_eq!(fairness(&[8, 0, 0, 0]), 0.25);
        assert_eq!(fairness(&[0, 0]), 0.0);
    }
}
