//! One connection as a state machine: bytes in, bytes and deadlines out.

use crate::body::{BodyDecoder, LINE_BYTES};
use crate::buffers::{self, INPUT_BYTES};
use crate::date::Now;
use crate::output::{Output, OutputQueue};
use crate::parser::{HttpError, RequestParser};
use crate::request::{Request, RequestHead};
use crate::response::Protocol;
use crate::site::{Lookup, Site};
use crate::status::Status;
use std::sync::Arc;
use std::time::Instant;

mod steps;
mod timeouts;

/// Room beyond the largest head, in bytes, so that a full buffer always lets the parser decide.
const BUFFER_EXTRA: usize = 2 * LINE_BYTES;

/// What the owner of the socket does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Read into [`Connection::read_buffer`], then [`Connection::advance`].
    Read,
    /// Answer [`Connection::request`] with [`Connection::check_in_cache`] or
    /// [`Connection::respond`].
    Request,
    /// Write [`Connection::pending_output`], then [`Connection::advance_output`].
    Write,
    /// Shut down the writing half of the socket, so that the peer reads the response rather than a
    /// reset; what the peer still sends is then read and thrown away for a while.
    ShutdownWrite,
    /// Close the socket.
    Close,
}

#[derive(Debug)]
enum State {
    Head,
    Body {
        head: RequestHead,
        head_bytes: usize,
        body: BodyDecoder,
    },
    Ready {
        head: RequestHead,
        head_bytes: usize,
    },
    Closing {
        lingers: bool,
    },
    Draining {
        drained_bytes: u64,
    },
    Closed,
}

/// The protocol side of one connection. It does no input or output and reads no clock.
///
/// Ask [`parse`](Self::parse) what to do, do it, report it, ask again. See the crate's page for
/// an example and for the handlers of the paper (section V.C) that the calls belong to.
#[derive(Debug)]
pub struct Connection {
    protocol: Arc<Protocol>,
    buffer: Vec<u8>,
    /// Where the current request begins in `buffer`.
    start: usize,
    /// Where the bytes read so far end in `buffer`.
    filled: usize,
    parser: RequestParser,
    state: State,
    output: OutputQueue,
    end_of_input: bool,
    shutting_down: bool,
    /// Nothing has come since a read that brought nothing.
    is_dry: bool,
    requests: u64,
    /// When `state` last began to wait for the peer.
    waits_since: Instant,
    /// When the peer last took output, or was first given some.
    wrote_at: Instant,
}

impl Connection {
    /// A connection that was just accepted.
    pub fn new(protocol: Arc<Protocol>, now: &Now) -> Self {
        Self {
            protocol,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            parser: RequestParser::new(),
            state: State::Head,
            output: OutputQueue::default(),
            end_of_input: false,
            shutting_down: false,
            is_dry: true,
            requests: 0,
            waits_since: now.monotonic,
            wrote_at: now.monotonic,
        }
    }

    /// A connection that is turned away with the page of `status`, such as 503 past
    /// [`Limits::max_clients`](crate::Limits::max_clients). Nothing it sends is parsed.
    pub fn refused(protocol: Arc<Protocol>, status: Status, now: &Now) -> Self {
        let mut connection = Self::new(protocol, now);
        connection.fail(
            HttpError {
                status,
                omit_body: false,
            },
            now,
        );
        connection
    }

    /// Where to read to, never empty after [`Step::Read`]. At other times it may be empty, and a
    /// read into it must not be taken for the end of input.
    pub fn read_buffer(&mut self) -> &mut [u8] {
        if self.start == self.filled {
            self.start = 0;
            self.filled = 0;
        } else if self.start > 0 && self.filled == self.buffer.len() {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            let largest = self
                .protocol
                .limits()
                .max_head_bytes
                .saturating_add(BUFFER_EXTRA);
            if self.buffer.is_empty() && INPUT_BYTES <= largest {
                self.buffer = buffers::take_input();
            } else {
                let size = (self.filled * 2).clamp(INPUT_BYTES.min(largest), largest);
                self.buffer.resize(size.max(self.filled), 0);
            }
        }
        &mut self.buffer[self.filled..]
    }

    /// Takes `count` bytes that were read into [`read_buffer`](Self::read_buffer); 0 is the end of
    /// input.
    ///
    /// # Panics
    /// When `count` is more than the buffer had room for.
    pub fn advance(&mut self, count: usize, now: &Now) {
        assert!(
            count <= self.buffer.len() - self.filled,
            "more bytes than the read buffer has"
        );
        self.is_dry = false;
        if let State::Draining { drained_bytes } = &mut self.state {
            *drained_bytes += count as u64;
        } else {
            if self.start == self.filled && matches!(self.state, State::Head) {
                self.waits_since = now.monotonic;
            }
            self.filled += count;
        }
        self.end_of_input |= count == 0;
    }

    /// Parses as far as it can, and says what to do next.
    ///
    /// Requests that can be refused from their head alone are answered here. Pipelined requests
    /// are parsed before anything is written, until
    /// [`max_output_bytes`](crate::Limits::max_output_bytes) wait for the peer.
    pub fn parse(&mut self, now: &Now) -> Step {
        loop {
            let step = match &self.state {
                State::Ready { .. } => Some(Step::Request),
                State::Head => self.parse_head(now),
                State::Body { .. } => self.parse_body(now),
                State::Closing { .. } | State::Draining { .. } | State::Closed => {
                    Some(self.close(now))
                }
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// The request that waits for an answer after [`Step::Request`].
    pub fn request(&self) -> Option<Request<'_>> {
        match &self.state {
            State::Ready { head, .. } => Some(head.view(&self.buffer[self.start..self.filled])),
            _ => None,
        }
    }

    /// Looks the request up in `site` and answers it: [`Site::lookup`] and
    /// [`respond`](Self::respond) in one. `None` when no request waits.
    pub fn check_in_cache(&mut self, site: &Site, now: &Now) -> Option<Status> {
        let request = self.request()?;
        if request.is_asterisk() {
            return self.respond(Lookup::Page(Vec::new()), now);
        }
        match site.known(request.path(), now) {
            Some(known) => self.respond_with(known.lookup(), now),
            None => self.respond(site.lookup(request.path(), now), now),
        }
    }

    /// Answers the request that waits, and returns the status of the answer; `None` when no
    /// request waits.
    pub fn respond(&mut self, lookup: Lookup, now: &Now) -> Option<Status> {
        self.respond_with(&lookup, now)
    }

    fn respond_with(&mut self, lookup: &Lookup, now: &Now) -> Option<Status> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Ready { head, head_bytes } => Some(self.answer(&head, head_bytes, lookup, now)),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// What to write next.
    pub fn pending_output(&self) -> Output<'_> {
        self.output.next()
    }

    /// Takes `count` bytes off the output, which were written.
    pub fn advance_output(&mut self, count: u64, now: &Now) {
        self.output.advance(count);
        if count > 0 {
            self.wrote_at = now.monotonic;
            if self.output.is_empty() {
                self.waits_since = now.monotonic;
            }
        }
    }

    /// Whether the connection stays open after what is queued.
    pub fn keep_alive(&self) -> bool {
        matches!(
            self.state,
            State::Head | State::Body { .. } | State::Ready { .. }
        ) && !self.shutting_down
    }

    /// Requests answered so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Closes after the request that is being read or answered, or as soon as there is none:
    /// one that has arrived is answered, so after bytes were read [`parse`](Self::parse) asks
    /// for a read until [one brings nothing](Self::read_nothing). Call `parse` afterwards.
    pub fn begin_shutdown(&mut self) {
        self.shutting_down = true;
    }

    /// Whether the last read brought nothing.
    pub fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Takes note of a read that brought nothing: the socket is empty for now.
    pub fn read_nothing(&mut self) {
        self.is_dry = true;
        self.release_idle_memory();
    }

    /// Lets other connections of this thread use the buffer if nothing is in it.
    fn release_idle_memory(&mut self) {
        if self.start == self.filled && !matches!(self.state, State::Body { .. }) {
            (self.start, self.filled) = (0, 0);
            buffers::give_input(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests;
