//! The gate: who may come in. Its events have color 1, as in the paper.

use super::Shared;
use super::client::{self, Client, Slot};
use super::clock::now;
use super::handlers::{ACCEPT, CLOSE, DEC_CLIENT_ACCEPTED, PARSE_REQUEST, REGISTER_FD};
use super::listener::Listener;
use crate::connection::Connection;
use crate::status::Status;
use mely::net::Watch;
use mely::{Colored, Context, ReactorKind};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use slab::Slab;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Connections accepted in a row: some 5 µs each, so that a flood of new ones holds a core for
/// less than a millisecond.
const ACCEPTS_PER_TURN: usize = 64;
/// How long to wait when descriptors have run out; the end of a connection comes before.
const STARVED_RETRY: Duration = Duration::from_millis(50);
/// Trouble is told at most this often.
const TROUBLE_INTERVAL: Duration = Duration::from_secs(1);

/// A listener, and its watch, which ends first.
pub(super) struct Entrance {
    pub(super) _watch: Watch,
    pub(super) listener: Listener,
    /// Whether a connection may be waiting: no edge will come for it again.
    pub(super) ready: bool,
}

/// Why nobody is let in although somebody waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// As many clients are being turned away as may be at once.
    Refusing,
    /// Descriptors or memory ran out.
    Starved,
}

/// The state of color 1: listeners, and all connections.
pub(super) struct Gate {
    shared: Arc<Shared>,
    entrances: Vec<Entrance>,
    clients: Slab<Colored<Slot>>,
    active: usize,
    refusing: usize,
    next_worker: usize,
    pause: Option<Pause>,
    retry_pending: bool,
    told_at: Option<Instant>,
    /// Told when the last connection has ended.
    closing: Option<Sender<()>>,
}

impl Gate {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            entrances: Vec::new(),
            clients: Slab::new(),
            active: 0,
            refusing: 0,
            next_worker: 0,
            pause: None,
            retry_pending: false,
            told_at: None,
            closing: None,
        }
    }

    pub(super) fn open(&mut self, entrances: Vec<Entrance>, cx: &mut Context<'_, Self>) {
        self.entrances = entrances;
        self.accept(cx);
    }

    /// A listener became ready.
    pub(super) fn knocked(&mut self, at: usize, cx: &mut Context<'_, Self>) {
        if let Some(entrance) = self.entrances.get_mut(at) {
            entrance.ready = true;
            if self.pause.is_none() {
                self.accept(cx);
            }
        }
    }

    fn accept(&mut self, cx: &mut Context<'_, Self>) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(at) = self.entrances.iter().position(|entrance| entrance.ready) else {
                return;
            };
            if self.is_full() && self.refusing >= self.shared.options.refusing_max {
                self.pause = Some(Pause::Refusing);
                return;
            }
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::accept_with(&self.entrances[at].listener, flags) {
                Ok(socket) => self.admit(socket, cx),
                Err(Errno::AGAIN) => self.entrances[at].ready = false,
                Err(error) if is_of_one_connection(error) => {
                    self.shared.counts.gate.accept_failures.add(1);
                }
                Err(error) => return self.starve(error, cx),
            }
        }
        cx.with_handler(&ACCEPT).post_or_shed(Self::accept);
    }

    fn is_full(&self) -> bool {
        self.active >= self.shared.protocol.limits().max_clients
    }

    fn admit(&mut self, socket: OwnedFd, cx: &mut Context<'_, Self>) {
        let now = now(cx);
        let refused = self.is_full();
        let protocol = Arc::clone(&self.shared.protocol);
        let connection = match refused {
            true => Connection::refused(protocol, Status::ServiceUnavailable, &now),
            false => Connection::new(protocol, &now),
        };
        let handle = cx.handle();
        self.next_worker = (self.next_worker + 1) % handle.workers();
        let options = handle.color_options().start_on(self.next_worker);
        // Cannot fail: the remainder is a worker. A connection is dropped rather than a panic.
        let Ok(color) = options.colored::<Slot>(None) else {
            return;
        };
        let counts = &self.shared.counts.gate;
        if refused {
            self.refusing += 1;
            counts.refused.add(1);
        } else {
            self.active += 1;
            counts.accepted.add(1);
        }
        let entry = self.clients.vacant_entry();
        let (gate, key) = (cx.colored(), entry.key());
        let leave = move || {
            gate.with_handler(&DEC_CLIENT_ACCEPTED)
                .post_or_shed(move |gate, cx| gate.left(key, refused, cx));
        };
        let membership = client::Membership {
            refused,
            leave: Box::new(leave),
        };
        let client = Client::new(
            connection,
            socket,
            Arc::clone(&self.shared),
            membership,
            now,
        );
        let client = Box::new(client);
        let first = match self.shared.options.reactor {
            ReactorKind::PerWorker => &REGISTER_FD,
            // The runtime has the handler of that name then, of color 0.
            ReactorKind::Single => &PARSE_REQUEST,
        };
        color
            .with_handler(first)
            .post_or_shed(move |slot, cx| client::register(slot, cx, client));
        entry.insert(color);
        self.publish();
    }

    fn publish(&self) {
        let counts = &self.shared.counts.gate;
        counts.active.set(self.active as u64);
        counts.refusing.set(self.refusing as u64);
    }

    /// Descriptors or memory ran out: connections wait in the queue of the system meanwhile.
    fn starve(&mut self, error: Errno, cx: &mut Context<'_, Self>) {
        self.shared.counts.gate.accept_failures.add(1);
        self.pause = Some(Pause::Starved);
        self.tell(
            &format!(
                "cannot accept connections, trying again: {error} ({} are open)",
                self.clients.len()
            ),
            cx.now(),
        );
        if !self.retry_pending {
            self.retry_pending = true;
            cx.colored()
                .with_handler(&ACCEPT)
                .post_after(STARVED_RETRY, |gate, cx| {
                    gate.retry_pending = false;
                    gate.resume(cx);
                });
        }
    }

    fn tell(&mut self, line: &str, now: Instant) {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < TROUBLE_INTERVAL;
        if !self.told_at.is_some_and(is_recent) {
            self.told_at = Some(now);
            (self.shared.options.on_trouble)(line);
        }
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>) {
        if self.pause.take().is_some() {
            self.accept(cx);
        }
    }

    /// A connection has been closed.
    fn left(&mut self, key: usize, refused: bool, cx: &mut Context<'_, Self>) {
        self.clients.try_remove(key);
        match refused {
            true => self.refusing -= 1,
            false => self.active -= 1,
        }
        self.publish();
        if self.pause.take().is_some() {
            cx.with_handler(&ACCEPT).post_or_shed(Self::accept);
        }
        self.tell_when_empty();
    }

    /// Lets nobody in any more, and asks the connections to end.
    pub(super) fn close(&mut self, closed: Sender<()>) {
        self.entrances.clear();
        self.closing = Some(closed);
        // Relaxed: read by events that the ones below, or the accepting ones before, lead to.
        self.shared.closing.store(true, Relaxed);
        for (_, client) in &self.clients {
            client.with_handler(&CLOSE).post_or_shed(client::finish);
        }
        self.tell_when_empty();
    }

    /// Ends the connections that are left, and says how many.
    pub(super) fn cut(&mut self) -> usize {
        self.entrances.clear();
        for (_, client) in &self.clients {
            client.with_handler(&CLOSE).post_or_shed(client::close);
        }
        self.clients.len()
    }

    fn tell_when_empty(&mut self) {
        if self.clients.is_empty()
            && let Some(closed) = self.closing.take()
        {
            // Who asked may have stopped waiting.
            let _ = closed.send(());
        }
    }
}

/// Errors that tell of the connection that was to be accepted, not of the listener: accept(2)
/// passes on those of the network.
fn is_of_one_connection(error: Errno) -> bool {
    matches!(
        error,
        Errno::CONNABORTED
            | Errno::INTR
            | Errno::PERM
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NONET
            | Errno::OPNOTSUPP
            | Errno::TIMEDOUT
    )
}
