//! What ends with a color, and with the runtime at the latest, whoever still refers to it: the
//! states of the color, its tasks, and its timers.
//!
//! A connection's state may hold its own color, and a task a channel that holds the task's
//! waker: without a list of them they, and the descriptors in them, would outlive the
//! runtime for ever. Each worker has such a list, for the colors whose first home it is.

use std::sync::Weak;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use slab::Slab;

use crate::cell::states::{Make, States, StatesPtr};
use crate::event::StatePtr;
use crate::machine::panics::drop_safely;
use crate::machine::sync::{Mutex, MutexGuard, lock};

/// The place of a color that has nothing here yet.
pub(super) const NO_LIFE: u32 = u32::MAX;

/// The place of a color that has ended: it gets nothing more.
pub(super) const ENDED: u32 = u32::MAX - 1;

/// No other one in a list.
const NONE: u32 = u32::MAX;

/// What is told that its color has ended, or the runtime.
pub(crate) trait EndsWithColor: Send + Sync {
    /// No event will run any more. Whether it was not over before.
    fn end(&self) -> bool;
}

/// What the colors of a worker have; `None` once the runtime has ended.
pub(crate) struct Lives(Mutex<Option<Lists>>);

#[derive(Default)]
struct Lists {
    colors: Slab<Life>,
    listed: Slab<Listed>,
}

/// What a color has.
struct Life {
    states: Option<States>,
    /// The newest of what ends with it.
    first: u32,
}

/// One of a list.
struct Listed {
    what: Weak<dyn EndsWithColor>,
    color: u32,
    newer: u32,
    older: u32,
}

/// What a color had that has ended. Dropping it ends all of that.
#[derive(Default)]
pub(crate) struct Ended {
    listed: Vec<Weak<dyn EndsWithColor>>,
    states: Option<States>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        for what in self.listed.drain(..) {
            if let Some(what) = what.upgrade() {
                what.end();
                drop_safely(what);
            }
        }
        // After what may refer to them.
        drop_safely(self.states.take());
    }
}

impl Lists {
    /// What the color has whose place this is, which it gets here if it has none.
    fn life(&mut self, place: &AtomicU32) -> Option<(u32, &mut Life)> {
        // Relaxed, here and below: it changes under this lock alone, but for the end of a
        // color that nobody else refers to.
        let mut key = place.load(Relaxed);
        if key == NO_LIFE {
            let life = self.colors.vacant_key();
            // There is no memory for more of them.
            key = u32::try_from(life).unwrap_or(ENDED);
            self.colors.insert(Life {
                states: None,
                first: NONE,
            });
            place.store(key, Relaxed);
        }
        Some((key, self.colors.get_mut(key as usize)?))
    }

    /// Takes what ends with a color out of the list.
    fn take_listed(&mut self, first: u32) -> Vec<Weak<dyn EndsWithColor>> {
        let (mut all, mut next) = (Vec::new(), first);
        while let Some(listed) = self.listed.try_remove(next as usize) {
            next = listed.older;
            all.push(listed.what);
        }
        all
    }
}

impl Lives {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(Lists::default())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lists>> {
        lock(&self.0)
    }

    /// Keeps one more state of a color, whose `place` is here.
    ///
    /// After the end of the color or the runtime no event can reach the state, which is
    /// dropped.
    pub(super) fn adopt<T, M>(&self, place: &AtomicU32, state: T, make: M) -> StatePtr<T>
    where
        T: Send + 'static,
        M: Make<T>,
    {
        let mut lists = self.lock();
        if let Some((_, life)) = lists.as_mut().and_then(|lists| lists.life(place)) {
            let (all, at) = States::with(life.states.take(), state, make);
            life.states = Some(all);
            return at;
        }
        drop(lists);
        let (alone, at) = States::with(None, state, make);
        drop_safely(alone);
        at
    }

    /// Where the states of a color are, if it has some.
    pub(super) fn states_at(&self, place: &AtomicU32) -> Option<StatesPtr> {
        let lists = self.lock();
        let life = lists.as_ref()?.colors.get(place.load(Relaxed) as usize)?;
        life.states.as_ref().map(States::place)
    }

    /// Notes what is to end with a color: by which key; `None` if that has ended.
    pub(super) fn list(&self, place: &AtomicU32, what: Weak<dyn EndsWithColor>) -> Option<usize> {
        let mut lock = self.lock();
        let lists = lock.as_mut()?;
        let key = lists.listed.vacant_key();
        let newest = u32::try_from(key).ok()?;
        let (color, life) = lists.life(place)?;
        let older = core::mem::replace(&mut life.first, newest);
        if let Some(older) = lists.listed.get_mut(older as usize) {
            older.newer = newest;
        }
        lists.listed.insert(Listed {
            what,
            color,
            newer: NONE,
            older,
        });
        Some(key)
    }

    /// Forgets what is over. The key may be another one's by now, if the color has ended.
    pub(crate) fn unlist(&self, key: usize, what: *const ()) {
        let mut lock = self.lock();
        let Some(lists) = lock.as_mut() else { return };
        let is_it = |listed: &Listed| core::ptr::addr_eq(listed.what.as_ptr(), what);
        if !lists.listed.get(key).is_some_and(is_it) {
            return;
        }
        let listed = lists.listed.remove(key);
        if let Some(older) = lists.listed.get_mut(listed.older as usize) {
            older.newer = listed.newer;
        }
        match lists.listed.get_mut(listed.newer as usize) {
            Some(newer) => newer.older = listed.older,
            None => {
                if let Some(life) = lists.colors.get_mut(listed.color as usize) {
                    life.first = listed.older;
                }
            }
        }
        drop(lock);
        drop(listed);
    }

    /// Takes all that a color has that ends: it gets nothing more.
    pub(super) fn end_color(&self, place: &AtomicU32) -> Ended {
        let mut lock = self.lock();
        let key = place.swap(ENDED, Relaxed);
        let Some(lists) = &mut *lock else {
            return Ended::default();
        };
        let Some(life) = lists.colors.try_remove(key as usize) else {
            return Ended::default();
        };
        Ended {
            listed: lists.take_listed(life.first),
            states: life.states,
        }
    }

    /// Ends all of them, and those that are yet to come.
    pub(crate) fn end(&self) {
        let lists = self.lock().take();
        let Some(lists) = lists else { return };
        let listed = lists.listed.into_iter().map(|(_, listed)| listed.what);
        drop(Ended {
            listed: listed.collect(),
            states: None,
        });
        for (_, life) in lists.colors {
            drop_safely(life.states);
        }
    }
}
