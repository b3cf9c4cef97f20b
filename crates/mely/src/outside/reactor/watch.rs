//! A watch: readiness of a descriptor, posted as events of a color.

use core::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::event::epoll::EventFlags;

use super::bits::ReadyBits;
use super::readiness::Readiness;
use crate::color::context::Context;
use crate::color::{Color, Colored};
use crate::event::StatePtr;
use crate::event::handler::Handler;
use crate::machine::driver::{Source, Sources, Token};
use crate::machine::panics::{call_safely, drop_safely};
use crate::machine::sync::unpoison;
use crate::shared::colors::POLL_COLOR;
use crate::shared::{ColorRef, Phase, Shared};
use crate::worker::{self, Worker};

/// After how many events in a row that ran on another core than the one that
/// found them ready a descriptor follows its color.
///
/// Moving costs two system calls, about 1 µs; a post to another core 0.2 µs and a
/// wake-up 5 µs. 16 keeps a color that is stolen to and fro from dragging its
/// descriptors along each time.
const FOLLOW_AFTER: u32 = 16;

/// Adds a descriptor to those that a single reactor monitors.
static REGISTER: Handler = Handler::new("RegisterFdInEpoll");

/// Where the source is registered now.
struct Registered {
    /// `None` once the watch has ended: the descriptor must not be kept open.
    fd: Option<Arc<dyn AsFd + Send + Sync>>,
    /// `None` while a registration is on its way to the single reactor.
    token: Option<Token>,
    /// The worker whose reactor it is; `None` for the single reactor.
    worker: Option<usize>,
    strange: u32,
}

impl Registered {
    /// The descriptor, and the worker that has it, if its color has run elsewhere, on
    /// `worker`, for so long that it shall follow.
    fn leaves(&mut self, worker: usize) -> Option<(Arc<dyn AsFd + Send + Sync>, usize)> {
        let here = self.worker?;
        self.strange = if here == worker { 0 } else { self.strange + 1 };
        if self.strange < FOLLOW_AFTER {
            return None;
        }
        self.strange = 0;
        Some((self.fd.clone()?, here))
    }
}

/// A reference that may be the last to something of the program's, while a panic may be
/// on its way.
struct DroppedSafely<W: Send + Sync + 'static>(Option<Arc<W>>);

impl<W: Send + Sync + 'static> Drop for DroppedSafely<W> {
    fn drop(&mut self) {
        drop_safely(self.0.take());
    }
}

struct Watched<T, F> {
    target: Colored<T>,
    handler: &'static Handler,
    bits: ReadyBits,
    registered: Mutex<Registered>,
    call: F,
    /// What is told instead where the color runs no event any more.
    refused: Option<Box<dyn Fn(Readiness) + Send + Sync>>,
}

/// The event of a watch. The handler may end the watch, and panic: then this is the last to
/// know it.
struct Edge<T: Send + 'static, F: Send + Sync + 'static> {
    watched: DroppedSafely<Watched<T, F>>,
    is_run: bool,
}

impl<T, F> Edge<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
{
    fn run(mut self, state: &mut T, cx: &mut Context<'_, T>) {
        self.is_run = true;
        if let Some(watched) = &self.watched.0
            && let Some(flags) = watched.bits.take()
        {
            watched.follow(cx.worker(), watched.target.color_ref().shared());
            (watched.call)(state, cx, Readiness::from_bits(flags));
        }
    }
}

impl<T: Send + 'static, F: Send + Sync + 'static> Drop for Edge<T, F> {
    fn drop(&mut self) {
        let unrun = self.watched.0.as_ref().filter(|_| !self.is_run);
        if let Some(watched) = unrun
            && let Some(refused) = &watched.refused
            && let Some(flags) = watched.bits.take()
        {
            call_safely(|| refused(Readiness::from_bits(flags)));
        }
    }
}

impl<T, F> Watched<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
{
    /// Moves the registration to the reactor of the worker that the color has
    /// moved to.
    fn follow(self: &Arc<Self>, worker: usize, shared: &Shared) {
        let Some((fd, here)) = self.registered().leaves(worker) else {
            return;
        };
        // The program's: not under the lock.
        let descriptor = (*fd).as_fd();
        let (from, to) = (sources_of(shared, here), sources_of(shared, worker));
        if let (Some(from), Some(to)) = (from, to) {
            let mut registered = self.registered();
            let Some(token) = registered.token.filter(|_| registered.worker == Some(here)) else {
                return;
            };
            // First the new one: readiness may be told twice, never not at all. On
            // failure it stays where it is.
            if let Ok(token_there) = to.add(descriptor, Arc::clone(self) as Arc<dyn Source>) {
                registered.token = Some(token_there);
                registered.worker = Some(worker);
                from.remove(descriptor, token);
            }
        }
    }
}

impl<T, F> Watched<T, F> {
    fn registered(&self) -> MutexGuard<'_, Registered> {
        unpoison(self.registered.lock())
    }
}

impl<T, F> Source for Watched<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
{
    fn ready(self: Arc<Self>, flags: EventFlags) {
        let watched = DroppedSafely(Some(self));
        if let Some(this) = &watched.0
            && this.bits.add(flags.bits())
        {
            let edge = Edge {
                watched: DroppedSafely(Some(Arc::clone(this))),
                is_run: false,
            };
            let event = move |state: &mut T, cx: &mut Context<'_, T>| edge.run(state, cx);
            this.target.with_handler(this.handler).post_always(event);
        }
    }
}

/// The end of a watch.
trait End: Send + Sync {
    fn end(&self);

    fn color(&self) -> &ColorRef;
}

impl<T, F> End for Watched<T, F>
where
    T: Send + 'static,
    F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
{
    fn end(&self) {
        self.bits.end();
        let (fd, token, worker) = {
            let mut registered = self.registered();
            (
                registered.fd.take(),
                registered.token.take(),
                registered.worker,
            )
        };
        let shared = self.target.color_ref().shared();
        let sources = match worker {
            Some(worker) => sources_of(shared, worker),
            None => shared.single(),
        };
        if let (Some(fd), Some(token), Some(sources)) = (&fd, token, sources) {
            sources.remove((**fd).as_fd(), token);
        }
        drop_safely(fd);
    }

    fn color(&self) -> &ColorRef {
        self.target.color_ref()
    }
}

/// The watch of a descriptor: while it lives, readiness is posted as events.
///
/// It keeps the color, and with it the color's state, alive: a connection that
/// keeps its own watch in its state must drop the watch to end.
pub struct Watch(Arc<dyn End>);

impl Watch {
    /// Watches `fd`: whenever it becomes ready, `call` runs under the color of
    /// `target` as an event of `handler`. Several edges before the event has run
    /// are one event.
    ///
    /// The descriptor must be non-blocking, and the handler must read or write
    /// until it is told *would block* (or a short count): only then is the next
    /// edge sure to come. Where the state that it reads from is put in place after the watch
    /// was made, as a stream that is watched and then moved into its color, make the watch
    /// inside of an event of the color: no edge is handled before that event is over.
    ///
    /// # Errors
    ///
    /// What the system says, such as that the descriptor cannot be watched; an error after a
    /// shutdown has begun, as nothing would be told any more. With a
    /// [single reactor](crate::ReactorKind::Single), which is told by an event, the handler
    /// is called with an error instead.
    pub fn new<T, F>(
        fd: Arc<dyn AsFd + Send + Sync>,
        target: &Colored<T>,
        handler: &'static Handler,
        call: F,
    ) -> io::Result<Self>
    where
        T: Send + 'static,
        F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
    {
        Self::made(fd, target, handler, call, None)
    }

    /// The same; `refused` is told instead of what the color does not handle any more, as it
    /// was [stopped](Colored::stop), or poisoned by a panic: for a descriptor that others than
    /// that color wait for, too.
    ///
    /// It is called on whatever thread, and must not wait.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn new_or<T, F>(
        fd: Arc<dyn AsFd + Send + Sync>,
        target: &Colored<T>,
        handler: &'static Handler,
        call: F,
        refused: impl Fn(Readiness) + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        T: Send + 'static,
        F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
    {
        Self::made(fd, target, handler, call, Some(Box::new(refused)))
    }

    fn made<T, F>(
        fd: Arc<dyn AsFd + Send + Sync>,
        target: &Colored<T>,
        handler: &'static Handler,
        call: F,
        refused: Option<Box<dyn Fn(Readiness) + Send + Sync>>,
    ) -> io::Result<Self>
    where
        T: Send + 'static,
        F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
    {
        let color = target.color_ref();
        let shared = color.shared();
        if shared.phase() > Phase::Running {
            return Err(io::Error::other(
                "the runtime has been shut down and watches no more descriptors",
            ));
        }
        let here = |worker: Option<&Worker>| worker.filter(|w| w.runs(color)).map(Worker::index);
        let worker = worker::with_current(shared, here).unwrap_or(usize::from(color.traits().home));
        let watched = Arc::new(Watched {
            target: target.clone(),
            handler,
            bits: ReadyBits::new(),
            registered: Mutex::new(Registered {
                fd: Some(Arc::clone(&fd)),
                token: None,
                worker: shared.single().is_none().then_some(worker),
                strange: 0,
            }),
            call,
            refused,
        });
        if shared.single().is_some() {
            register_by_event(&watched, shared);
        } else if let Some(sources) = sources_of(shared, worker) {
            // The program's: not under the lock.
            let descriptor = (*fd).as_fd();
            // The registration is locked while the descriptor is added: an event that
            // finds it ready at once waits for the token.
            let mut registered = watched.registered();
            let source = Arc::clone(&watched) as Arc<dyn Source>;
            registered.token = Some(sources.add(descriptor, source)?);
        }
        Ok(Self(watched))
    }

    /// Whether nothing more is told: its color was [stopped](Colored::stop), or the shutdown of
    /// its runtime has begun.
    pub fn is_over(&self) -> bool {
        let color = self.0.color();
        color.is_stopped() || color.shared().phase() > Phase::Running
    }

    /// Whether it tells a color of the same runtime as this one.
    pub fn is_in_runtime_of<T: Send + 'static>(&self, color: &Colored<T>) -> bool {
        self.0.color().shared().number == color.color_ref().shared().number
    }
}

/// Where the descriptors of a worker are registered: all but loom models have such a place.
fn sources_of(shared: &Shared, worker: usize) -> Option<&dyn Sources> {
    shared.remotes[worker].driver.sources()
}

/// The color that the handlers of a single reactor are of.
pub(super) fn poll_color(shared: &Arc<Shared>) -> Color {
    Colored::from_parts(shared.small_color(POLL_COLOR), StatePtr::dangling())
}

/// Adds a source to the single reactor by an event of color 0.
fn register_by_event<T, F>(watched: &Arc<Watched<T, F>>, shared: &Arc<Shared>)
where
    T: Send + 'static,
    F: Fn(&mut T, &mut Context<'_, T>, Readiness) + Send + Sync + 'static,
{
    let watched = Arc::clone(watched);
    // However little room the color has: one that was not registered would be silent.
    poll_color(shared)
        .with_handler(&REGISTER)
        .post_always(move |(), _cx| {
            let shared = watched.target.color_ref().shared();
            let Some(single) = shared.single() else {
                return;
            };
            let Some(fd) = watched.registered().fd.clone() else {
                return;
            };
            // The program's: not under the lock.
            let descriptor = (*fd).as_fd();
            let mut registered = watched.registered();
            if registered.fd.is_none() {
                return;
            }
            let source = Arc::clone(&watched) as Arc<dyn Source>;
            match single.add(descriptor, source) {
                Ok(token) => registered.token = Some(token),
                Err(_) => {
                    drop(registered);
                    // The handler meets the error when it reads.
                    watched.ready(EventFlags::ERR);
                }
            }
        });
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
