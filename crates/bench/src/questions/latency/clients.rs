//! Clients on connections that echo: bytes are sent without waiting for those before.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::kind::Kind;
use crate::measure::Failure;

/// How long the kernel is waited for at a time: it counts in milliseconds.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// The clients' ends of the connections.
pub(super) struct Clients {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    kind: Arc<Kind>,
}

struct Connection {
    stream: TcpStream,
    /// When the bytes were sent that have not come back.
    sent: VecDeque<Instant>,
}

impl Clients {
    pub(super) fn connect(
        address: SocketAddr,
        number: usize,
        kind: Arc<Kind>,
    ) -> Result<Self, Failure> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut connections = Vec::with_capacity(number);
        for number in 0..number {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(
                &epoll,
                &stream,
                EventData::new_u64(number as u64),
                EventFlags::IN,
            )?;
            connections.push(Connection {
                stream,
                sent: VecDeque::new(),
            });
        }
        Ok(Self {
            epoll,
            connections,
            kind,
        })
    }

    pub(super) fn send(&mut self, number: usize) -> Result<(), Failure> {
        let connection = &mut self.connections[number];
        connection.sent.push_back(Instant::now());
        let written = connection.stream.write_all(&[0]);
        written.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => "a connection holds no more bytes: measure for fewer \
                                      seconds"
                .into(),
            _ => error.into(),
        })
    }

    /// Receives what comes within a turn.
    pub(super) fn receive(&mut self) -> Result<(), Failure> {
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len());
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&TURN),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let number = usize::try_from(event.data.u64())?;
            let Some(connection) = self.connections.get_mut(number) else {
                continue;
            };
            let mut bytes = [0; 512];
            let count = match connection.stream.read(&mut bytes) {
                Ok(0) => return Err("the runtime closed a connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error.into()),
            };
            for sent in connection.sent.drain(..count.min(connection.sent.len())) {
                self.kind.record(sent);
            }
        }
        Ok(())
    }

    pub(super) fn all_answered(&self) -> bool {
        self.connections.iter().all(|c| c.sent.is_empty())
    }
}
