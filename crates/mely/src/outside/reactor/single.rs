//! The papers' single reactor: one epoll instance whose handler is an event of
//! color 0 (seed 000, figure 6).
//!
//! The instance is itself a descriptor, watched by the worker of color 0: when
//! anything in it is ready, the event `Epoll` is posted, which posts for all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::watch::{Watch, poll_color};
use super::{READY_MAX, Reactor};
use crate::color::context::Context;
use crate::event::handler::Handler;
use crate::machine::driver::{Driver, ReadyList};
use crate::shared::Shared;

/// Monitors all descriptors, and posts for those that are ready.
pub(crate) static EPOLL: Handler = Handler::new("Epoll");

/// Makes the single reactor of a runtime, before its workers start.
pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let reactor = Arc::new(Reactor::new()?);
    let color = poll_color(shared);
    let polled = Arc::clone(&reactor);
    let fd: Arc<Reactor> = Arc::clone(&reactor);
    let watch = Watch::new(fd, &color, &EPOLL, move |(), cx, _| poll(&polled, cx))?;
    shared.set_single(reactor, Box::new(watch));
    Ok(())
}

fn poll(reactor: &Arc<Reactor>, cx: &mut Context<'_, ()>) {
    let mut ready = ReadyList::new();
    reactor.wait(&mut ready, Some(Duration::ZERO));
    let is_full = ready.len() == READY_MAX;
    reactor.dispatch(&mut ready);
    if is_full {
        let reactor = Arc::clone(reactor);
        let again = cx.color();
        // Also if the program has filled the color.
        again
            .with_handler(&EPOLL)
            .post_always(move |(), cx| poll(&reactor, cx));
    }
}
