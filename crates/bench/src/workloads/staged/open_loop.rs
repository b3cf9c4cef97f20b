//! Requests by a timetable: each is sent when it is due, whatever became of those before, and waits
//! from then on. So a server that stops for a while makes all those wait that were due meanwhile.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::told::Asked;
use crate::contenders::staged::answer::Fate;
use crate::measure::Failure;
use crate::measure::random::Random;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// If nothing is due for longer than this, the kernel is waited for, which counts in milliseconds.
const SLEEP: Duration = Duration::from_millis(2);

/// How requests and answers are written.
pub(crate) trait Wire {
    /// Appends a request; on which connection it goes.
    fn request(&mut self, number: u64, out: &mut Vec<Vec<u8>>) -> Result<(), Failure>;

    /// Takes what came on a connection; `told` of each answer.
    fn take(
        &mut self,
        connection: usize,
        bytes: &[u8],
        told: &mut dyn FnMut(u64, Fate),
    ) -> Result<(), Failure>;
}

/// A part of a timetable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    /// Requests a second in the mean: each is due independently of the others.
    pub(crate) per_second: f64,
    pub(crate) long: Duration,
}

/// When requests are due.
#[derive(Clone, Debug)]
pub(crate) enum Timetable {
    Phases(VecDeque<Phase>),
    /// As many as can be answered: so many are always under way.
    Always {
        under_way: usize,
        long: Duration,
    },
}

/// Clients with connections to one server.
pub(crate) struct OpenLoop<W> {
    wire: W,
    streams: Vec<TcpStream>,
    epoll: OwnedFd,
    /// What is to be written, of each connection.
    out: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    asked: Vec<Asked>,
    told: usize,
    /// How late requests were sent at most.
    late: Duration,
}

/// What came of a timetable.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// In the order in which they were due.
    pub(crate) asked: Vec<Asked>,
    /// How late the clients themselves were at most.
    pub(crate) late: Duration,
}

impl<W: Wire> OpenLoop<W> {
    /// Connects.
    pub(crate) fn connect(
        address: SocketAddr,
        connections: usize,
        wire: W,
        mut greet: impl FnMut(&mut TcpStream) -> io::Result<()>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut streams = Vec::with_capacity(connections);
        for number in 0..connections {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            greet(&mut stream)?;
            stream.set_nonblocking(true)?;
            let data = EventData::new_u64(number as u64);
            epoll::add(&epoll, &stream, data, EventFlags::IN)?;
            streams.push(stream);
        }
        Ok(Self {
            wire,
            out: vec![Vec::new(); connections],
            streams,
            epoll,
            buffer: vec![0; READ_BYTES],
            asked: Vec::new(),
            told: 0,
            late: Duration::ZERO,
        })
    }

    /// Sends all requests of a timetable, and waits for what comes of them, for so long at most.
    pub(crate) fn run(
        mut self,
        mut timetable: Timetable,
        linger: Duration,
    ) -> Result<Outcome, Failure> {
        let start = Instant::now();
        let mut due = Due::new();
        loop {
            let next = match &mut timetable {
                Timetable::Phases(phases) => self.ask_due(start, &mut due, phases)?,
                Timetable::Always { under_way, long } => self.ask_more(start, *under_way, *long)?,
            };
            self.write()?;
            let now = start.elapsed();
            let wait = match next {
                Some(at) if at > now + SLEEP => 1,
                Some(_) => 0,
                None if self.told == self.asked.len() => break,
                None if now > due.end(&timetable) + linger => break,
                None => 1,
            };
            self.read(start, wait)?;
        }
        Ok(Outcome {
            asked: self.asked,
            late: self.late,
        })
    }

    /// Asks what is due by now: when the next one is.
    fn ask_due(
        &mut self,
        start: Instant,
        due: &mut Due,
        phases: &mut VecDeque<Phase>,
    ) -> Result<Option<Duration>, Failure> {
        let now = start.elapsed();
        loop {
            let Some(at) = due.next(phases) else {
                return Ok(None);
            };
            if at > now {
                return Ok(Some(at));
            }
            due.planned = None;
            self.late = self.late.max(now - at);
            self.ask(at)?;
        }
    }

    fn ask_more(
        &mut self,
        start: Instant,
        under_way: usize,
        long: Duration,
    ) -> Result<Option<Duration>, Failure> {
        let now = start.elapsed();
        if now > long {
            return Ok(None);
        }
        while self.asked.len() - self.told < under_way {
            self.ask(now)?;
        }
        Ok(Some(now))
    }

    fn ask(&mut self, due: Duration) -> Result<(), Failure> {
        self.wire.request(self.asked.len() as u64, &mut self.out)?;
        self.asked.push(Asked { due, told: None });
        Ok(())
    }

    /// Writes what there is room for.
    fn write(&mut self) -> Result<(), Failure> {
        for (stream, out) in self.streams.iter_mut().zip(&mut self.out) {
            if out.is_empty() {
                continue;
            }
            match stream.write(out) {
                Ok(count) => drop(out.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read(&mut self, start: Instant, wait_ms: u8) -> Result<(), Failure> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(wait_ms) * 1_000_000,
        };
        let mut events: Vec<Event> = Vec::with_capacity(self.streams.len());
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let number = usize::try_from(event.data.u64())?;
            let count = match self.streams[number].read(&mut self.buffer) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            let (asked, told, at) = (&mut self.asked, &mut self.told, start.elapsed());
            let mut note = |number: u64, fate| {
                let asked = usize::try_from(number).ok().and_then(|n| asked.get_mut(n));
                if let Some(asked) = asked.filter(|asked| asked.told.is_none()) {
                    asked.told = Some((at, fate));
                    *told += 1;
                }
            };
            self.wire.take(number, &self.buffer[..count], &mut note)?;
        }
        Ok(())
    }
}

/// When the next request is due.
struct Due {
    random: Random,
    /// When the phase began.
    began: Duration,
    last: Duration,
    planned: Option<Duration>,
}

impl Due {
    fn new() -> Self {
        Self {
            random: Random::new(3),
            began: Duration::ZERO,
            last: Duration::ZERO,
            planned: None,
        }
    }

    fn next(&mut self, phases: &mut VecDeque<Phase>) -> Option<Duration> {
        while self.planned.is_none() {
            let phase = phases.front()?;
            // Never 0, of which there is no logarithm.
            let chance = (f64::from(self.random.below(1 << 30)) + 0.5) / f64::from(1 << 30);
            let at = self.last + Duration::from_secs_f64(-chance.ln() / phase.per_second);
            let end = self.began + phase.long;
            if at < end {
                self.last = at;
                self.planned = Some(at);
            } else {
                // Nothing is remembered between two that are due: the next phase begins anew.
                self.began = end;
                self.last = end;
                phases.pop_front();
            }
        }
        self.planned
    }

    fn end(&self, timetable: &Timetable) -> Duration {
        match timetable {
            Timetable::Phases(_) => self.began,
            Timetable::Always { long, .. } => *long,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_due_as_a_phase_says() {
        let phase = |per_second| Phase {
            per_second,
            long: Duration::from_secs(10),
        };
        let mut phases = VecDeque::from([phase(100.0), phase(1000.0)]);
        let (mut due, mut times) = (Due::new(), Vec::new());
        while let Some(at) = due.next(&mut phases) {
            times.push(at);
            due.planned = None;
        }
        assert!(times.is_sorted());
        let early = times.iter().filter(|at| **at < Duration::from_secs(10));
        let (early, all) = (early.count(), times.len());
        assert!((800..1200).contains(&early), "{early}");
        assert!((9500..10_500).contains(&(all - early)), "{all}");
        assert_eq!(due.began, Duration::from_secs(20));
    }
}
