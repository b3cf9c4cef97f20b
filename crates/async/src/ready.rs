//! What a descriptor is ready for, and who waits for that.
//!
//! Edges are told once. The protocol that loses none: who tries notes the state
//! ([`Ready::seen`]) before the system call, and on *would block* clears the bit only if no
//! edge has come since ([`Ready::clear`]): each edge changes the tick. Who waits enlists
//! under the lock and looks at the bit after that; who tells of an edge sets the bit and
//! takes the wakers under the lock after that. So one of the two sees the other.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::Waker;

use mely::net::Readiness;

use crate::wake::{drop_safely, lock, wake_all};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

impl Way {
    fn bit(self) -> u64 {
        match self {
            Way::Read => READABLE,
            Way::Write => WRITABLE,
        }
    }
}

const READABLE: u64 = 1;
const WRITABLE: u64 = 2;
/// The peer will send no more, or is gone: no edge will tell of the end again.
const CLOSED: u64 = 4;
/// Edges are told: there is a watch.
const WATCHED: u64 = 8;
/// One more edge. The highest bits count them, for ever.
const TICK: u64 = 16;

/// The state as it was before a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Whether there has been an edge that is not used up.
    pub(crate) fn is(self, way: Way) -> bool {
        self.0 & way.bit() != 0
    }

    /// Whether a system call may succeed.
    pub(crate) fn may(self, way: Way) -> bool {
        self.is(way) || !self.is_watched()
    }

    /// Whether edges are told.
    pub(crate) fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Whether the end of the stream may have been told.
    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    fn ticks(self) -> u64 {
        self.0 / TICK
    }
}

/// Who waits: whoever polled last, or one of several futures, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    Poller,
    Numbered(u64),
}

struct Waiting {
    way: Way,
    waiter: Waiter,
    waker: Waker,
}

/// Shared by the futures of a descriptor and the event of its watch.
pub(crate) struct Ready {
    state: AtomicU64,
    /// Few: mostly one.
    wakers: Mutex<Vec<Waiting>>,
    numbers: AtomicU64,
}

impl Ready {
    /// Nothing is known yet: whoever tries will find out.
    pub(crate) fn unknown() -> Self {
        Self {
            state: AtomicU64::new(READABLE | WRITABLE),
            wakers: Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        // Acquire pairs with `come`.
        Seen(self.state.load(Acquire))
    }

    /// What was seen ended in *would block*, or used up all that there was: waits for the
    /// next edge. `false` if one has come since.
    pub(crate) fn clear(&self, seen: Seen, way: Way) -> bool {
        let cleared = |state: u64| {
            let same = Seen(state).ticks() == seen.ticks();
            same.then_some(state & !way.bit())
        };
        // AcqRel pairs with `come`.
        self.state.fetch_update(AcqRel, Acquire, cleared).is_ok()
    }

    /// From now on edges are told, or not.
    pub(crate) fn set_watched(&self, watched: bool) {
        // AcqRel: as in `come`.
        match watched {
            true => self.state.fetch_or(WATCHED, AcqRel),
            false => self.state.fetch_and(!WATCHED, AcqRel),
        };
    }

    /// An edge has come: notes it, and wakes who waits for it.
    pub(crate) fn come(&self, ready: Readiness) {
        let flag = |is: bool, bit| if is { bit } else { 0 };
        let bits = flag(ready.readable, READABLE)
            | flag(ready.writable, WRITABLE)
            | flag(ready.closed, CLOSED);
        let next = |state: u64| Some(state.wrapping_add(TICK) | bits);
        // AcqRel pairs with `clear` and `seen`.
        let _ = self.state.fetch_update(AcqRel, Acquire, next);
        let is_woken = |w: &Waiting| w.way.bit() & bits != 0;
        let mut wakers = lock(&self.wakers);
        // Mostly there is one: the list keeps its memory.
        let only = wakers.len() == 1 && is_woken(&wakers[0]);
        let first = only.then(|| wakers.pop()).flatten();
        let rest: Vec<_> = wakers.extract_if(.., |w| is_woken(w)).collect();
        drop(wakers);
        wake_all(first.into_iter().chain(rest).map(|waiting| waiting.waker));
    }

    /// A number for one of several waiters.
    pub(crate) fn number(&self) -> Waiter {
        // Relaxed: only uniqueness matters.
        Waiter::Numbered(self.numbers.fetch_add(1, Relaxed))
    }

    /// Waits: `waker` is woken by the next edge. `false` if one has come meanwhile.
    pub(crate) fn enlist(&self, way: Way, waiter: Waiter, waker: &Waker) -> bool {
        let is_mine = |w: &Waiting| w.way == way && w.waiter == waiter;
        let is_there = {
            let wakers = lock(&self.wakers);
            let mine = wakers.iter().find(|w| is_mine(w));
            mine.is_some_and(|w| w.waker.will_wake(waker))
        };
        if !is_there {
            let waiting = Waiting {
                way,
                waiter,
                waker: waker.clone(),
            };
            let mut wakers = lock(&self.wakers);
            let before = match wakers.iter_mut().find(|w| is_mine(w)) {
                Some(mine) => Some(std::mem::replace(mine, waiting)),
                None => {
                    wakers.push(waiting);
                    None
                }
            };
            drop(wakers);
            drop_safely(before);
        }
        !self.seen().is(way)
    }

    /// Forgets a waiter.
    pub(crate) fn strike(&self, way: Way, waiter: Waiter) {
        let mut wakers = lock(&self.wakers);
        let mut all = wakers.iter();
        let at = all.position(|w| w.way == way && w.waiter == waiter);
        let struck = at.map(|at| wakers.swap_remove(at));
        drop(wakers);
        drop_safely(struck);
    }

    /// Whether somebody waits whom `waker` does not wake; whoever waits as `way` and
    /// `waiter` aside.
    pub(crate) fn others_wait(&self, way: Way, waiter: Waiter, waker: &Waker) -> bool {
        let wakers = lock(&self.wakers);
        let is_other = |w: &Waiting| {
            let is_mine = w.way == way && w.waiter == waiter;
            !is_mine && !w.waker.will_wake(waker)
        };
        wakers.iter().any(is_other)
    }

    /// Whether no one waits.
    pub(crate) fn nobody_waits(&self) -> bool {
        lock(&self.wakers).is_empty()
    }

    /// Wakes all that wait, for nothing: they shall look anew where they are.
    pub(crate) fn wake_waiters(&self) {
        let all = std::mem::take(&mut *lock(&self.wakers));
        for waiting in all {
            crate::wake::wake_safely(Some(waiting.waker));
        }
    }

    /// Forgets all that wait.
    pub(crate) fn strike_all(&self) {
        let all = std::mem::take(&mut *lock(&self.wakers));
        for waiting in all {
            drop_safely(waiting);
        }
    }
}

#[cfg(test)]
mod tests;
