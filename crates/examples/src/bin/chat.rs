//! A chat: the lines that a client sends are delivered to all others.
//!
//! `cargo run --release -p mely-examples --bin chat -- 127.0.0.1:7000`
//!
//! Each connection reads under a color of its own. The clients are shared out among a few
//! other colors, one a worker, where one event delivers whatever was said meanwhile to many
//! clients, with one write for each; and no lock anywhere.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mely::signal::{SIGINT, SIGTERM, Signals};
use mely::{Colored, Context, Runtime, TaskState};
use mely_async::{TcpListener, TcpStream, timeout};

const LINE_MAX: usize = 4096;
/// A client that leaves more bytes than this unread is closed.
const UNWRITTEN_MAX: usize = 256 * 1024;

struct Client {
    stream: Arc<TcpStream>,
    /// Not empty: a task writes it as soon as there is room.
    unwritten: Vec<u8>,
}

impl Client {
    /// Writes what there is room for. Whether that leaves something.
    fn write(&mut self) -> bool {
        match self.stream.try_write(&self.unwritten) {
            Ok(count) => drop(self.unwritten.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.close(),
        }
        !self.unwritten.is_empty()
    }

    /// Ends the stream, and so its reader, which then leaves.
    fn close(&mut self) {
        self.unwritten.clear();
        let _ = self.stream.get_ref().shutdown(Shutdown::Both);
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
            cx.post(Self::deliver); // together with what others say before its turn
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
                client.close();
            } else if !waits && client.write() {
                let stream = Arc::clone(&client.stream);
                drop(
                    cx.colored()
                        .spawn_with(|room| write_later(room, id, stream)),
                );
            }
        }
        self.said.clear();
    }
}

async fn write_later(mut room: TaskState<Room>, id: usize, stream: Arc<TcpStream>) {
    while stream.writable().await.is_ok()
        && room.with(|room| room.clients.get_mut(&id).is_some_and(Client::write))
    {}
}

async fn serve(id: usize, stream: TcpStream, rooms: Arc<[Colored<Room>]>) {
    let stream = Arc::new(stream);
    let client = Client {
        stream: Arc::clone(&stream),
        unwritten: Vec::new(),
    };
    let room = &rooms[id % rooms.len()];
    room.post(move |room, _| drop(room.clients.insert(id, client)));
    let read = read(id, &stream, &rooms).await;
    let left = room.call(move |room, _| room.clients.remove(&id)).await;
    if let (Err(error), Ok(Some(mut client))) = (read, left) {
        client.unwritten.extend(format!("{error}\n").bytes());
        client.write();
        let _ = stream.get_ref().shutdown(Shutdown::Write);
        // To close while it still sends would take back what it was told.
        let _ = timeout(Duration::from_secs(1), async {
            while let Ok(1..) = poll_fn(|cx| stream.poll_read(cx, &mut [0; LINE_MAX])).await {}
        })
        .await;
    }
}

/// Reads lines, and has the others told.
async fn read(id: usize, stream: &TcpStream, rooms: &[Colored<Room>]) -> io::Result<()> {
    let (mut bytes, mut filled) = (vec![0; LINE_MAX], 0);
    stream.set_nodelay(true)?;
    loop {
        match poll_fn(|cx| stream.poll_read(cx, &mut bytes[filled..])).await? {
            0 if filled == LINE_MAX => return Err(io::Error::other("this line is too long")),
            0 => return Ok(()),
            count => filled += count,
        }
        let last = bytes[..filled].iter().rposition(|&byte| byte == b'\n');
        let end = last.map_or(0, |at| at + 1);
        let lines: Arc<[u8]> = bytes[..end].into();
        bytes.copy_within(end..filled, 0);
        filled -= end;
        let say = |room: &Colored<Room>| {
            let lines = Arc::clone(&lines);
            room.call(move |room, cx| room.say(cx, id, lines))
        };
        for heard in rooms.iter().map(say).collect::<Vec<_>>() {
            heard.await.map_err(io::Error::other)?; // nobody talks faster than it is heard
        }
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_default();
    let listener = match TcpListener::bind(&address) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("usage: chat ADDR, such as 127.0.0.1:7000 ({address:?}: {error})");
            return Ok(ExitCode::from(2));
        }
    };
    let rt = Runtime::new()?;
    let room = |worker| rt.color_options().home(worker).colored(Room::default());
    let rooms: Arc<[_]> = (0..rt.workers()).map(room).collect::<Result<_, _>>()?;
    let (ask, asked) = mpsc::channel();
    let _signals = Signals::watch(&[SIGINT, SIGTERM], &rt.fresh_color(), move |_, _, _| {
        let _ = ask.send(());
    })?;
    println!("listening on {}", listener.local_addr()?);
    let mut ids = 0..;
    let _serving = listener.serve(&rt, move |stream, _peer| {
        serve(ids.next().unwrap_or(0), stream, Arc::clone(&rooms))
    });
    asked.recv()?;
    let _ = rt.shutdown(Duration::ZERO); // closes everything, whatever is not said yet
    Ok(ExitCode::SUCCESS)
}
