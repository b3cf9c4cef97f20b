//! The reactor: which descriptors are ready, found on the core where their color
//! lives.
//!
//! Each worker has one (an epoll instance) and sleeps in it. A descriptor is
//! watched edge-triggered, once for its whole life, so readiness costs no system
//! call beyond the wait. When a color has moved for good, its descriptors follow.

pub(crate) mod bits;
mod readiness;
pub(crate) mod single;
mod watch;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use slab::Slab;

pub use self::readiness::Readiness;
pub use self::watch::Watch;
use crate::machine::driver::{Driver, ReadyList, Source, Sources, Token};
use crate::machine::panics::{call_safely, drop_safely};
use crate::machine::sync::unpoison;

/// How many ready descriptors are taken in one wait.
const READY_MAX: usize = 256;

/// The token of the wake-up descriptor.
const WAKE: u64 = u64::MAX;

struct Registered {
    source: Arc<dyn Source>,
    generation: u32,
}

/// An epoll instance and what is registered there.
pub(crate) struct Reactor {
    epoll: OwnedFd,
    wake: OwnedFd,
    sources: Mutex<(Slab<Registered>, u32)>,
    live: AtomicUsize,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edge-triggered: every write is an edge, so nobody needs to read.
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), flags)?;
        Ok(Self {
            epoll,
            wake,
            sources: Mutex::default(),
            live: AtomicUsize::new(0),
        })
    }

    fn forget(&self, token: Token) {
        let mut sources = unpoison(self.sources.lock());
        let key = key_of(token.0);
        let current = |r: &Registered| r.generation == generation_of(token.0);
        let gone = match sources.0.get(key).is_some_and(current) {
            true => Some(sources.0.remove(key)),
            false => None,
        };
        drop(sources);
        if gone.is_some() {
            self.live.fetch_sub(1, Relaxed);
        }
        drop_safely(gone);
    }

    fn find(&self, event: &epoll::Event) -> Option<Arc<dyn Source>> {
        let token = event.data.u64();
        let sources = unpoison(self.sources.lock());
        let registered = sources.0.get(key_of(token))?;
        // A descriptor that was closed and made anew meanwhile has another
        // generation.
        let current = token != WAKE && registered.generation == generation_of(token);
        current.then(|| Arc::clone(&registered.source))
    }
}

fn key_of(token: u64) -> usize {
    usize::try_from(token & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

fn generation_of(token: u64) -> u32 {
    u32::try_from(token >> 32).unwrap_or(u32::MAX)
}

impl Sources for Reactor {
    fn add(&self, fd: BorrowedFd<'_>, source: Arc<dyn Source>) -> io::Result<Token> {
        let token = {
            let mut sources = unpoison(self.sources.lock());
            let (slab, generations) = &mut *sources;
            *generations = generations.wrapping_add(1) & (u32::MAX >> 1);
            let generation = *generations;
            let key = slab.insert(Registered { source, generation });
            Token(u64::from(generation) << 32 | key as u64)
        };
        // Relaxed: decides only whether a busy worker looks.
        self.live.fetch_add(1, Relaxed);
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if let Err(error) = epoll::add(&self.epoll, fd, EventData::new_u64(token.0), flags) {
            self.forget(token);
            return Err(error.into());
        }
        Ok(token)
    }

    fn remove(&self, fd: BorrowedFd<'_>, token: Token) {
        // Fails only for a descriptor that is not registered, which is as good.
        let _ = epoll::delete(&self.epoll, fd);
        self.forget(token);
    }

    fn clear(&self) {
        let all = std::mem::take(&mut unpoison(self.sources.lock()).0);
        self.live.store(0, Relaxed);
        for (_, registered) in all {
            drop_safely(registered);
        }
    }
}

impl Driver for Reactor {
    fn wait(&self, ready: &mut ReadyList, timeout: Option<Duration>) {
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        ready.clear();
        ready.reserve(READY_MAX);
        // An interrupted wait is a short one; anything else would be a bug, and to
        // come back at once is all that a worker could do.
        let spare = rustix::buffer::spare_capacity(ready);
        let _ = epoll::wait(&self.epoll, spare, timeout.as_ref());
    }

    fn look(&self, ready: &mut ReadyList) {
        self.wait(ready, Some(Duration::ZERO));
        if ready.iter().any(|event| event.data.u64() == WAKE) {
            // That edge is gone, and its worker may be about to wait.
            self.wake();
        }
    }

    fn dispatch(&self, ready: &mut ReadyList) -> usize {
        let mut posted = 0;
        for event in ready.drain(..) {
            if let Some(source) = self.find(&event) {
                posted += 1;
                // The watch may have ended meanwhile, and this be all that is left of it.
                call_safely(|| source.ready(event.flags));
            }
        }
        posted
    }

    fn wake(&self) {
        // A full counter is as good as a written one.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn give_way(&self) {
        std::thread::yield_now();
    }

    fn has_sources(&self) -> bool {
        // Relaxed: a worker that sees it late looks when it sleeps.
        self.live.load(Relaxed) > 0
    }

    fn sources(&self) -> Option<&dyn Sources> {
        Some(self)
    }
}

impl AsFd for Reactor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
