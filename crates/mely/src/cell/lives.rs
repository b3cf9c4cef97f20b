//! What ends with the runtime, whoever still refers to it: the states of its colors, and
//! its tasks.
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

/// The place of a color that has no states.
pub(crate) const NO_STATES: u32 = u32::MAX;

/// What is told that the runtime has ended.
pub(crate) trait EndsWithRuntime: Send + Sync {
    /// No event will run any more.
    fn end(&self);
}

/// The states and tasks of a worker's colors; `None` once the runtime has ended.
pub(crate) struct Lives(Mutex<Option<Lists>>);

#[derive(Default)]
struct Lists {
    states: Slab<States>,
    tasks: Slab<Weak<dyn EndsWithRuntime>>,
}

impl Lives {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(Lists::default())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lists>> {
        lock(&self.0)
    }

    /// Keeps one more state of a color. `place` is where those that it has already are.
    ///
    /// After the end of the runtime no event can reach the state, which is dropped.
    pub(crate) fn adopt<T, M>(&self, place: &AtomicU32, state: T, make: M) -> StatePtr<T>
    where
        T: Send + 'static,
        M: Make<T>,
    {
        let mut lists = self.lock();
        let states = lists.as_mut().map(|lists| &mut lists.states);
        // Relaxed, here and below: it changes under this lock, and is read once the last
        // reference to the color is gone.
        let key = place.load(Relaxed);
        let before = states.and_then(|states| states.try_remove(key as usize));
        let (all, at) = States::with(before, state, make);
        match &mut *lists {
            Some(lists) => {
                let key = lists.states.insert(all);
                // There is no memory for more of them.
                place.store(u32::try_from(key).unwrap_or(NO_STATES), Relaxed);
            }
            None => {
                drop(lists);
                drop_safely(all);
            }
        }
        at
    }

    /// Where the states of a color are, if it has some.
    pub(super) fn states_at(&self, place: &AtomicU32) -> Option<StatesPtr> {
        let lists = self.lock();
        // Relaxed: as in `adopt`.
        let key = place.load(Relaxed);
        let states = lists.as_ref()?.states.get(key as usize)?;
        Some(states.place())
    }

    /// Takes the states of a color that was stopped.
    pub(super) fn take_states_at(&self, place: &AtomicU32) -> Option<States> {
        let mut lists = self.lock();
        // Relaxed: as in `adopt`.
        let key = place.swap(NO_STATES, Relaxed);
        lists.as_mut()?.states.try_remove(key as usize)
    }

    /// Takes the states of a color that ends.
    pub(crate) fn take_states(&self, place: u32) -> Option<States> {
        let mut lists = self.lock();
        lists.as_mut()?.states.try_remove(place as usize)
    }

    /// Notes a task that has begun; `None` if the runtime has ended.
    pub(crate) fn add_task(&self, task: Weak<dyn EndsWithRuntime>) -> Option<usize> {
        Some(self.lock().as_mut()?.tasks.insert(task))
    }

    /// Forgets a task that is over.
    pub(crate) fn remove_task(&self, key: usize) {
        let removed = self
            .lock()
            .as_mut()
            .and_then(|lists| lists.tasks.try_remove(key));
        drop(removed);
    }

    /// Ends all of them, and those that are yet to come.
    pub(crate) fn end(&self) {
        let lists = self.lock().take();
        let Some(lists) = lists else { return };
        for (_, task) in lists.tasks {
            if let Some(task) = task.upgrade() {
                task.end();
            }
        }
        for (_, states) in lists.states {
            drop_safely(states);
        }
    }
}
