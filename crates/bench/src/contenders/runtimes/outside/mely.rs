//! Mely: the reactor and the timers of its workers; a color for each connection and
//! each timer.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Instant;

use mely::net::{TcpListener, TcpStream};
use mely::{Context, Handler};

use super::{Mely, Outside, Tick};
use crate::measure::Failure;

static ACCEPT: Handler = Handler::new("bench::accept");
static ECHO: Handler = Handler::new("bench::echo");
static TICK: Handler = Handler::new("bench::tick");

/// `None` before the socket is there, and once it is closed.
type Slot<S> = Option<S>;

fn accept(listener: &Slot<TcpListener>, cx: &Context<'_, Slot<TcpListener>>) {
    while let Some(Ok((stream, _peer))) = listener.as_ref().map(TcpListener::accept) {
        let connection = cx.handle().colored(None);
        connection
            .with_handler(&ECHO)
            .post_or_shed(|slot: &mut Slot<TcpStream>, cx| {
                let mut stream = stream;
                let watched = stream.watch(&cx.colored(), &ECHO, |slot, _cx, _ready| echo(slot));
                *slot = watched.ok().map(|()| stream);
            });
    }
}

fn echo(slot: &mut Slot<TcpStream>) {
    let mut bytes = [0; 512];
    while let Some(stream) = slot {
        let count = match stream.read(&mut bytes) {
            Ok(count @ 1..) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // Its client has gone.
            _ => return *slot = None,
        };
        // What was read is less than a socket holds.
        if stream.write_all(&bytes[..count]).is_err() {
            *slot = None;
        }
    }
}

fn fire<T: Tick>(tick: &mut T, cx: &mut Context<'_, T>) {
    if let Some(next) = tick.fired() {
        cx.colored().with_handler(&TICK).post_at(next, fire);
    }
}

impl Outside for Mely {
    fn echo(&self, listener: std::net::TcpListener) -> Result<(), Failure> {
        let mut listener = TcpListener::new(listener)?;
        let gate = self.0.colored(None);
        listener.watch(&gate, &ACCEPT, |listener, cx, _ready| accept(listener, cx))?;
        gate.with_handler(&ACCEPT).post_or_shed(move |slot, cx| {
            *slot = Some(listener);
            accept(slot, cx);
        });
        Ok(())
    }

    fn tick(&self, first: Instant, tick: impl Tick) {
        self.0
            .colored(tick)
            .with_handler(&TICK)
            .post_at(first, fire);
    }
}
