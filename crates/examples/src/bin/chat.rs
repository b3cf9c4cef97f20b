//! A chat: the lines of each client are delivered to all others.
//!
//! Each client is in one of a few rooms, and its connection is a task of the room's color: so
//! the room is reached without a lock and without an event. What is said is posted to all
//! rooms, and each leaves it in the queues of its clients, of which it waits for none.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream as Socket;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use mely::{Colored, TaskState};
use mely_async::{OwnedReadHalf, PushError, TcpStream, WhenFull, WriteQueue, timeout};

/// The longest line, without its end.
const LINE_MAX: usize = 4096;
/// A client that leaves more bytes than this unread is closed.
const UNREAD_MAX: usize = 256 * 1024;
/// How long a client that is closed has to read why.
const LINGER: Duration = Duration::from_secs(1);

/// The clients that are there, by number.
type Room = HashMap<usize, WriteQueue>;

/// Tells all but one.
fn tell(room: &mut Room, from: usize, lines: &[u8]) {
    let hears = |queue: &WriteQueue| queue.write(lines) != Err(PushError::Closed);
    room.retain(|id, queue| *id == from || hears(queue));
}

async fn serve(
    mut room: TaskState<Room>,
    id: usize,
    stream: TcpStream,
    rooms: Arc<[Colored<Room>]>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, writer) = stream.into_split();
    let (queue, mut writing) = writer.into_queue(UNREAD_MAX, WhenFull::Close);
    room.with(|room| room.insert(id, queue));
    let end = writing.during(read(id, &mut reader, &rooms)).await;
    let own = room.with(|room| room.remove(&id));
    if let (Some(Err(error)), Some(own)) = (end, own) {
        own.push(format!("{error}\n").as_bytes())?;
        own.close();
        let told = async {
            writing.await?;
            // Closed while it still sends, it would not read that.
            while reader.read(&mut vec![0; LINE_MAX]).await? > 0 {}
            io::Result::Ok(())
        };
        timeout(LINGER, told).await??;
    }
    Ok(())
}

/// Reads lines, and has the others told.
async fn read(
    id: usize,
    reader: &mut OwnedReadHalf<Socket>,
    rooms: &[Colored<Room>],
) -> io::Result<()> {
    let (mut bytes, mut filled) = (vec![0; LINE_MAX + 1], 0);
    while let count @ 1.. = reader.read(&mut bytes[filled..]).await? {
        filled += count;
        let last = bytes[..filled].iter().rposition(|&byte| byte == b'\n');
        if let Some(last) = last {
            let lines: Arc<[u8]> = bytes[..=last].into();
            bytes.copy_within(last + 1..filled, 0);
            filled -= lines.len();
            let told = rooms.iter().map(|room| {
                let lines = Arc::clone(&lines);
                room.call(move |room, _cx| tell(room, id, &lines))
            });
            // Nobody talks faster than that.
            try_join_all(told).await.map_err(io::Error::other)?;
        }
    }
    let too_long = || io::Error::other("this line is too long");
    (filled <= LINE_MAX).then_some(()).ok_or_else(too_long)
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let rooms = (0..2 * rt.workers()).map(|_| rt.colored(Room::new()));
        let rooms: Arc<[_]> = rooms.collect();
        let (all, mut next, mut id) = (Arc::clone(&rooms), 0, 0);
        listener.serve_under(
            rt,
            move |_stream, _peer| {
                next = (next + 1) % rooms.len();
                rooms[next].clone()
            },
            move |room, stream, _peer| {
                id += 1;
                serve(room, id, stream, Arc::clone(&all))
            },
        )
    })
}
