//! The clients of a chat server: one thread, epoll, and a timetable that waits for
//! nothing.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::lines::{self, LENGTH_MIN, Reader};

/// Significant digits of the waits.
const DIGITS: u8 = 2;

/// This part of the measured time comes before it.
const WARM_UP: u32 = 5;

/// What was sent and is not delivered so long after the end is lost.
const LATE_MAX: Duration = Duration::from_secs(2);

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 256;

/// What is read of a client at a time.
const BUFFER: usize = 64 << 10;

/// What a client that cannot send may have to send: its server reads nothing.
const UNSENT_MAX: usize = 1 << 20;

/// How long to wait for events at a time: the timetable is kept so exactly.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Who is there, and how much is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    readers: u32,
    never_read: u32,
    deliveries: u32,
    line_bytes: usize,
}

impl Plan {
    /// `None` where nobody would hear anything.
    pub(super) fn new(
        readers: u32,
        never_read: u32,
        deliveries: u32,
        line_bytes: usize,
    ) -> Option<Self> {
        let is_heard = readers >= 2 && deliveries > 0 && line_bytes >= LENGTH_MIN;
        is_heard.then_some(Self {
            readers,
            never_read,
            deliveries,
            line_bytes,
        })
    }

    /// The time from a line to the next: each goes to all readers but its sender.
    fn period(self) -> Duration {
        let lines = f64::from(self.deliveries) / f64::from(self.readers - 1);
        Duration::from_secs_f64(1.0 / lines)
    }

    /// What rows call it.
    pub(super) fn workload(self) -> String {
        let clients = self.readers + self.never_read;
        format!("{clients} clients, {} never read", self.never_read)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {:.0} lines of {} bytes a second for {} deliveries",
            self.workload(),
            1.0 / self.period().as_secs_f64(),
            self.line_bytes,
            self.deliveries
        )
    }
}

/// What clients heard of what was said in the measured time.
pub(super) struct Heard {
    waits: Histogram<u64>,
    /// Deliveries in the measured time.
    pub(super) deliveries: u64,
    pub(super) time: Duration,
    /// Deliveries that have never come.
    pub(super) missing: u64,
    /// Clients whose connection the server has ended, those that never read too.
    pub(super) cut_off: u64,
}

impl Heard {
    pub(super) fn wait_us(&self, quantile: f64) -> f64 {
        self.waits.value_at_quantile(quantile) as f64 / 1e3
    }
}

struct Client {
    stream: TcpStream,
    reader: Reader,
    reads: bool,
    /// What it has said and the socket had no room for.
    unsent: Vec<u8>,
    is_cut_off: bool,
}

/// All clients.
pub(super) struct Crowd {
    epoll: OwnedFd,
    clients: Vec<Client>,
    plan: Plan,
    /// Lines carry the time since then.
    start: Instant,
    /// Lines since the timetable's beginning, and that.
    said: u32,
    talking_since: Instant,
    /// What is measured: lines that were sent since then, until then.
    window: Option<(u64, u64)>,
    /// How often such lines are to be heard.
    expected: u64,
    waits: Histogram<u64>,
    /// Deliveries of any line since the measured time began.
    deliveries: u64,
    measured: (u64, Duration),
    buffer: Vec<u8>,
}

impl Crowd {
    /// Connects all clients; those that never read come first.
    pub(super) fn connect(address: SocketAddr, plan: Plan) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut clients = Vec::new();
        for number in 0..plan.never_read + plan.readers {
            let reads = number >= plan.never_read;
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            // Without reading, only the end is told, and once.
            let flags = match reads {
                true => EventFlags::IN,
                false => EventFlags::RDHUP | EventFlags::ET,
            };
            epoll::add(&epoll, &stream, EventData::new_u64(number.into()), flags)?;
            clients.push(Client {
                stream,
                reader: Reader::new(plan.line_bytes),
                reads,
                unsent: Vec::new(),
                is_cut_off: false,
            });
        }
        let start = Instant::now();
        Ok(Self {
            epoll,
            clients,
            plan,
            start,
            said: 0,
            talking_since: start,
            window: None,
            expected: 0,
            waits: Histogram::new(DIGITS).map_err(io::Error::other)?,
            deliveries: 0,
            measured: (0, Duration::ZERO),
            buffer: vec![0; BUFFER],
        })
    }

    /// Talks for a part of `time`.
    pub(super) fn warm_up(&mut self, time: Duration) -> io::Result<()> {
        self.talk_until(Instant::now() + time / WARM_UP)
    }

    /// Talks, and measures what is heard.
    pub(super) fn talk(&mut self, time: Duration) -> io::Result<()> {
        let begin = Instant::now();
        let end = begin + time;
        self.window = Some((self.ns(begin), self.ns(end)));
        self.deliveries = 0;
        self.talk_until(end)?;
        self.measured = (self.deliveries, begin.elapsed());
        Ok(())
    }

    /// Says no more, and listens until all is heard that was said, or too late.
    pub(super) fn finish(&mut self) -> io::Result<Heard> {
        let end = Instant::now() + LATE_MAX;
        while self.waits.len() < self.expected && Instant::now() < end {
            self.send_unsent();
            self.listen()?;
        }
        let (deliveries, time) = self.measured;
        let cut_off = self.clients.iter().filter(|client| client.is_cut_off);
        Ok(Heard {
            deliveries,
            time,
            missing: self.expected.saturating_sub(self.waits.len()),
            cut_off: cut_off.count() as u64,
            waits: self.waits.clone(),
        })
    }

    fn ns(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn talk_until(&mut self, end: Instant) -> io::Result<()> {
        let period = self.plan.period();
        self.talking_since = Instant::now();
        self.said = 0;
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            while self.talking_since + period * self.said <= now {
                self.say();
            }
            self.send_unsent();
            self.listen()?;
        }
    }

    /// The next of those that read says a line.
    fn say(&mut self) {
        let now = self.ns(Instant::now());
        let number = self.plan.never_read + self.said % self.plan.readers;
        self.said += 1;
        let client = &mut self.clients[number as usize];
        if client.is_cut_off || client.unsent.len() > UNSENT_MAX {
            return;
        }
        if self
            .window
            .is_some_and(|(begin, end)| (begin..end).contains(&now))
        {
            self.expected += u64::from(self.plan.readers - 1);
        }
        lines::write(self.plan.line_bytes, now, &mut client.unsent);
        client.send();
    }

    fn send_unsent(&mut self) {
        let waiting = self.clients.iter_mut().filter(|c| !c.unsent.is_empty());
        waiting.for_each(Client::send);
    }

    /// Takes in what has come.
    fn listen(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, Some(&TURN)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = usize::try_from(event.data.u64()).map_err(io::Error::other)?;
            let client = &mut self.clients[number];
            let read = match client.reads {
                true => client.stream.read(&mut self.buffer),
                // Nothing else is told of it.
                false => Ok(0),
            };
            let now = Instant::now();
            match read {
                Ok(0) => self.cut_off(number)?,
                Ok(count) => self.hear(number, count, now)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.cut_off(number)?,
            }
        }
        Ok(())
    }

    fn hear(&mut self, number: usize, count: usize, now: Instant) -> io::Result<()> {
        let now = self.ns(now);
        let Self {
            clients,
            buffer,
            waits,
            deliveries,
            window,
            ..
        } = self;
        let heard = clients[number].reader.take(&buffer[..count], |sent| {
            *deliveries += 1;
            if window.is_some_and(|(begin, end)| (begin..end).contains(&sent)) {
                // Never refused: it grows as needed.
                waits.record(now.saturating_sub(sent)).ok();
            }
        });
        heard.map_err(|_| io::Error::new(ErrorKind::InvalidData, "a line that nobody has said"))
    }

    fn cut_off(&mut self, number: usize) -> io::Result<()> {
        let client = &mut self.clients[number];
        epoll::delete(&self.epoll, &client.stream)?;
        client.is_cut_off = true;
        client.unsent.clear();
        Ok(())
    }
}

impl Client {
    /// Sends what there is room for. A connection that has failed is told by epoll.
    fn send(&mut self) {
        if let Ok(count) = self.stream.write(&self.unsent) {
            self.unsent.drain(..count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use super::*;

    type Members = Arc<Mutex<Vec<TcpStream>>>;

    /// Delivers what a client says to all others.
    fn serve(mut stream: TcpStream, members: &Members) {
        let own = stream.peer_addr().unwrap();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            for other in &mut *members.lock().unwrap() {
                if other.peer_addr().is_ok_and(|peer| peer != own) {
                    other.write_all(&bytes[..count]).ok();
                }
            }
        }
    }

    /// A server of so many clients, of which it ends the first connections at once.
    fn server(clients: usize, ends: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let members = Members::default();
            let accepted: Vec<_> = (0..clients).map(|_| listener.accept().unwrap().0).collect();
            for stream in accepted.into_iter().skip(ends) {
                members.lock().unwrap().push(stream.try_clone().unwrap());
                let members = Arc::clone(&members);
                std::thread::spawn(move || serve(stream, &members));
            }
        });
        address
    }

    #[test]
    fn all_that_is_said_is_heard_by_all_others() {
        let plan = Plan::new(4, 1, 3000, 64).unwrap();
        let mut crowd = Crowd::connect(server(5, 0), plan).unwrap();
        crowd.warm_up(Duration::from_millis(50)).unwrap();
        crowd.talk(Duration::from_millis(50)).unwrap();
        let heard = crowd.finish().unwrap();
        assert_eq!((heard.missing, heard.cut_off), (0, 0));
        assert!(heard.deliveries > 0 && heard.waits.len().is_multiple_of(3));
        assert!(heard.wait_us(0.5) > 0.0);
    }

    #[test]
    fn who_is_cut_off_is_counted_whether_or_not_it_reads() {
        let plan = Plan::new(3, 1, 3000, 100).unwrap();
        let mut crowd = Crowd::connect(server(4, 2), plan).unwrap();
        while crowd.clients.iter().filter(|c| c.is_cut_off).count() < 2 {
            crowd.listen().unwrap();
        }
        let heard = crowd.finish().unwrap();
        assert_eq!((heard.missing, heard.cut_off), (0, 2));
    }

    #[test]
    fn a_plan_says_what_it_is() {
        assert!(Plan::new(1, 3, 1000, 64).is_none());
        let plan = Plan::new(497, 3, 99_200, 64).unwrap();
        assert_eq!(plan.period(), Duration::from_millis(5));
        let said = plan.to_string();
        assert!(
            said.starts_with("500 clients, 3 never read, 200 lines"),
            "{said}"
        );
    }
}
