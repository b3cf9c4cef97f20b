//! Who waits for room in bounded colors.

use std::collections::{BTreeMap, HashMap};
use std::task::Waker;

use super::{ColorRef, Shared};
use crate::machine::panics::{call_safely, drop_safely};
use crate::machine::sync::{Mutex, lock};

/// Those who wait, by color, in the order in which they came. A color's `AWAITED` is up
/// while it has one here; wakers are called and dropped outside of the lock.
pub(crate) struct Rooms(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    next_ticket: u64,
    /// By the address of the color, to which whoever waits has a reference.
    colors: HashMap<usize, BTreeMap<u64, Waker>>,
}

impl Rooms {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Lists::default()))
    }

    /// Begins to wait, or goes on in its old place.
    pub(crate) fn wait(&self, color: &ColorRef, ticket: Option<u64>, waker: Waker) -> u64 {
        let mut lists = lock(&self.0);
        let ticket = ticket.unwrap_or(lists.next_ticket);
        lists.next_ticket = lists.next_ticket.max(ticket + 1);
        let waiting = lists.colors.entry(color.address()).or_default();
        let before = waiting.insert(ticket, waker);
        color.note_awaited(true);
        drop(lists);
        drop_safely(before);
        ticket
    }

    /// Waits no more. Whether it was still among those who wait: if not, it was woken.
    pub(crate) fn leave(&self, color: &ColorRef, ticket: u64) -> bool {
        let mut lists = lock(&self.0);
        let left = lists.take(color, |waiting| waiting.remove(&ticket));
        drop(lists);
        let waited = left.is_some();
        drop_safely(left);
        waited
    }

    /// Wakes who has waited longest for room in this color.
    pub(crate) fn wake(&self, color: &ColorRef) {
        let mut lists = lock(&self.0);
        let first = lists.take(color, |waiting| waiting.pop_first());
        drop(lists);
        if let Some((_, waker)) = first {
            call_safely(|| waker.wake());
        }
    }

    /// Wakes all who wait for room in this color, or anywhere, in the order in which they came.
    pub(crate) fn wake_all(&self, color: Option<&ColorRef>) {
        let mut lists = lock(&self.0);
        let all: BTreeMap<_, _> = match color {
            Some(color) => lists.colors.remove(&color.address()).unwrap_or_default(),
            None => lists
                .colors
                .drain()
                .flat_map(|(_, waiting)| waiting)
                .collect(),
        };
        if let Some(color) = color {
            color.note_awaited(false);
        }
        drop(lists);
        for waker in all.into_values() {
            call_safely(|| waker.wake());
        }
    }
}

impl Lists {
    fn take<W>(
        &mut self,
        color: &ColorRef,
        take: impl FnOnce(&mut BTreeMap<u64, Waker>) -> Option<W>,
    ) -> Option<W> {
        let waiting = self.colors.get_mut(&color.address())?;
        let taken = take(waiting);
        if waiting.is_empty() {
            self.colors.remove(&color.address());
            color.note_awaited(false);
        }
        taken
    }
}

impl Shared {
    /// See [`Realm::room_came`](crate::cell::Realm::room_came).
    #[cold]
    pub(crate) fn room_came_in(&self, color: &ColorRef, is_over: bool) {
        match is_over {
            true => self.rooms.wake_all(Some(color)),
            false => self.rooms.wake(color),
        }
    }
}
