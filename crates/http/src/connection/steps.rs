//! How a connection goes from one state to the next.

use super::{Connection, State, Step};
use crate::body::{BodyDecoder, BodyProgress};
use crate::date::Now;
use crate::parser::{HttpError, Parsed, RequestParser};
use crate::request::{Framing, Method, RequestHead};
use crate::response::{Answer, Ending, Persistence};
use crate::site::Lookup;
use crate::status::Status;

impl Connection {
    pub(super) fn parse_head(&mut self, now: &Now) -> Option<Step> {
        let limits = self.protocol.limits();
        if self.output.pending_bytes() >= limits.max_output_bytes as u64 || self.output.holds_file()
        {
            return Some(Step::Write);
        }
        match self
            .parser
            .parse(&self.buffer[self.start..self.filled], limits)
        {
            Ok(Parsed::Incomplete) => Some(self.wait_for_more()),
            Ok(Parsed::Request { consumed, head }) => {
                self.parser = RequestParser::new();
                self.begin_body(head, consumed, now);
                None
            }
            Err(error) => {
                self.fail(error, now);
                None
            }
        }
    }

    pub(super) fn begin_body(&mut self, head: RequestHead, head_bytes: usize, now: &Now) {
        let omit_body = head.method == Method::Head;
        if head.framing() == Framing::Empty {
            return self.accept(head, head_bytes, now);
        }
        // The peer has not sent its body yet, and never will after such an answer.
        if let Some(status) = head.refusal.filter(|_| head.expects_continue()) {
            return self.fail(HttpError { status, omit_body }, now);
        }
        match BodyDecoder::new(head.framing(), self.protocol.limits()) {
            Err(status) => self.fail(HttpError { status, omit_body }, now),
            Ok(body) => {
                if head.expects_continue() {
                    self.note_output(now);
                    self.output
                        .write(|out| out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n"));
                }
                self.waits_since = now.monotonic;
                self.state = State::Body {
                    head,
                    head_bytes,
                    body,
                };
            }
        }
    }

    pub(super) fn parse_body(&mut self, now: &Now) -> Option<Step> {
        let State::Body {
            head,
            head_bytes,
            body,
        } = &mut self.state
        else {
            return None;
        };
        let at = self.start + *head_bytes;
        let discarded = body.discard(&self.buffer[at..self.filled], self.protocol.limits());
        let omit_body = head.method == Method::Head;
        let (used, progress) = match discarded {
            Ok(done) => done,
            Err(status) => {
                self.fail(HttpError { status, omit_body }, now);
                return None;
            }
        };
        // The head stays, since the answer still reads it; the body makes room for what follows.
        self.buffer.copy_within(at + used..self.filled, at);
        self.filled -= used;
        if progress == BodyProgress::More {
            return Some(self.wait_for_more());
        }
        if let State::Body {
            head, head_bytes, ..
        } = std::mem::replace(&mut self.state, State::Head)
        {
            self.accept(head, head_bytes, now);
        }
        None
    }

    /// A request is there with its body: refuses it, or lets it wait for its answer.
    pub(super) fn accept(&mut self, head: RequestHead, head_bytes: usize, now: &Now) {
        match head.refusal {
            Some(status) => {
                self.answer(&head, head_bytes, &Lookup::Refused(status), now);
            }
            None => self.state = State::Ready { head, head_bytes },
        }
    }

    pub(super) fn answer(
        &mut self,
        head: &RequestHead,
        head_bytes: usize,
        lookup: &Lookup,
        now: &Now,
    ) -> Status {
        self.note_output(now);
        self.requests += 1;
        let limit = self.protocol.limits().max_requests_per_connection;
        let stays = head.keep_alive
            && !self.shutting_down
            && limit.is_none_or(|limit| self.requests < limit);
        let ending = Ending {
            omit_body: head.method == Method::Head,
            persistence: Persistence::of(head.version, stays),
        };
        let answer = Answer {
            protocol: &self.protocol,
            request: head.view(&self.buffer[self.start..self.filled]),
            ending,
            now,
            output: &mut self.output,
        };
        let status = answer.with(lookup);
        self.start += head_bytes;
        self.waits_since = now.monotonic;
        // Bytes after the last request would turn the close into a reset.
        let lingers = self.start != self.filled;
        self.state = if stays {
            State::Head
        } else {
            State::Closing { lingers }
        };
        status
    }

    /// Answers with an error after which the input cannot be understood.
    pub(super) fn fail(&mut self, error: HttpError, now: &Now) {
        self.note_output(now);
        let ending = Ending {
            omit_body: error.omit_body,
            persistence: Persistence::Close,
        };
        let protocol = &self.protocol;
        self.output
            .write(|out| protocol.write_page(out, error.status, ending, now));
        self.state = State::Closing { lingers: true };
    }

    pub(super) fn note_output(&mut self, now: &Now) {
        if self.output.is_empty() {
            self.wrote_at = now.monotonic;
        }
    }

    pub(super) fn wait_for_more(&mut self) -> Step {
        let idle = matches!(self.state, State::Head) && self.start == self.filled;
        self.release_idle_memory();
        if !self.output.is_empty() {
            Step::Write
        } else if self.end_of_input || (self.shutting_down && idle && self.is_dry) {
            self.state = State::Closed;
            Step::Close
        } else {
            Step::Read
        }
    }

    pub(super) fn close(&mut self, now: &Now) -> Step {
        let limit = self.protocol.limits().linger_bytes;
        match self.state {
            State::Closing { .. } if !self.output.is_empty() => Step::Write,
            State::Closing { lingers: true } if !self.end_of_input => {
                self.start = 0;
                self.filled = 0;
                self.waits_since = now.monotonic;
                self.state = State::Draining { drained_bytes: 0 };
                Step::ShutdownWrite
            }
            State::Draining { drained_bytes } if !self.end_of_input && drained_bytes < limit => {
                Step::Read
            }
            _ => {
                self.state = State::Closed;
                Step::Close
            }
        }
    }
}
