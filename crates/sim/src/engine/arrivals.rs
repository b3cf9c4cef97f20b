//! What comes from outside the machine, each at its time.

use core::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Engine;
use crate::mely::simulated::meter;

type Arrival = Box<dyn FnOnce(&Outside<'_>)>;

/// What is to come, soonest first, equal times in the order in which they were set.
pub(super) struct Arrivals {
    coming: RefCell<BTreeMap<(u64, u64), Arrival>>,
    /// When the first one comes; `u64::MAX` if none does.
    next: Cell<u64>,
    sequence: Cell<u64>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            coming: RefCell::default(),
            next: Cell::new(u64::MAX),
            sequence: Cell::new(0),
        }
    }
}

/// The world outside the machine, at the time of an arrival.
pub struct Outside<'a>(&'a Engine);

impl<'a> Outside<'a> {
    pub(super) fn of(engine: &'a Engine) -> Self {
        Self(engine)
    }

    /// The time, in cycles.
    #[must_use]
    pub fn now(&self) -> u64 {
        meter::now()
    }

    /// Lets something come at a time, now at the earliest: see
    /// [`Simulation::at`](super::Simulation::at).
    pub fn at(&self, time: u64, arrival: impl FnOnce(&Outside<'_>) + 'static) {
        self.0.arrivals.add(time.max(self.now()), Box::new(arrival));
    }

    /// Lets a thread that is no worker do something, from now on: workers and other
    /// threads go on meanwhile. Where there are as many as
    /// [`Settings::threads`](super::Settings::threads) already, it is done at once.
    pub fn thread(&self, body: impl FnOnce() + 'static) {
        self.0.start_thread(body);
    }
}

impl Arrivals {
    pub(super) fn add(&self, time: u64, arrival: Arrival) {
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        let mut coming = self.coming.borrow_mut();
        coming.insert((time, sequence), arrival);
        self.look_for_next(&coming);
    }

    /// When the next one comes; `u64::MAX` if none does.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next.get()
    }

    fn look_for_next(&self, coming: &BTreeMap<(u64, u64), Arrival>) {
        let first = coming.keys().next();
        self.next.set(first.map_or(u64::MAX, |&(time, _)| time));
    }

    /// Nothing comes any more.
    pub(super) fn cancel(&self) {
        self.next.set(u64::MAX);
        let gone = std::mem::take(&mut *self.coming.borrow_mut());
        drop(gone);
    }

    /// Lets the next one come.
    pub(super) fn come(&self, engine: &Engine) {
        let mut coming = self.coming.borrow_mut();
        let first = coming.pop_first();
        self.look_for_next(&coming);
        drop(coming);
        if let Some(((time, _), arrival)) = first {
            meter::set_now(time.max(meter::now()));
            arrival(&Outside(engine));
        }
    }
}
