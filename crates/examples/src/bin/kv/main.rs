//! A store of keys and values that speaks Redis' protocol: `redis-cli -p 7000`.
//!
//! The store is the state of one color, and each connection is a task of that color: it is
//! lent the store for all requests that one read has brought, and answers them with one write.
//! No request takes an event of its own, and none a lock.

mod resp;
mod store;

use std::io;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use mely::TaskState;
use mely_async::{TcpStream, yield_now};

use self::store::Store;

/// How much is read at once, at first.
const READ_BYTES: usize = 16 * 1024;

/// Replies of more bytes than this are written before the next request is looked at.
const OUT_BYTES: usize = 256 * 1024;

#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    filled: usize,
    words: Vec<std::ops::Range<usize>>,
    out: Vec<u8>,
}

impl Buffers {
    /// Answers the requests that are there, or as many as `out` has room for. It breaks where
    /// the connection is to end.
    fn answer(&mut self, store: &mut Store) -> ControlFlow<()> {
        let mut at = 0;
        let mut flow = ControlFlow::Continue(());
        let mut words: Vec<&[u8]> = Vec::new();
        while flow.is_continue() && at < self.filled && self.out.len() < OUT_BYTES {
            let rest = &self.bytes[at..self.filled];
            match resp::request(rest, &mut self.words) {
                Ok(Some(length)) => {
                    words.clear();
                    words.extend(self.words.iter().map(|word| &rest[word.clone()]));
                    flow = store.run(&words, &mut self.out);
                    at += length;
                }
                Ok(None) => break,
                Err(why) => {
                    resp::error(&mut self.out, &format!("Protocol error: {why}"));
                    flow = ControlFlow::Break(());
                }
            }
        }
        self.bytes.copy_within(at..self.filled, 0);
        self.filled -= at;
        flow
    }
}

async fn converse(mut store: TaskState<Store>, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffers = Buffers::default();
    loop {
        if buffers.filled == buffers.bytes.len() {
            buffers.bytes.resize(READ_BYTES.max(2 * buffers.filled), 0);
        }
        match stream.read(&mut buffers.bytes[buffers.filled..]).await? {
            0 => return Ok(()),
            count => buffers.filled += count,
        }
        loop {
            let flow = store.with(|store| buffers.answer(store));
            let is_all = buffers.out.len() < OUT_BYTES;
            // First the requests of others that wait already: clients that are answered
            // together take less of the time of their core.
            yield_now().await;
            stream.write_all(&buffers.out).await?;
            buffers.out.clear();
            if flow.is_break() {
                return Ok(());
            }
            if is_all {
                break;
            }
        }
    }
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let store = rt.colored(Store::default());
        listener.serve_under(
            rt,
            move |_stream, _peer| store.clone(),
            |store, stream, _peer| converse(store, stream),
        )
    })
}
