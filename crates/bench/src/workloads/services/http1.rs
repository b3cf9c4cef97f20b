//! HTTP/1: a request when the one before has been answered.

use std::time::Instant;

use super::response::{Refused, Response};
use super::{Dialogue, Waits};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

pub(super) struct Http1 {
    sent: Instant,
    response: Response,
}

impl Dialogue for Http1 {
    fn begin(now: Instant, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(REQUEST);
        Self {
            sent: now,
            response: Response::default(),
        }
    }

    fn take(
        &mut self,
        bytes: &[u8],
        now: Instant,
        waits: &mut Waits,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        if self.response.take(bytes)? {
            waits.answered(self.sent, now);
            self.sent = now;
            out.extend_from_slice(REQUEST);
        }
        Ok(())
    }
}
