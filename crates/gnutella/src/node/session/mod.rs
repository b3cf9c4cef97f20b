//! What follows the handshake: messages, until one side ends it.

mod answers;
mod gather;

use super::handlers::ROUTE;
use super::here::Here;
use super::hub::{Seat, Turn};
use super::meet::Met;
use super::outlet::{Line, Outlet, SLACK_BYTES, Whole, frame_of};
use super::setting::fresh_guid;
use super::upload;
use crate::error::Error;
use crate::header::{Header, Kind};
use crate::limits::Limits;
use crate::link::Link;
use crate::message::{Bye, Message, SupportedMessage, VendorMessage};
use crate::qrp::TableReceiver;
use gather::gather;
use mely::TaskState;
use mely_async::{OwnedReadHalf, TcpStream, WhenFull, timeout};
use std::net::{self, SocketAddr};
use std::sync::Arc;

/// How much is read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Why a connection ends.
enum End {
    /// The peer has closed it, said bye, or is gone.
    Peer,
    /// The peer has broken the protocol.
    Broken(Error),
    /// Nothing has come for too long.
    Idle,
    /// The node ends.
    Stopped,
}

/// One end of a conversation.
struct Session {
    here: Here,
    seat: Seat,
    line: TaskState<Line>,
    /// Of this side, as this connection has it.
    local: Option<SocketAddr>,
}

/// Exchanges messages with a peer until one side ends it.
pub(super) async fn converse(
    here: Here,
    seat: Seat,
    mut line: TaskState<Line>,
    stream: TcpStream,
    met: Met,
) {
    let setting = Arc::clone(&here.setting);
    let limits = &setting.options.node;
    let local = stream.local_addr().ok();
    let link = Link::new(&met.agreement, &setting.options.protocol);
    let (mut reader, writer) = stream.into_split();
    let room = setting.queue_bytes() + SLACK_BYTES;
    let (queue, writing) = writer.into_queue(room, WhenFull::Close);
    let mut writing = writing.linger(limits.bye_time);
    let outlet = Outlet {
        link,
        queue: queue.clone(),
        table: TableReceiver::new(),
        setting: Arc::clone(&setting),
    };
    line.with(|line| *line = Some(outlet));
    let mut session = Session {
        here,
        seat,
        line,
        local,
    };
    let talk = session.talk(&mut reader, &met);
    let end = writing.during(talk).await;
    session.part(end);
    queue.close();
    drop(queue);
    session.line.with(|line| *line = None);
    // The peer reads why: closed while it still sends, it would not.
    let told = async {
        let _ = writing.await;
        while let Ok(1..) = reader.read(&mut vec![0; READ_BYTES]).await {}
    };
    let _ = timeout(limits.bye_time, told).await;
}

impl Session {
    /// Joins, and reads until there is a reason to end.
    async fn talk(&mut self, reader: &mut OwnedReadHalf<net::TcpStream>, met: &Met) -> End {
        let here = self.here.clone();
        let talk = async {
            let (peer, agreement) = (self.seat.peer, met.agreement.clone());
            let ours = here.setting.address(self.local);
            let joined = here
                .hub
                .call(move |hub, _| hub.join(peer, &agreement, ours));
            match joined.await {
                Ok(true) => {}
                Ok(false) => return End::Peer,
                Err(_) => return End::Stopped,
            }
            self.introduce(met);
            self.read(reader, &met.rest).await
        };
        here.unless_stopped(talk).await.unwrap_or(End::Stopped)
    }

    /// What comes first: which messages of vendors are understood.
    fn introduce(&mut self, met: &Met) {
        if met.agreement.peer.vendor_messages.is_none() {
            return;
        }
        let known = [SupportedMessage {
            vendor: *b"BEAR",
            selector: 4,
            version: 1,
        }];
        let payload = VendorMessage::supported_payload(&known);
        self.send_own(&Message::Vendor(VendorMessage::supported(&payload)));
    }

    /// Sends a message to this neighbour alone.
    fn send_own(&mut self, message: &Message<'_>) {
        let Ok(guid) = fresh_guid() else { return };
        let mut bytes = Vec::new();
        message.write(guid, 1, 0, &mut bytes);
        self.send(&[bytes.into()]);
    }

    fn send(&mut self, messages: &[Whole]) {
        self.line.with(|line| {
            if let Some(outlet) = line {
                outlet.send(messages);
            }
        });
    }

    async fn read(&mut self, reader: &mut OwnedReadHalf<net::TcpStream>, rest: &[u8]) -> End {
        if let Some(end) = self.take(rest).await {
            return end;
        }
        let idle_time = self.here.setting.options.node.idle_time;
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let count = match timeout(idle_time, reader.read(&mut bytes)).await {
                Ok(Ok(count @ 1..)) => count,
                Ok(_) => return End::Peer,
                Err(_) => return End::Idle,
            };
            if let Some(end) = self.take(&bytes[..count]).await {
                return end;
            }
        }
    }

    /// Takes bytes of the peer; why the connection ends, if it does.
    async fn take(&mut self, mut input: &[u8]) -> Option<End> {
        loop {
            let peer = self.seat.peer;
            let gathered = self.line.with(|line| gather(line, &mut input));
            if let Some(table) = gathered.table {
                let set = self.here.hub.call(move |hub, _| hub.set_table(peer, table));
                set.await.ok();
            }
            if !gathered.bytes.is_empty() {
                let bytes = gathered.bytes;
                // The next bytes are read when these have been routed: that is what bounds them.
                let hub = self.here.hub.with_handler(&ROUTE);
                let turn = hub.call(move |hub, cx| hub.turn(peer, bytes, cx));
                match turn.await {
                    Ok(turn) => self.answer(turn),
                    Err(_) => return Some(End::Stopped),
                }
            }
            match gathered.end {
                None => return None,
                Some(gather::Stop::Full) => {}
                Some(gather::Stop::Bye) => return Some(End::Peer),
                Some(gather::Stop::Broken(error)) => return Some(End::Broken(error)),
            }
        }
    }

    /// Answers what is for this node.
    fn answer(&mut self, turn: Turn) {
        let mut messages = turn.answers;
        let limits = &self.here.setting.options.protocol;
        for range in turn.ours {
            let Some(frame) = frame_of(&turn.bytes[range]) else {
                continue;
            };
            match Message::parse(&frame, limits) {
                Ok(Message::Query(query)) => messages.extend(self.hits(frame.header, &query)),
                Ok(Message::Ping(ping)) => {
                    messages.extend(self.pong(frame.header, &ping, &turn.packed_hosts));
                }
                Ok(Message::Push(push)) => self.push(push.index, push.address),
                _ => {}
            }
        }
        if !messages.is_empty() {
            self.send(&messages);
        }
    }

    /// Connects to whom a push comes from, and waits for nothing.
    fn push(&self, index: u32, address: net::SocketAddrV4) {
        let here = self.here.clone();
        let task = async move {
            let _ = here
                .unless_stopped(upload::push(&here, index, address))
                .await;
        };
        self.here.group.spawn(task).detach();
    }

    /// Tells the peer why, and counts it.
    fn part(&mut self, end: Option<End>) {
        let counts = &self.here.setting.counts;
        let (code, reason) = match end {
            // The peer does not read, or is gone.
            None | Some(End::Peer) => return,
            Some(End::Stopped) => (Bye::SHUTDOWN, "The servent shuts down".to_owned()),
            Some(End::Idle) => (Bye::BAD_MESSAGE, "Nothing has come for too long".to_owned()),
            Some(End::Broken(error)) => {
                counts.broken_protocol.add(1);
                let is_long = matches!(error, Error::PayloadTooLong { .. });
                let code = if is_long {
                    Bye::TOO_LONG
                } else {
                    Bye::BAD_MESSAGE
                };
                (code, error.to_string())
            }
        };
        let reason = reason.as_bytes();
        self.send_own(&Message::Bye(Bye { code, reason }));
    }
}

/// The header of an answer to a message, which goes as far as that has come, and a little.
fn back(asked: Header, kind: Kind, limits: &Limits) -> Header {
    Header {
        guid: asked.guid,
        kind,
        ttl: asked.hops.saturating_add(2).clamp(1, limits.max_ttl.max(1)),
        hops: 0,
        length: 0,
    }
}
