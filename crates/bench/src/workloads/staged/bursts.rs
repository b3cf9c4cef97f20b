//! Bursts of packets, each acknowledged: on many connections at once, or on one among idle ones.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::contenders::staged::packets::{ACK, PACKET_BYTES};
use crate::measure::Failure;

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 256;

/// Packets that are written at once.
const AT_ONCE: usize = 8;

/// Connections that send a burst each: how long it took until all are acknowledged.
pub(crate) fn send(
    address: SocketAddr,
    connections: usize,
    packets: u32,
) -> Result<Duration, Failure> {
    let mut senders = Senders::connect(address, connections, packets)?;
    let start = Instant::now();
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
    while senders.acknowledged < connections {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&senders.epoll, room, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            senders.advance(usize::try_from(event.data.u64())?)?;
        }
    }
    Ok(start.elapsed())
}

struct Sender {
    stream: TcpStream,
    /// Bytes of the burst that are to be sent.
    left: usize,
    /// Bytes of its acknowledgement.
    acknowledged: usize,
}

struct Senders {
    all: Vec<Sender>,
    epoll: OwnedFd,
    acknowledged: usize,
    packets: Vec<u8>,
    last: Vec<u8>,
}

impl Senders {
    fn connect(address: SocketAddr, connections: usize, packets: u32) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut all = Vec::with_capacity(connections);
        for _ in 0..connections {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            all.push(Sender {
                stream,
                left: PACKET_BYTES * packets as usize,
                acknowledged: 0,
            });
        }
        for (number, sender) in all.iter().enumerate() {
            let data = EventData::new_u64(number as u64);
            epoll::add(
                &epoll,
                &sender.stream,
                data,
                EventFlags::IN | EventFlags::OUT,
            )?;
        }
        let mut last = vec![0; PACKET_BYTES];
        last[0] = 1;
        Ok(Self {
            all,
            epoll,
            acknowledged: 0,
            packets: vec![0; PACKET_BYTES * AT_ONCE],
            last,
        })
    }

    /// Sends what there is room for, or reads what came.
    fn advance(&mut self, number: usize) -> Result<(), Failure> {
        let Some(sender) = self.all.get_mut(number) else {
            return Ok(());
        };
        if sender.left == 0 {
            let mut ack = ACK;
            sender.acknowledged += match sender.stream.read(&mut ack) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error.into()),
            };
            self.acknowledged += usize::from(sender.acknowledged == ACK.len());
            return Ok(());
        }
        // The last packet says that it is; those before are alike.
        let bytes = match sender.left.checked_sub(PACKET_BYTES) {
            Some(before @ 1..) => &self.packets[..before.min(self.packets.len())],
            _ => &self.last[PACKET_BYTES - sender.left..],
        };
        sender.left -= match sender.stream.write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error.into()),
        };
        if sender.left == 0 {
            let data = EventData::new_u64(number as u64);
            epoll::modify(&self.epoll, &sender.stream, data, EventFlags::IN)?;
        }
        Ok(())
    }
}

/// One connection that sends a packet and waits for its acknowledgement, again and again, among so
/// many that are idle: how long it waited each time, in order.
pub(crate) fn among_idle(
    address: SocketAddr,
    idle: usize,
    time: Duration,
) -> Result<Vec<Duration>, Failure> {
    let connect = |_| TcpStream::connect(address);
    let idle = (0..idle).map(connect).collect::<io::Result<Vec<_>>>()?;
    let mut active = TcpStream::connect(address)?;
    active.set_nodelay(true)?;
    let mut packet = vec![0; PACKET_BYTES];
    packet[0] = 1;
    let (start, mut waits, mut ack) = (Instant::now(), Vec::new(), ACK);
    while start.elapsed() < time {
        let sent = Instant::now();
        active.write_all(&packet)?;
        active.read_exact(&mut ack)?;
        waits.push(sent.elapsed());
    }
    drop(idle);
    waits.sort_unstable();
    Ok(waits)
}
