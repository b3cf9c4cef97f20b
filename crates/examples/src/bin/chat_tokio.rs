//! The chat of `chat.rs` on Tokio's runtime of many threads, to compare: the same protocol
//! and the same limits.
//!
//! `cargo run --release -p mely-examples --bin chat-tokio -- 127.0.0.1:7000`
//!
//! Each client has a task that reads and a task that writes. What is said is pushed to the
//! queue of each other client, which is bounded in bytes; the writer takes all that waits
//! there and writes it at once.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// Without its end.
const LINE_MAX: usize = 4096;
/// A client that leaves more bytes than this unread is closed.
const UNWRITTEN_MAX: usize = 256 * 1024;
/// How many messages a writer takes from its queue at once.
const BATCH: usize = 64;

/// How to reach a client.
struct Client {
    queue: mpsc::UnboundedSender<Arc<[u8]>>,
    unwritten: Arc<AtomicUsize>,
    closed: Arc<Notify>,
}

type Room = RwLock<HashMap<usize, Client>>;

fn say(room: &Room, from: usize, lines: &Arc<[u8]>) {
    let clients = room.read().unwrap_or_else(PoisonError::into_inner);
    for (_, client) in clients.iter().filter(|(id, _)| **id != from) {
        let before = client.unwritten.fetch_add(lines.len(), Relaxed);
        if before + lines.len() > UNWRITTEN_MAX {
            client.closed.notify_one();
        } else {
            // It fails where the client is about to leave.
            let _ = client.queue.send(Arc::clone(lines));
        }
    }
}

fn change<R>(room: &Room, change: impl FnOnce(&mut HashMap<usize, Client>) -> R) -> R {
    change(&mut room.write().unwrap_or_else(PoisonError::into_inner))
}

async fn serve(id: usize, stream: TcpStream, room: Arc<Room>) {
    let (mut reader, writer) = stream.into_split();
    let (queue, queued) = mpsc::unbounded_channel();
    let (unwritten, closed) = (Arc::default(), Arc::new(Notify::new()));
    let client = Client {
        queue,
        unwritten: Arc::clone(&unwritten),
        closed: Arc::clone(&closed),
    };
    change(&room, |clients| clients.insert(id, client));
    let mut writing = tokio::spawn(write(writer, queued, unwritten));
    let read = tokio::select! {
        read = read(id, &mut reader, &room) => read,
        () = closed.notified() => Ok(()),
        _ = &mut writing => Ok(()),
    };
    let left = change(&room, |clients| clients.remove(&id));
    match (read, left) {
        (Err(error), Some(client)) => {
            let _ = client.queue.send(format!("{error}\n").into_bytes().into());
            drop(client);
            // To close while it still sends would take back what it was told.
            let rest = async { while let Ok(1..) = reader.read(&mut vec![0; LINE_MAX]).await {} };
            let _ = timeout(Duration::from_secs(1), rest).await;
        }
        _ => writing.abort(),
    }
}

/// Reads lines, and has the others told.
async fn read(id: usize, reader: &mut OwnedReadHalf, room: &Room) -> io::Result<()> {
    let (mut bytes, mut filled) = (vec![0; LINE_MAX + 1], 0);
    while let count @ 1.. = reader.read(&mut bytes[filled..]).await? {
        filled += count;
        let last = bytes[..filled].iter().rposition(|&byte| byte == b'\n');
        let end = last.map_or(0, |at| at + 1);
        if end > 0 {
            say(room, id, &bytes[..end].into());
            bytes.copy_within(end..filled, 0);
            filled -= end;
        }
    }
    let too_long = || io::Error::other("this line is too long");
    (filled <= LINE_MAX).then_some(()).ok_or_else(too_long)
}

/// Writes what is queued, as much as there is at once, until the queue ends.
async fn write(
    mut writer: OwnedWriteHalf,
    mut queued: mpsc::UnboundedReceiver<Arc<[u8]>>,
    unwritten: Arc<AtomicUsize>,
) {
    let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), Vec::new());
    while queued.recv_many(&mut batch, BATCH).await > 0 {
        let written = match &batch[..] {
            [lines] => writer.write_all(lines).await,
            many => {
                bytes.clear();
                many.iter().for_each(|lines| bytes.extend_from_slice(lines));
                writer.write_all(&bytes).await
            }
        };
        if written.is_err() {
            return;
        }
        let count = batch.drain(..).map(|lines| lines.len()).sum();
        unwritten.fetch_sub(count, Relaxed);
    }
}

async fn run(listener: TcpListener) -> io::Result<()> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    println!("listening on {}", listener.local_addr()?);
    let room = Arc::new(Room::default());
    let accept = async {
        for id in 0.. {
            let (stream, _peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(id, stream, Arc::clone(&room)));
        }
        Ok(())
    };
    tokio::select! {
        ended = accept => ended,
        _ = interrupted.recv() => Ok(()),
        _ = terminated.recv() => Ok(()),
    }
}

#[tokio::main]
async fn main() -> io::Result<ExitCode> {
    let address = std::env::args().nth(1).unwrap_or_default();
    match TcpListener::bind(&address).await {
        Ok(listener) => run(listener).await.map(|()| ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("usage: chat-tokio ADDR, such as 127.0.0.1:7000 ({address:?}: {error})");
            Ok(ExitCode::from(2))
        }
    }
}
