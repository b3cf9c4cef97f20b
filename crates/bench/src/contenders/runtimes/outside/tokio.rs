//! Tokio: its drivers for sockets and time; a task for each connection and each timer.

use std::net::TcpListener;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep_until;

use super::{Outside, Tick};
use crate::contenders::runtimes::tokio::Tokio;
use crate::measure::Failure;

async fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 512];
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

impl Outside for Tokio {
    fn echo(&self, listener: TcpListener) -> Result<(), Failure> {
        listener.set_nonblocking(true)?;
        let handle = self.handle.clone();
        let _inside = handle.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        drop(handle.spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                drop(tokio::spawn(echo(stream)));
            }
        }));
        Ok(())
    }

    fn tick(&self, first: Instant, mut tick: impl Tick) {
        drop(self.handle.spawn(async move {
            let mut next = Some(first);
            while let Some(at) = next {
                sleep_until(at.into()).await;
                next = tick.fired();
            }
        }));
    }
}
