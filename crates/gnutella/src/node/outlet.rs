//! The state of a connection's color: what was received in part, and where messages are left.

use super::setting::Setting;
use crate::decoder::Frame;
use crate::header::Header;
use crate::link::Link;
use crate::qrp::TableReceiver;
use mely_async::{WhenFull, WriteQueue};
use std::sync::Arc;

/// What compression may add to messages that it cannot make shorter.
pub(super) const SLACK_BYTES: usize = 4 * 1024;

/// A whole message, header first, that several peers may be sent.
pub(super) type Whole = Arc<[u8]>;

/// The state of a connection's color; nothing before its handshake is over.
pub(super) type Line = Option<Outlet>;

/// A connection after its handshake.
pub(super) struct Outlet {
    pub(super) link: Link,
    pub(super) queue: WriteQueue,
    pub(super) table: TableReceiver,
    pub(super) setting: Arc<Setting>,
}

impl Outlet {
    /// Sends messages, as far as there is room for them, and has them written.
    pub(super) fn send(&mut self, messages: &[Whole]) {
        let (mut out, room) = (Vec::new(), self.setting.queue_bytes());
        let counts = &self.setting.counts;
        for message in messages {
            let waiting = self.queue.unwritten() + out.len();
            if waiting + message.len() > room {
                if self.setting.options.node.when_full == WhenFull::Close {
                    self.close_clogged();
                    return;
                }
                counts.shed.add(1);
                continue;
            }
            if let Some(frame) = frame_of(message) {
                self.link.send_frame(&frame, &mut out);
                counts.sent(frame.header.kind);
            }
        }
        self.link.flush(&mut out);
        // What was compressed cannot be left out any more: the queue has room for all of it, unless
        // it is closed.
        let _ = self.queue.push(&out);
    }

    /// Ends a connection whose peer does not read.
    pub(super) fn close_clogged(&self) {
        if !self.queue.is_closed() {
            self.setting.counts.clogged.add(1);
            self.queue.abort();
        }
    }
}

/// A message of bytes that begin with its header, and end with it.
pub(super) fn frame_of(bytes: &[u8]) -> Option<Frame<'_>> {
    let header = Header::read(bytes).ok()?;
    let payload = bytes.get(Header::BYTES..)?;
    Some(Frame { header, payload })
}

/// A message with another header, to be sent.
pub(super) fn whole(header: Header, payload: &[u8]) -> Whole {
    let header = Header {
        length: payload.len() as u32,
        ..header
    };
    [&header.bytes(), payload].concat().into()
}
