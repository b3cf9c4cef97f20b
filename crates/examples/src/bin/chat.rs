//! A chat: the lines of each client are delivered to all others. Connections read under
//! colors of their own. The clients are shared out among a few more: one event delivers all
//! that was said meanwhile to many of them, with one write for each, and without a lock.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{self, Shutdown};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mely::{Colored, Context, TaskState};
use mely_async::{OwnedReadHalf, OwnedWriteHalf, TcpStream, timeout};

type Reader = OwnedReadHalf<net::TcpStream>;
type Writer = OwnedWriteHalf<net::TcpStream>;

const LINE_MAX: usize = 4096; // without its end
/// A client that leaves more bytes than this unread is closed.
const UNWRITTEN_MAX: usize = 256 * 1024;

struct Client {
    writer: Arc<Writer>,
    /// Unless it is empty, a task waits for room to write it.
    unwritten: Vec<u8>,
}

impl Client {
    /// Writes what there is room for. Whether that leaves something.
    fn write(&mut self) -> bool {
        match self.writer.as_stream().try_write(&self.unwritten) {
            Ok(count) => drop(self.unwritten.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.unwritten.clear(), // the reader fails, too, and leaves
        }
        !self.unwritten.is_empty()
    }
}

/// Some of the clients, and what was said since they were last told.
#[derive(Default)]
struct Room {
    clients: HashMap<usize, Client>,
    said: Vec<(usize, Arc<[u8]>)>,
}

impl Room {
    fn say(&mut self, cx: &mut Context<'_, Self>, from: usize, lines: Arc<[u8]>) {
        if self.said.is_empty() {
            cx.post(Self::deliver); // with what others say before its turn
        }
        self.said.push((from, lines));
    }

    fn deliver(&mut self, cx: &mut Context<'_, Self>) {
        for (&id, client) in &mut self.clients {
            let waits = !client.unwritten.is_empty();
            for (_, lines) in self.said.iter().filter(|(from, _)| *from != id) {
                client.unwritten.extend_from_slice(lines);
            }
            if client.unwritten.len() > UNWRITTEN_MAX {
                client.unwritten.clear();
                let _ = client.writer.as_stream().get_ref().shutdown(Shutdown::Both);
            } else if !waits && client.write() {
                let writer = Arc::clone(&client.writer);
                let _task = cx
                    .colored()
                    .spawn_with(|room| write_later(room, id, writer));
            }
        }
        self.said.clear();
    }
}

async fn write_later(mut room: TaskState<Room>, id: usize, writer: Arc<Writer>) {
    let mut write = || room.with(|room| room.clients.get_mut(&id).is_some_and(Client::write));
    while writer.as_stream().writable().await.is_ok() && write() {}
}

async fn serve(id: usize, stream: TcpStream, rooms: Arc<[Colored<Room>]>) {
    let _ = stream.set_nodelay(true);
    let (mut reader, writer) = stream.into_split();
    let (writer, unwritten) = (Arc::new(writer), Vec::new());
    let room = &rooms[id % rooms.len()];
    room.post(move |room, _| drop(room.clients.insert(id, Client { writer, unwritten })));
    let end = read(id, &mut reader, &rooms).await;
    let left = room.call(move |room, _| room.clients.remove(&id)).await;
    if let (Err(error), Ok(Some(mut client))) = (end, left) {
        client.unwritten.extend(format!("{error}\n").bytes());
        client.write();
        drop(client);
        // Closed while it still sends, the client would not read that.
        let rest = async { while let Ok(1..) = reader.read(&mut vec![0; LINE_MAX]).await {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
    }
}

/// Reads lines, and has the others told.
async fn read(id: usize, reader: &mut Reader, rooms: &[Colored<Room>]) -> io::Result<()> {
    let (mut bytes, mut filled) = (vec![0; LINE_MAX + 1], 0);
    while let count @ 1.. = reader.read(&mut bytes[filled..]).await? {
        filled += count;
        let last = bytes[..filled].iter().rposition(|&byte| byte == b'\n');
        let end = last.map_or(0, |at| at + 1);
        let lines: Arc<[u8]> = bytes[..end].into();
        bytes.copy_within(end..filled, 0);
        filled -= end;
        let heard = rooms.iter().map(|room| {
            let lines = Arc::clone(&lines);
            room.call(move |room, cx| room.say(cx, id, lines))
        });
        for heard in heard.collect::<Vec<_>>() {
            heard.await.map_err(io::Error::other)?; // nobody talks faster than that
        }
    }
    let too_long = || io::Error::other("this line is too long");
    (filled <= LINE_MAX).then_some(()).ok_or_else(too_long)
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let rooms = (0..2 * rt.workers()).map(|_| rt.colored(Room::default()));
        let (rooms, mut id) = (rooms.collect::<Arc<[_]>>(), 0);
        listener.serve(rt, move |stream, _peer| {
            id += 1;
            serve(id, stream, Arc::clone(&rooms))
        })
    })
}
