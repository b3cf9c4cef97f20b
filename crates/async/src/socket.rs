//! A descriptor that futures wait for: tried first, watched once it would block.

use std::future::poll_fn;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use mely::net::{Readiness, Watch};
use mely::{Color, Handler};

use crate::error::Error;
use crate::ready::{Ready, Seen, Waiter, Way};
use crate::wake::{drop_safely, lock};

/// The event that tells a future of the readiness of its descriptor.
static READY: Handler = Handler::new("SocketReady");

/// How many operations of a descriptor may succeed in a row before its future lets the
/// other events of the core run: as many short events as mely runs in one turn at the most.
const ROW_MAX: u32 = 64;

/// What may be there, for all that is known.
const ANY: Readiness = Readiness {
    readable: true,
    writable: true,
    closed: false,
};

/// The watch of a descriptor, and the color whose events tell of it.
struct Watched {
    color: Color,
    watch: Watch,
}

impl Watched {
    /// Ends the watch.
    fn end(self) -> Color {
        drop(self.watch);
        self.color
    }
}

/// Where a descriptor is watched: once for each runtime whose futures wait for it, as one may end
/// before another. Its end ends the watches, and forgets who waited.
struct Registration {
    /// Mostly one.
    watched: Mutex<Vec<Watched>>,
    ready: Arc<Ready>,
}

impl Registration {
    fn new() -> Self {
        Self {
            watched: Mutex::default(),
            ready: Arc::new(Ready::unknown()),
        }
    }

    /// Watches `io` with the color that polls, if that is not so yet.
    ///
    /// Where somebody else waits for it under another color of the runtime it stays with that:
    /// two halves of a stream that live apart would else take it from each other again and
    /// again. The wakers find both.
    fn follow<S>(&self, io: &Arc<S>, way: Way, waiter: Waiter, cx: &Context<'_>) -> io::Result<()>
    where
        S: AsFd + Send + Sync + 'static,
    {
        let mut watched = lock(&self.watched);
        if watched.iter().any(|w| w.color.is_current()) {
            return Ok(());
        }
        let Some(color) = Color::current() else {
            return Err(Error::OutsideColor.into());
        };
        let mut here = watched.iter().filter(|w| w.watch.is_in_runtime_of(&color));
        // One that was stopped does nothing for them.
        let goes_on = here.any(|w| !w.color.is_stopped());
        if goes_on && self.ready.others_wait(way, waiter, cx.waker()) {
            return Ok(());
        }
        // The watch before ends first: a descriptor is registered once. Its color, which
        // may have a state of the program, goes after the lock.
        let ends = |w: &mut Watched| w.watch.is_over() || w.watch.is_in_runtime_of(&color);
        let ended = watched.extract_if(.., ends).map(Watched::end);
        let colors_before: Vec<_> = ended.collect();
        self.ready.set_watched(!watched.is_empty());
        let [ready, told] = [(); 2].map(|()| Arc::clone(&self.ready));
        let come = move |(): &mut (), _: &mut mely::Context<'_>, edge| ready.come(edge);
        // Those of other colors wait, too, who go on where this one is stopped.
        let refused = move |edge| told.come(edge);
        // What is ready already is told by an event of its own.
        let watch = Watch::new_or(Arc::clone(io) as Arc<_>, &color, &READY, come, refused);
        let registered = watch.map(|watch| {
            self.ready.set_watched(true);
            watched.reserve_exact(1);
            watched.push(Watched { color, watch });
        });
        drop(watched);
        drop_safely(colors_before);
        registered
    }
}

impl Registration {
    /// Ends the watch, until somebody waits again.
    fn end_watch(&self) {
        let mut watched = lock(&self.watched);
        self.ready.set_watched(false);
        let colors_before: Vec<_> = watched.drain(..).map(Watched::end).collect();
        drop(watched);
        // Who comes to wait just now is told to look anew, and watches for itself.
        self.ready.come(ANY);
        drop_safely(colors_before);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let watched = std::mem::take(&mut *lock(&self.watched));
        drop_safely(watched);
        self.ready.strike_all();
    }
}

/// A non-blocking descriptor.
pub(crate) struct Socket<S> {
    // Before `io`: the watch ends before the descriptor is closed.
    registration: Registration,
    io: Arc<S>,
    /// How many operations have succeeded in a row.
    row: AtomicU32,
}

impl<S: AsFd + Send + Sync + 'static> Socket<S> {
    /// Takes a descriptor over and makes it non-blocking.
    pub(crate) fn new(io: S) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&io, true)?;
        Ok(Self::already(io))
    }

    /// Takes over one that does not block.
    pub(crate) fn already(io: S) -> Self {
        Self {
            registration: Registration::new(),
            io: Arc::new(io),
            row: AtomicU32::new(0),
        }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.io
    }

    /// Gives the descriptor back; `again` makes another one of it where an event of the
    /// watch, which is about to end, still holds it.
    pub(crate) fn into_inner(self, again: impl FnOnce(&S) -> io::Result<S>) -> io::Result<S> {
        drop(self.registration);
        Arc::try_unwrap(self.io).or_else(|io| again(&io))
    }

    pub(crate) fn ready(&self) -> &Ready {
        &self.registration.ready
    }

    /// Nothing more is to be had until the next edge.
    pub(crate) fn note_used_up(&self, seen: Seen, way: Way) {
        if seen.is_watched() {
            self.ready().clear(seen, way);
        }
    }

    /// Whoever waited so will not come again: others may have the watch. Where nobody waits
    /// it ends, and with it what it keeps, which may be the state that the other half is in.
    pub(crate) fn leave(&self, way: Way) {
        self.ready().strike(way, Waiter::Poller);
        if self.ready().nobody_waits() {
            self.registration.end_watch();
        }
        self.ready().wake_waiters();
    }

    /// Waits for the next edge; at once if there has been one.
    fn poll_edge(&self, way: Way, waiter: Waiter, cx: &Context<'_>) -> Poll<io::Result<()>> {
        // Relaxed: a count.
        self.row.store(0, Relaxed);
        let followed = self.registration.follow(&self.io, way, waiter, cx);
        if let Err(error) = followed {
            return Poll::Ready(Err(error));
        }
        if self.ready().enlist(way, waiter, cx.waker()) {
            return Poll::Pending;
        }
        self.ready().strike(way, waiter);
        Poll::Ready(Ok(()))
    }

    /// Waits until a system call may succeed.
    pub(crate) fn poll_ready(
        &self,
        way: Way,
        waiter: Waiter,
        cx: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.ready().seen().is(way) {
            ready!(self.poll_edge(way, waiter, cx)?);
        }
        Poll::Ready(Ok(()))
    }

    /// Tries `call`, if it may succeed.
    pub(crate) fn try_io<R>(
        &self,
        way: Way,
        mut call: impl FnMut(&S, Seen) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let seen = self.ready().seen();
            if !seen.may(way) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match call(&self.io, seen) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.ready().clear(seen, way) {
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// Tries `call`, and waits whenever it would block.
    pub(crate) fn poll_io<R>(
        &self,
        way: Way,
        waiter: Waiter,
        cx: &Context<'_>,
        mut call: impl FnMut(&S, Seen) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        // Relaxed, here and below: a count that only those share who poll at once.
        let row = self.row.load(Relaxed);
        if row >= ROW_MAX {
            self.row.store(0, Relaxed);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            match self.try_io(way, &mut call) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.poll_edge(way, waiter, cx)?);
                }
                done => {
                    self.row.store(row + 1, Relaxed);
                    return Poll::Ready(done);
                }
            }
        }
    }

    /// One of several futures that may wait at a time.
    pub(crate) async fn io<R>(
        &self,
        way: Way,
        mut call: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut waits = Waits::new(self.ready(), way);
        poll_fn(|cx| waits.note(self.poll_io(way, waits.waiter, cx, |io, _| call(io)))).await
    }

    /// The same, until a system call may succeed.
    pub(crate) async fn until_ready(&self, way: Way) -> io::Result<()> {
        let mut waits = Waits::new(self.ready(), way);
        poll_fn(|cx| waits.note(self.poll_ready(way, waits.waiter, cx))).await
    }
}

/// A future that may wait; forgotten with it.
struct Waits<'a> {
    ready: &'a Ready,
    way: Way,
    waiter: Waiter,
    /// Whether it may be on the list.
    waited: bool,
}

impl<'a> Waits<'a> {
    fn new(ready: &'a Ready, way: Way) -> Self {
        let waiter = ready.number();
        Self {
            ready,
            way,
            waiter,
            waited: false,
        }
    }

    fn note<R>(&mut self, poll: Poll<R>) -> Poll<R> {
        self.waited |= poll.is_pending();
        poll
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if self.waited {
            self.ready.strike(self.way, self.waiter);
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Socket<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::task::Waker;

    use super::*;

    #[test]
    fn who_comes_to_wait_while_the_watch_ends_looks_anew() {
        let rt = mely::Runtime::builder().workers(1).build().expect("one");
        let (here, _peer) = UnixStream::pair().expect("a pair");
        let socket = Socket::new(here).expect("a socket");
        let listed = rt.new_color().call(move |(), _| {
            let cx = Context::from_waker(Waker::noop());
            let nothing = |_: &UnixStream, _| Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let polled = socket.poll_io(Way::Read, Waiter::Poller, &cx, nothing);
            assert!(polled.is_pending());
            socket.ready().strike(Way::Read, Waiter::Poller);
            // Between these two steps of one who waits the other half goes.
            let (io, registration) = (&socket.io, &socket.registration);
            let followed = registration.follow(io, Way::Read, Waiter::Poller, &cx);
            socket.leave(Way::Write);
            followed.expect("it is watched");
            socket
                .ready()
                .enlist(Way::Read, Waiter::Poller, Waker::noop())
        });
        assert_eq!(listed.wait(), Ok(false));
    }
}
