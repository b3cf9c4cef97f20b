//! What becomes ready on a core while a long event holds it.
//!
//! A ring that the core fills without a lock and thieves empty: one giver, and one
//! taker at a time, who holds the lock of the core's offers.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{Arc, AtomicUsize};

/// How many elements wait before the giver must take the lock: once for so many it
/// costs less than 1 ns each.
const CAPACITY: usize = if cfg!(loom) { 2 } else { 256 };

/// Both counts only grow; a slot is that of a count modulo the capacity.
#[repr(align(128))]
pub(crate) struct Held<T> {
    /// How many were given.
    given: AtomicUsize,
    /// How many were taken.
    taken: AtomicUsize,
    slots: Box<[Slot<T>]>,
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: a slot is reached by the giver alone until `given` passes it, then by the
// taker alone until `taken` does; both are passed on with release and acquire.
unsafe impl<T: Send> Sync for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Held<T> {}

/// The one who fills the ring.
pub(crate) struct Giver<T> {
    ring: Arc<Held<T>>,
    given: Cell<usize>,
    /// How many had been taken at the last look.
    taken: Cell<usize>,
}

/// The one who empties it.
pub(crate) struct Taker<T> {
    ring: Arc<Held<T>>,
    taken: usize,
}

/// An empty ring, for all to look at, with its two ends.
pub(crate) fn ring<T>() -> (Arc<Held<T>>, Giver<T>, Taker<T>) {
    let slot = |_| UnsafeCell::new(MaybeUninit::uninit());
    let ring = Arc::new(Held {
        given: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        slots: (0..CAPACITY).map(slot).collect(),
    });
    let giver = Giver {
        ring: Arc::clone(&ring),
        given: Cell::new(0),
        taken: Cell::new(0),
    };
    let taker = Taker {
        ring: Arc::clone(&ring),
        taken: 0,
    };
    (ring, giver, taker)
}

impl<T> Held<T> {
    /// How many wait: a hint.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let taken = self.taken.load(Acquire);
        self.given.load(Acquire).saturating_sub(taken)
    }

    /// Makes sure that whoever gives later sees what the caller did before: a
    /// worker that is about to sleep is seen by the giver, or sees what was given.
    pub(crate) fn touch(&self) {
        // AcqRel: pairs with the exchange in `give`, on the same word.
        self.given.fetch_add(0, AcqRel);
    }

    fn slot(&self, count: usize) -> &Slot<T> {
        &self.slots[count % CAPACITY]
    }
}

impl<T> Giver<T> {
    /// Adds an element; gives it back if the ring is full.
    #[inline]
    pub(crate) fn give(&self, element: T) -> Result<(), T> {
        let given = self.given.get();
        if given - self.taken.get() == CAPACITY {
            // Acquire pairs with the release of `take`: the slot has been read.
            self.taken.set(self.ring.taken.load(Acquire));
            if given - self.taken.get() == CAPACITY {
                return Err(element);
            }
        }
        // SAFETY: the slot is free, and no taker reaches it before the exchange.
        unsafe { (*self.ring.slot(given).get()).write(element) };
        self.given.set(given + 1);
        // Release pairs with the acquire of `take`. Acquire, and an exchange instead
        // of a store, pair with `touch`.
        self.ring.given.swap(given + 1, AcqRel);
        Ok(())
    }

    /// Whether everything has been taken: exact, as only the giver adds.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: who takes an element that is still there goes through `take`.
        self.given.get() == self.ring.taken.load(Relaxed)
    }
}

impl<T> Taker<T> {
    /// Takes the element that was given first.
    pub(crate) fn take(&mut self) -> Option<T> {
        // Acquire pairs with the release of `give`.
        if self.ring.given.load(Acquire) == self.taken {
            return None;
        }
        // SAFETY: the giver has filled the slot, and does not reach it before it
        // sees the store below; there is no other taker.
        let element = unsafe { (*self.ring.slot(self.taken).get()).assume_init_read() };
        self.taken += 1;
        self.ring.taken.store(self.taken, Release);
        Some(element)
    }

    /// How many wait at least.
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }
}

impl<T> Drop for Taker<T> {
    fn drop(&mut self) {
        while self.take().is_some() {}
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn gives_in_order_and_refuses_when_full() {
        let (held, giver, mut taker) = ring();
        for round in 0..3 {
            let numbers = |n: usize| Arc::new(round * 1000 + n);
            for n in 0..CAPACITY {
                assert!(giver.give(numbers(n)).is_ok());
            }
            assert_eq!(giver.give(numbers(7)), Err(numbers(7)));
            assert_eq!((held.len(), giver.is_empty()), (CAPACITY, false));
            for n in 0..CAPACITY {
                assert_eq!(taker.take(), Some(numbers(n)));
            }
            assert_eq!((taker.take(), held.len()), (None, 0));
            assert!(giver.is_empty());
        }
    }

    #[test]
    fn what_is_not_taken_is_dropped_once() {
        let element = Arc::new(());
        let (held, giver, taker) = ring();
        for _ in 0..3 {
            assert!(giver.give(Arc::clone(&element)).is_ok());
        }
        drop((held, giver, taker));
        assert_eq!(Arc::strong_count(&element), 1);
    }

    #[test]
    fn a_taker_on_another_thread_gets_everything_in_order() {
        const ELEMENTS: usize = if cfg!(miri) { 500 } else { 100_000 };
        let (_held, giver, mut taker) = ring::<Box<usize>>();
        let taking = std::thread::spawn(move || {
            let mut next = 0;
            while next < ELEMENTS {
                match taker.take() {
                    Some(element) => {
                        assert_eq!(*element, next);
                        next += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
        for n in 0..ELEMENTS {
            let mut element = Box::new(n);
            while let Err(back) = giver.give(element) {
                element = back;
                std::thread::yield_now();
            }
        }
        taking.join().unwrap();
    }
}
