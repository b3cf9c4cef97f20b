//! Connections that are accepted: what a peer says first tells what it wants.

use super::here::Here;
use super::meet::{self, NotMet, read_more};
use super::outlet::Line;
use super::{session, upload};
use mely::TaskState;
use mely_async::{TcpStream, timeout};
use std::io;
use std::net::SocketAddr;

/// What every first line is longer than.
const WORD_BYTES: usize = 8;

/// What a peer wants.
enum Wish {
    /// To exchange messages.
    Gnutella,
    /// Files.
    Http,
}

impl Wish {
    fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"GNUTELLA") {
            return Some(Self::Gnutella);
        }
        // Which methods there are is known below.
        // A file that nobody here has asked for is none of them.
        let word = bytes.split(|&byte| byte == b' ').next()?;
        let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_uppercase);
        (is_word && word != b"GIV").then_some(Self::Http)
    }
}

/// Serves a connection that was accepted.
pub(super) async fn greet(
    here: Here,
    line: TaskState<Line>,
    mut stream: TcpStream,
    peer: SocketAddr,
) {
    // A peer that is gone already will be noticed.
    let _ = stream.set_nodelay(true);
    let handshake_time = here.setting.options.node.handshake_time;
    let began = here.unless_stopped(timeout(handshake_time, begin(&mut stream)));
    let (wish, bytes) = match began.await {
        Some(Ok(Ok(began))) => began,
        Some(_) => {
            here.setting.counts.failed_handshakes.add(1);
            return;
        }
        None => return,
    };
    match wish {
        Some(Wish::Gnutella) => {
            let meeting = meet::accept(&here, &line, &mut stream, peer, bytes);
            match here.unless_stopped(timeout(handshake_time, meeting)).await {
                Some(Ok(Ok((seat, met)))) => {
                    here.setting.counts.handshakes.add(1);
                    session::converse(here, seat, line, stream, met).await;
                }
                Some(Ok(Err(NotMet::Refused(hosts)))) => {
                    // Who refuses knows others.
                    here.hub.call(move |hub, _| hub.heard(&hosts)).await.ok();
                }
                Some(_) => here.setting.counts.failed_handshakes.add(1),
                None => {}
            }
        }
        Some(Wish::Http) => {
            here.unless_stopped(upload::serve(&here, &mut stream, bytes))
                .await;
        }
        None => here.setting.counts.failed_handshakes.add(1),
    }
}

/// Reads until it is clear what the peer wants.
async fn begin(stream: &mut TcpStream) -> io::Result<(Option<Wish>, Vec<u8>)> {
    let mut bytes = Vec::new();
    while bytes.len() < WORD_BYTES && !bytes.contains(&b'\n') {
        read_more(stream, &mut bytes).await?;
    }
    Ok((Wish::of(&bytes), bytes))
}
