//! Sends back what it reads. Each connection is a color: they run in parallel, each of them
//! one event at a time.
//!
//! `cargo run --release -p mely-examples --bin echo -- 127.0.0.1:7000`
#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use mely_async::TcpStream;

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = vec![0; 16 * 1024];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            count => stream.write_all(&bytes[..count]).await?,
        }
    }
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        listener.serve(rt, |stream, _peer| echo(stream))
    })
}
