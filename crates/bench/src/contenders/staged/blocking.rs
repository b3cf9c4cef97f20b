//! Servers with threads that block, by the standard library alone: a pool, whose threads serve a
//! connection to its end before they take another, and a thread for each connection.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::packets::{ACK, PACKET_BYTES};
use super::{StageServer, StagesServeOptions};
use crate::measure::Failure;

/// Threads of the pool, as the slides have it.
const POOL: usize = 150;

/// Bytes of the stack of a thread: there may be thousands.
const STACK_BYTES: usize = 128 << 10;

/// The end of a request without a body.
const END: &[u8] = b"\r\n\r\n";

/// Bytes of a request that is still read.
const REQUEST_MAX: usize = 4096;

/// What a thread does with a connection.
type Serve = Arc<dyn Fn(TcpStream) -> io::Result<()> + Send + Sync>;

pub(super) fn serve(options: &StagesServeOptions) -> Result<(), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", options.port))?;
    let page: Arc<[u8]> = page(options.answer_bytes).into();
    let of_pages: Serve = Arc::new(move |stream| serve_pages(stream, &page));
    match options.what {
        StageServer::ThreadPool => pool(&Arc::new(listener), &of_pages),
        StageServer::PacketThreads => a_thread_each(&listener, &(Arc::new(take_packets) as Serve)),
        _ => a_thread_each(&listener, &of_pages),
    }
}

/// An answer of HTTP with so many bytes.
fn page(bytes: u32) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    let mut page = head.into_bytes();
    page.resize(page.len() + bytes as usize, b'x');
    page
}

fn pool(listener: &Arc<TcpListener>, serve: &Serve) -> Result<(), Failure> {
    let begin = |_| {
        let (listener, serve) = (Arc::clone(listener), Arc::clone(serve));
        thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // A connection that fails is its peer's affair.
                    serve(stream).ok();
                }
            })
    };
    let threads = (0..POOL).map(begin).collect::<io::Result<Vec<_>>>()?;
    for thread in threads {
        thread.join().map_err(|_| "a thread of the pool panicked")?;
    }
    Ok(())
}

fn a_thread_each(listener: &TcpListener, serve: &Serve) -> Result<(), Failure> {
    for stream in listener.incoming() {
        let (stream, serve) = (stream?, Arc::clone(serve));
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn(move || serve(stream).ok())?;
    }
    Ok(())
}

fn serve_pages(mut stream: TcpStream, page: &[u8]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut bytes, mut held) = ([0; REQUEST_MAX], 0);
    loop {
        match stream.read(&mut bytes[held..])? {
            // The end, or a request that is too long.
            0 => return Ok(()),
            count => held += count,
        }
        // Clients of the experiment send one request at a time.
        if bytes[..held].ends_with(END) {
            stream.write_all(page)?;
            held = 0;
        }
    }
}

/// Reads bursts of packets, each of whose ends is acknowledged.
fn take_packets(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut packet = vec![0; PACKET_BYTES];
    loop {
        stream.read_exact(&mut packet)?;
        if packet[0] == 1 {
            stream.write_all(&ACK)?;
        }
    }
}
