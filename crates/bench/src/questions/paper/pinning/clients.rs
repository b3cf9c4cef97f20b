//! The clients: as many connections as wanted, by one thread that blocks.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Connections that are open at a time: enough for queues, few enough for any limit
/// of descriptors.
const CLIENTS: usize = 64;

/// A server that says nothing for so long has lost the connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections, asks with a byte, waits for the answer and the end of the oldest,
/// and replaces it, until `stop` is set.
pub(super) fn run(address: SocketAddr, stop: &AtomicBool) -> io::Result<()> {
    let mut open = VecDeque::with_capacity(CLIENTS);
    // Acquire: pairs with the release of who sets it.
    while !stop.load(Ordering::Acquire) {
        if open.len() == CLIENTS
            && let Some(oldest) = open.pop_front()
        {
            finish(oldest)?;
        }
        open.push_back(ask(address)?);
    }
    open.into_iter().try_for_each(finish)
}

fn ask(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(b"?")?;
    Ok(stream)
}

fn finish(mut stream: TcpStream) -> io::Result<()> {
    let mut answer = Vec::with_capacity(2);
    stream.read_to_end(&mut answer)?;
    match answer.len() {
        1 => Ok(()),
        bytes => {
            let what = format!("an answer of {bytes} bytes instead of 1");
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
    }
}
