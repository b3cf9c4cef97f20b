//! A chat: the lines of each client are delivered to all others.
//!
//! The room is the state of one color, and nobody locks it. Each connection is a color of its
//! own: it reads, and writes what the room has left in its queue. The room waits for nobody.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream as Socket;
use std::process::ExitCode;
use std::time::Duration;

use mely::Colored;
use mely_async::{OwnedReadHalf, TcpStream, WhenFull, WriteQueue, timeout};

/// The longest line, without its end.
const LINE_MAX: usize = 4096;
/// A client that leaves more bytes than this unread is closed.
const UNREAD_MAX: usize = 256 * 1024;
/// How long a client that is closed has to read why.
const LINGER: Duration = Duration::from_secs(1);

/// The clients, by number.
type Room = HashMap<usize, WriteQueue>;

fn say(room: &Room, from: usize, lines: &[u8]) {
    for (_, queue) in room.iter().filter(|(id, _)| **id != from) {
        // Whoever is closed by this, or was before, leaves by itself.
        let _ = queue.push(lines);
    }
}

async fn serve(id: usize, stream: TcpStream, room: Colored<Room>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, writer) = stream.into_split();
    let (queue, mut writing) = writer.into_queue(UNREAD_MAX, WhenFull::Close);
    let own = queue.clone();
    let joined = room.call(move |room, _cx| drop(room.insert(id, queue)));
    joined.await.map_err(io::Error::other)?;
    let end = writing.during(read(id, &mut reader, &room)).await;
    room.post_or_shed(move |room, _cx| drop(room.remove(&id)));
    if let Some(Err(error)) = end {
        own.push(format!("{error}\n").as_bytes())?;
        own.close();
        let told = async {
            writing.await?;
            // Closed while it still sends, it would not read that.
            while reader.read(&mut [0; LINE_MAX]).await? > 0 {}
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
    room: &Colored<Room>,
) -> io::Result<()> {
    let (mut bytes, mut filled) = (vec![0; LINE_MAX + 1], 0);
    while let count @ 1.. = reader.read(&mut bytes[filled..]).await? {
        filled += count;
        let last = bytes[..filled].iter().rposition(|&byte| byte == b'\n');
        if let Some(last) = last {
            let lines = bytes[..=last].to_vec();
            bytes.copy_within(last + 1..filled, 0);
            filled -= lines.len();
            let said = room.call(move |room, _cx| say(room, id, &lines));
            said.await.map_err(io::Error::other)?; // nobody talks faster than that
        }
    }
    let too_long = || io::Error::other("this line is too long");
    (filled <= LINE_MAX).then_some(()).ok_or_else(too_long)
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let (room, mut id) = (rt.colored(Room::new()), 0);
        listener.serve(rt, move |stream, _peer| {
            id += 1;
            serve(id, stream, room.clone())
        })
    })
}
