//! How long a connection waits for its peer, and what it does then.

use super::{Connection, State, Step};
use crate::date::Now;
use crate::parser::HttpError;
use crate::status::Status;
use std::time::Instant;

impl Connection {
    /// When [`on_timeout`](Self::on_timeout) is due if nothing happens before; `None` while
    /// nothing is expected of the peer. Changes with every other call.
    pub fn deadline(&self) -> Option<Instant> {
        let limits = self.protocol.limits();
        let (since, timeout) = match &self.state {
            State::Closed => return None,
            State::Draining { .. } => (self.waits_since, limits.linger_timeout),
            _ if !self.output.is_empty() => (self.wrote_at, limits.write_timeout),
            State::Head if self.start == self.filled => (self.waits_since, limits.idle_timeout),
            State::Head | State::Body { .. } => (self.waits_since, limits.header_timeout),
            State::Ready { .. } | State::Closing { .. } => return None,
        };
        // Beyond what the clock can say is as good as never.
        since.checked_add(timeout)
    }

    /// Acts on a deadline: queues a 408 for a request that came too slowly, gives up otherwise.
    /// `None` when the deadline is not reached: ask for it again.
    pub fn on_timeout(&mut self, now: &Now) -> Option<Step> {
        if self.deadline()? > now.monotonic {
            return None;
        }
        let reads_request = match self.state {
            State::Head => self.start != self.filled,
            State::Body { .. } => true,
            _ => false,
        };
        if reads_request && self.output.is_empty() {
            self.fail(
                HttpError {
                    status: Status::RequestTimeout,
                    omit_body: false,
                },
                now,
            );
            return Some(Step::Write);
        }
        self.state = State::Closed;
        Some(Step::Close)
    }
}
