//! A connection and its handlers, all of the connection's own color.
//!
//! At most one event of the chain ReadRequest, ParseRequest, CheckInCache, WriteResponse, Close is
//! pending at any time: a connection either waits for its peer, or has posted its next step.

use super::Shared;
use super::clock::now;
use super::handlers::{
    CHECK_IN_CACHE, CLOSE, PARSE_REQUEST, READ_REQUEST, TIMEOUT, WRITE_RESPONSE,
};
use super::stats::WorkerCounts;
use super::transfer;
use crate::connection::{Connection, Step};
use crate::date::Now;
use crate::output::Output;
use mely::net::{Readiness, Watch};
use mely::{Context, Timer};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The state of a connection's color: empty before the connection is registered and after it has
/// been closed. A timer that was cancelled keeps the color a while, but not what was in it.
pub(super) type Slot = Option<Client>;

type Cx<'a> = Context<'a, Slot>;

/// When to look again at a connection whose deadline passed while it was at work.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How a connection was let in.
pub(super) struct Membership {
    pub(super) refused: bool,
    /// Tells who let it in that it has ended.
    pub(super) leave: Box<dyn FnOnce() + Send>,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// For nobody: its next event has been posted.
    Posted,
    Readable,
    Writable,
}

/// A connection.
pub(super) struct Client {
    connection: Connection,
    // Before the socket: the watch ends before the descriptor is closed.
    watch: Option<Watch>,
    socket: Arc<OwnedFd>,
    shared: Arc<Shared>,
    membership: Membership,
    /// When the chain of events that runs was begun.
    now: Now,
    waits: Waits,
    /// Whether there may be something to read: no edge will come for it again.
    readable: bool,
    peer_closed: bool,
    timer: Option<(Instant, Timer)>,
}

impl Client {
    pub(super) fn new(
        connection: Connection,
        socket: OwnedFd,
        shared: Arc<Shared>,
        membership: Membership,
        now: Now,
    ) -> Self {
        Self {
            connection,
            watch: None,
            socket: Arc::new(socket),
            shared,
            membership,
            now,
            waits: Waits::Posted,
            readable: false,
            peer_closed: false,
            timer: None,
        }
    }

    fn counts(&self, cx: &Cx<'_>) -> &WorkerCounts {
        &self.shared.counts.workers[cx.worker()]
    }

    fn is_closing(&self) -> bool {
        // Relaxed: the gate asks this connection to finish by an event after it is set.
        self.shared.closing.load(Relaxed)
    }

    /// Whether a request may have arrived that is still to be answered before the end.
    fn reads_last(&self) -> bool {
        self.is_closing() && !self.connection.is_dry()
    }

    fn wait(&mut self, waits: Waits, cx: &mut Cx<'_>) {
        self.waits = waits;
        // One timer a connection: set anew only when the deadline has come nearer. When it fires
        // too early, it is set again.
        let Some(deadline) = self.connection.deadline() else {
            return;
        };
        if self.timer.as_ref().is_none_or(|(at, _)| deadline < *at) {
            self.set_timer(deadline, cx);
        }
    }

    fn set_timer(&mut self, at: Instant, cx: &mut Cx<'_>) {
        self.cancel_timer();
        let timer = cx
            .colored()
            .with_handler(&TIMEOUT)
            .post_at(at, look_at_deadline);
        self.timer = Some((at, timer));
    }

    fn cancel_timer(&mut self) {
        if let Some((_, timer)) = self.timer.take() {
            timer.cancel();
        }
    }

    fn post_parse(&mut self, cx: &mut Cx<'_>) {
        self.waits = Waits::Posted;
        cx.with_handler(&PARSE_REQUEST).post_or_shed(parse_request);
    }

    fn post_write(&mut self, cx: &mut Cx<'_>) {
        self.waits = Waits::Posted;
        cx.with_handler(&WRITE_RESPONSE)
            .post_or_shed(write_response);
    }

    fn post_close(&mut self, cx: &mut Cx<'_>) {
        self.waits = Waits::Posted;
        cx.with_handler(&CLOSE).post_or_shed(close);
    }

    fn post_close_broken(&mut self, cx: &mut Cx<'_>) {
        self.counts(cx).broken.add(1);
        self.post_close(cx);
    }
}

/// RegisterFdInEpoll: the first event of a connection.
pub(super) fn register(slot: &mut Slot, cx: &mut Cx<'_>, mut client: Box<Client>) {
    let socket = Arc::clone(&client.socket);
    match Watch::new(socket, &cx.colored(), &READ_REQUEST, ready) {
        Ok(watch) => client.watch = Some(watch),
        Err(_) => client.post_close_broken(cx),
    }
    if client.is_closing() {
        client.connection.begin_shutdown();
    }
    if client.watch.is_some() {
        match client.membership.refused || client.is_closing() {
            true => client.post_parse(cx),
            false => client.wait(Waits::Readable, cx),
        }
    }
    *slot = Some(*client);
}

/// ReadRequest, as the reactor posts it.
fn ready(slot: &mut Slot, cx: &mut Cx<'_>, ready: Readiness) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    client.readable |= ready.readable;
    client.peer_closed |= ready.closed;
    match client.waits {
        Waits::Readable if client.readable => {
            client.now = now(cx);
            read_request(slot, cx);
        }
        Waits::Writable if ready.writable => {
            client.now = now(cx);
            client.post_write(cx);
        }
        _ => {}
    }
}

/// ReadRequest: one read.
fn read_request(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    client.waits = Waits::Posted;
    let buffer = client.connection.read_buffer();
    let room = buffer.len();
    match transfer::receive(client.socket.as_fd(), buffer) {
        Ok(count) => {
            // What comes after a short read makes a new edge; the end of the stream may have been
            // told with this one.
            client.readable = count == room || client.peer_closed;
            client.connection.advance(count, &client.now);
            client.post_parse(cx);
        }
        Err(Errno::AGAIN) => {
            client.readable = false;
            client.connection.read_nothing();
            match client.is_closing() {
                true => client.post_parse(cx),
                false => client.wait(Waits::Readable, cx),
            }
        }
        Err(Errno::INTR) => cx.with_handler(&READ_REQUEST).post_or_shed(read_request),
        Err(_) => client.post_close_broken(cx),
    }
}

/// ParseRequest: finds out what to do next.
fn parse_request(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    let (stayed, answered) = (client.connection.keep_alive(), client.connection.requests());
    let step = client.connection.parse(&client.now);
    let refused_one = client.connection.requests() - answered;
    let failed = stayed && !client.connection.keep_alive() && step == Step::Write;
    let rejected = refused_one.max(u64::from(failed));
    if rejected > 0 {
        client.counts(cx).rejected.add(rejected);
    }
    match step {
        Step::Read if client.readable || client.reads_last() => {
            cx.with_handler(&READ_REQUEST).post_or_shed(read_request);
        }
        Step::Read => client.wait(Waits::Readable, cx),
        Step::Request => cx
            .with_handler(&CHECK_IN_CACHE)
            .post_or_shed(check_in_cache),
        Step::Write => client.post_write(cx),
        Step::ShutdownWrite => cx.with_handler(&CLOSE).post_or_shed(shut_down_write),
        Step::Close => client.post_close(cx),
    }
}

/// CheckInCache: finds the response. A file that is not in memory is opened, and read if it is
/// small, right here: this is the only handler that waits for the disk.
fn check_in_cache(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    let site = &client.shared.site;
    if let Some(status) = client.connection.check_in_cache(site, &client.now) {
        client.counts(cx).answered(status);
    }
    client.post_parse(cx);
}

/// WriteResponse: one write.
fn write_response(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    let socket = client.socket.as_fd();
    let sent = match client.connection.pending_output() {
        Output::Empty => return client.post_parse(cx),
        Output::Bytes(slices) => transfer::send(socket, &slices),
        Output::File {
            file,
            offset,
            length,
        } => {
            // A long file takes many turns, each with a time of its own.
            client.now = now(cx);
            transfer::send_file(socket, file, offset, length)
        }
    };
    match sent {
        // The file is shorter than what was promised: only the end of the stream can tell.
        Ok(0) => client.post_close_broken(cx),
        Ok(count) => {
            client.counts(cx).bytes_sent.add(count as u64);
            client.connection.advance_output(count as u64, &client.now);
            match client.connection.pending_output() {
                Output::Empty => client.post_parse(cx),
                _ => client.post_write(cx),
            }
        }
        Err(Errno::AGAIN) => client.wait(Waits::Writable, cx),
        Err(Errno::INTR) => client.post_write(cx),
        Err(_) => client.post_close_broken(cx),
    }
}

/// Close: the first half, so that the peer can read what was written before.
fn shut_down_write(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    // Fails when the peer is gone, which the next read tells too.
    let _ = rustix::net::shutdown(&client.socket, rustix::net::Shutdown::Write);
    client.post_parse(cx);
}

/// Close.
pub(super) fn close(slot: &mut Slot, _cx: &mut Cx<'_>) {
    let Some(mut client) = slot.take() else {
        return;
    };
    client.cancel_timer();
    // What else is in it goes at the end of the block, the watch before the socket.
    (client.membership.leave)();
}

/// Close: asks for the end of the connection after what is being answered.
pub(super) fn finish(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    client.connection.begin_shutdown();
    if client.waits == Waits::Readable {
        client.now = now(cx);
        // A request that has arrived but has not been read yet is still answered.
        client.waits = Waits::Posted;
        cx.with_handler(&READ_REQUEST).post_or_shed(read_request);
    }
}

/// Timeout: whether the peer has been silent for too long.
fn look_at_deadline(slot: &mut Slot, cx: &mut Cx<'_>) {
    let Some(client) = slot.as_mut() else {
        return;
    };
    client.timer = None;
    let now = now(cx);
    let again = now.monotonic + LOOK_AGAIN;
    if client.waits == Waits::Posted {
        // What is posted already may be what the deadline waits for.
        let deadline = client.connection.deadline().unwrap_or(again);
        return client.set_timer(deadline.max(again), cx);
    }
    client.now = now;
    match client.connection.on_timeout(&now) {
        None => {
            let deadline = client.connection.deadline().unwrap_or(again);
            client.set_timer(deadline, cx);
        }
        Some(step) => {
            client.counts(cx).timeouts.add(1);
            match step {
                Step::Write => client.post_write(cx),
                _ => client.post_close(cx),
            }
        }
    }
}
