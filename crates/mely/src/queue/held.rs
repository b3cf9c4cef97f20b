//! What becomes ready on a core while a long event holds it.
//!
//! A queue that the core fills without a lock and thieves empty: one giver, and one
//! taker at a time, who holds a lock. It has no bound: a giver that had to wait, or to
//! lock, would pay for that once for each event it posts. The taker claims many elements
//! at once, and reads them when it has given the lock back: a thief that reads what the
//! giver has just written waits 100 ns for each line.
#![allow(unsafe_code)]

mod segments;

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use self::segments::{End, SEGMENT, Segment, Slot, Spare};
use crate::machine::sync::{Arc, AtomicUsize};

/// What both ends share; both counts only grow.
#[repr(align(128))]
pub(crate) struct Held<T> {
    /// How many were given.
    given: AtomicUsize,
    /// How many were claimed.
    taken: AtomicUsize,
    /// The taker's end.
    first: UnsafeCell<End<T>>,
    spare: Spare<T>,
}

// SAFETY: a slot is reached by the giver alone until `given` passes it, then by the
// taker, then by who has claimed it alone; the count is passed on with release and
// acquire. A segment is given up when all its elements have been read and the giver and
// the taker have gone on to the next, and the last one by who drops the queue. `first` is
// the taker's alone.
unsafe impl<T: Send> Sync for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Held<T> {}

/// The one who fills the queue.
pub(crate) struct Giver<T> {
    held: Arc<Held<T>>,
    given: Cell<usize>,
    last: Cell<End<T>>,
}

// SAFETY: what it reaches is `Held`'s, and `T` may be sent.
unsafe impl<T: Send> Send for Giver<T> {}

/// The one who empties it.
pub(crate) struct Taker<T> {
    held: Arc<Held<T>>,
    taken: usize,
}

/// An empty queue, for all to look at, with its two ends.
pub(crate) fn queue<T>() -> (Arc<Held<T>>, Giver<T>, Taker<T>) {
    let end = End {
        segment: Segment::new(),
        slot: 0,
    };
    let held = Arc::new(Held {
        given: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        first: UnsafeCell::new(end),
        spare: Spare::new(),
    });
    let giver = Giver {
        held: Arc::clone(&held),
        given: Cell::new(0),
        last: Cell::new(end),
    };
    let taker = Taker {
        held: Arc::clone(&held),
        taken: 0,
    };
    (held, giver, taker)
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
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        // The taker was dropped before, and has taken everything.
        let last = self.first.get_mut().segment;
        // SAFETY: it was boxed, no segment follows it, and both ends are gone.
        drop(unsafe { Box::from_raw(last.as_ptr()) });
    }
}

impl<T> Giver<T> {
    /// Adds an element.
    #[inline]
    pub(crate) fn give(&self, element: T) {
        let mut last = self.last.get();
        if last.slot == SEGMENT {
            last = self.begin_segment(last);
        }
        // SAFETY: the segment is not freed before the giver has gone on to the next.
        let (slot, behind) = unsafe { last.slot() };
        // SAFETY: the slot is free, and no taker reaches it before the exchange.
        unsafe { (*slot.get()).write(element) };
        self.last.set(behind);
        let given = self.given.get() + 1;
        self.given.set(given);
        // Release pairs with the acquire of `take`. Acquire, and an exchange instead
        // of a store, pair with `touch`.
        self.held.given.swap(given, AcqRel);
    }

    #[cold]
    fn begin_segment(&self, full: End<T>) -> End<T> {
        let next = self.held.spare.pop().unwrap_or_else(Segment::new);
        // SAFETY: the taker frees the full segment only after it has seen an element
        // of the next, which is given later.
        let full = unsafe { full.segment.as_ref() };
        // Release: the taker finds the segment as it was made.
        full.next.store(next.as_ptr(), Release);
        End {
            segment: next,
            slot: 0,
        }
    }

    /// Whether everything has been taken: exact, as only the giver adds.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: who takes an element that is still there goes through `take`.
        self.given.get() == self.held.taken.load(Relaxed)
    }
}

impl<T> Taker<T> {
    /// The element that was given first.
    pub(crate) fn first(&mut self) -> Option<&T> {
        let (slot, _) = self.first_slot()?;
        // SAFETY: the giver has filled the slot and does not come back to it; there is
        // no other taker.
        Some(unsafe { (*slot.get()).assume_init_ref() })
    }

    /// Claims the elements that were given first: `max` at the most, and those before the
    /// first that is not `wanted`, where none is wanted behind one that is not.
    pub(crate) fn claim(&mut self, max: usize, wanted: impl Fn(&T) -> bool) -> Option<Claim<T>> {
        // Acquire pairs with the release of `give`.
        let waiting = self.held.given.load(Acquire) - self.taken;
        self.first_slot()?;
        // SAFETY: only the taker reaches it.
        let mut end = unsafe { *self.held.first.get() };
        let max = max.min(waiting).min(SEGMENT - end.slot);
        // SAFETY: the segment is live until the taker has gone on to the next.
        let slots = unsafe { &end.segment.as_ref().slots[end.slot..end.slot + max] };
        // SAFETY: the giver has filled these slots, and nobody has claimed them.
        let is_wanted = |slot: &Slot<T>| wanted(unsafe { (*slot.get()).assume_init_ref() });
        let count = match slots.last().is_none_or(is_wanted) {
            true => max,
            false => slots.partition_point(is_wanted),
        };
        if count == 0 {
            return None;
        }
        let claim = Claim {
            held: Arc::clone(&self.held),
            next: end,
            end: end.slot + count,
            count,
        };
        end.slot += count;
        self.set_end(end);
        self.taken += count;
        self.held.taken.store(self.taken, Release);
        Some(claim)
    }

    /// The slot of the first element, if there is one, and the end behind it.
    fn first_slot(&mut self) -> Option<(&Slot<T>, End<T>)> {
        // Acquire pairs with the release of `give`.
        if self.held.given.load(Acquire) == self.taken {
            return None;
        }
        // SAFETY: only the taker reaches it.
        let mut end = unsafe { *self.held.first.get() };
        if end.slot == SEGMENT {
            end = self.leave_segment(end);
            self.set_end(end);
        }
        // SAFETY: the segment is live until the taker has gone on to the next.
        Some(unsafe { end.slot() })
    }

    fn set_end(&mut self, end: End<T>) {
        // SAFETY: only the taker reaches it.
        unsafe { *self.held.first.get() = end };
    }

    /// Leaves a segment of which all elements have been claimed, for the next.
    fn leave_segment(&self, claimed: End<T>) -> End<T> {
        // Acquire pairs with the release of `begin_segment`.
        // SAFETY: the segment is live until the taker has left it, below.
        let next = NonNull::new(unsafe { claimed.segment.as_ref() }.next.load(Acquire));
        let next = next.expect("an element was given after a full segment");
        // SAFETY: an element was given after it, so the giver has left it; the taker
        // leaves it once.
        unsafe { self.held.spare.done(claimed.segment, 1) };
        End {
            segment: next,
            slot: 0,
        }
    }
}

impl<T> Drop for Taker<T> {
    fn drop(&mut self) {
        while self.claim(usize::MAX, |_| true).is_some() {}
    }
}

/// Elements that were claimed, in order. Those that are not read are dropped with it.
pub(crate) struct Claim<T> {
    held: Arc<Held<T>>,
    next: End<T>,
    /// The slot behind the last.
    end: usize,
    count: usize,
}

// SAFETY: the claim is the sole owner of these elements.
unsafe impl<T: Send> Send for Claim<T> {}

impl<T> Claim<T> {
    /// Reads the next element.
    ///
    /// # Safety
    ///
    /// One is left.
    #[inline]
    unsafe fn read(&mut self) -> T {
        // SAFETY: the segment lives until all its elements have been read.
        let (slot, behind) = unsafe { self.next.slot() };
        self.next = behind;
        // SAFETY: the giver has filled the slot, and this claim alone reads it, once.
        unsafe { (*slot.get()).assume_init_read() }
    }
}

impl<T> Iterator for Claim<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: one is left.
        (self.next.slot != self.end).then(|| unsafe { self.read() })
    }

    /// Elements go from where they are to where they are wanted: by way of an `Option`
    /// each would be written to the stack and read back in other pieces.
    #[inline]
    fn fold<R, F: FnMut(R, T) -> R>(mut self, begin: R, mut work: F) -> R {
        let mut result = begin;
        while self.next.slot != self.end {
            // SAFETY: one is left.
            result = work(result, unsafe { self.read() });
        }
        result
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next.slot;
        (left, Some(left))
    }
}

impl<T> Drop for Claim<T> {
    fn drop(&mut self) {
        self.for_each(drop);
        // SAFETY: these elements have been read, and are noted once.
        unsafe { self.held.spare.done(self.next.segment, self.count) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn take<T>(taker: &mut Taker<T>) -> Option<T> {
        taker.claim(1, |_| true)?.next()
    }

    #[test]
    fn claims_what_is_wanted_and_reads_it_in_any_order() {
        let (held, giver, mut taker) = queue();
        let many = 2 * SEGMENT + 3;
        (0..many).for_each(|n| giver.give(Arc::new(n)));
        assert!(taker.claim(usize::MAX, |_| false).is_none());
        let mut claims: Vec<_> = [(10, 100), (SEGMENT, 100), (SEGMENT, many), (SEGMENT, many)]
            .into_iter()
            .map(|(max, below)| taker.claim(max, |n| **n < below).unwrap())
            .collect();
        let lens: Vec<_> = claims.iter().map(|claim| claim.count).collect();
        assert_eq!(lens, [10, 90, SEGMENT - 100, SEGMENT]);
        assert_eq!(
            (held.len(), taker.first().map(|n| **n)),
            (3, Some(2 * SEGMENT))
        );
        // Read from the last to the first, and what is not read is dropped.
        let firsts: Vec<_> = core::iter::from_fn(|| claims.pop()?.next()).collect();
        assert_eq!(
            firsts.iter().map(|n| **n).collect::<Vec<_>>(),
            [SEGMENT, 100, 10, 0]
        );
        assert!(firsts.iter().all(|n| Arc::strong_count(n) == 1));
        drop(taker);
        assert_eq!(held.len(), 0);
    }

    #[test]
    fn gives_in_order_however_many() {
        let (held, giver, mut taker) = queue();
        for round in 0..3 {
            let numbers = |n: usize| Arc::new(round * 1000 + n);
            let many = 2 * SEGMENT + 3;
            (0..many).for_each(|n| giver.give(numbers(n)));
            assert_eq!((held.len(), giver.is_empty()), (many, false));
            for n in 0..many {
                assert_eq!(taker.first(), Some(&numbers(n)));
                assert_eq!(take(&mut taker), Some(numbers(n)));
            }
            assert_eq!(taker.first(), None);
            assert_eq!((take(&mut taker), held.len()), (None, 0));
            assert!(giver.is_empty());
        }
    }

    #[test]
    fn what_is_not_taken_is_dropped_once() {
        let element = Arc::new(());
        let (held, giver, taker) = queue();
        (0..SEGMENT + 3).for_each(|_| giver.give(Arc::clone(&element)));
        drop((held, giver, taker));
        assert_eq!(Arc::strong_count(&element), 1);
    }

    #[test]
    fn a_taker_on_another_thread_gets_everything_in_order() {
        const ELEMENTS: usize = if cfg!(miri) { 500 } else { 100_000 };
        let (_held, giver, mut taker) = queue::<Box<usize>>();
        let taking = std::thread::spawn(move || {
            let mut next = 0;
            while next < ELEMENTS {
                match taker.claim(7, |_| true) {
                    Some(claim) => claim.for_each(|element| {
                        assert_eq!(*element, next);
                        next += 1;
                    }),
                    None => std::thread::yield_now(),
                }
            }
        });
        for n in 0..ELEMENTS {
            giver.give(Box::new(n));
        }
        taking.join().unwrap();
    }
}
