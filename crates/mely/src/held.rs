//! What becomes ready on a core while a long event holds it.
//!
//! A queue that the core fills without a lock and thieves empty: one giver, and one
//! taker at a time, who holds the lock of the core's offers. It has no bound: a giver
//! that had to wait, or to lock, would pay for that once for each event it posts.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{Arc, AtomicPtr, AtomicUsize};

/// Elements of a segment: what allocating one costs (100 ns) is less than 1 ns each.
const SEGMENT: usize = if cfg!(loom) { 1 } else { 256 };

/// Empty segments that are kept: those of 64 k elements, 2 MB. The allocator takes longer
/// for a segment, which is more than it keeps at hand, than the giver for filling it.
const SPARE_MAX: usize = 256;

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// So many elements in a row, and where the next ones are.
struct Segment<T> {
    slots: [Slot<T>; SEGMENT],
    /// Set by the giver before it gives an element there; of a spare one, the next
    /// spare.
    next: AtomicPtr<Segment<T>>,
}

impl<T> Segment<T> {
    fn new() -> NonNull<Self> {
        let slot = |_| UnsafeCell::new(MaybeUninit::uninit());
        NonNull::from(Box::leak(Box::new(Self {
            slots: core::array::from_fn(slot),
            next: AtomicPtr::new(ptr::null_mut()),
        })))
    }
}

/// Empty segments: the taker pushes, the giver alone pops, so what it has seen on top
/// cannot be taken away and put back meanwhile.
struct Spare<T> {
    top: AtomicPtr<Segment<T>>,
    segments: AtomicUsize,
}

impl<T> Spare<T> {
    fn new() -> Self {
        Self {
            top: AtomicPtr::new(ptr::null_mut()),
            segments: AtomicUsize::new(0),
        }
    }

    /// Keeps a segment, or frees it if there are enough.
    ///
    /// # Safety
    ///
    /// The segment was boxed, and is the caller's alone; it is empty.
    unsafe fn push(&self, segment: NonNull<Segment<T>>) {
        // Relaxed: a count for the limit only.
        if self.segments.fetch_add(1, Relaxed) >= SPARE_MAX {
            self.segments.fetch_sub(1, Relaxed);
            // SAFETY: the caller's word.
            return drop(unsafe { Box::from_raw(segment.as_ptr()) });
        }
        let mut top = self.top.load(Relaxed);
        loop {
            // SAFETY: as above. Relaxed: the exchange publishes it.
            unsafe { segment.as_ref() }.next.store(top, Relaxed);
            // Release pairs with the acquire of `pop`.
            let new = segment.as_ptr();
            match self.top.compare_exchange(top, new, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    /// For the giver alone.
    fn pop(&self) -> Option<NonNull<Segment<T>>> {
        loop {
            // Acquire pairs with the release of `push`.
            let top = NonNull::new(self.top.load(Acquire))?;
            // SAFETY: only the caller takes segments away, so this one is live.
            let below = unsafe { top.as_ref() }.next.load(Relaxed);
            let taken = self
                .top
                .compare_exchange(top.as_ptr(), below, Acquire, Relaxed);
            if taken.is_ok() {
                self.segments.fetch_sub(1, Relaxed);
                return Some(top);
            }
        }
    }
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        while let Some(segment) = self.pop() {
            // SAFETY: it was boxed, and is nobody else's now.
            drop(unsafe { Box::from_raw(segment.as_ptr()) });
        }
    }
}

/// One end of the queue: a segment, and the next slot of it.
struct End<T> {
    segment: NonNull<Segment<T>>,
    slot: usize,
}

impl<T> Clone for End<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for End<T> {}

impl<T> End<T> {
    /// The slot, and the end behind it.
    ///
    /// # Safety
    ///
    /// The segment is live, and there is such a slot.
    unsafe fn slot<'a>(self) -> (&'a Slot<T>, Self) {
        // SAFETY: the caller's word.
        let slot = unsafe { &self.segment.as_ref().slots[self.slot] };
        let behind = Self {
            slot: self.slot + 1,
            ..self
        };
        (slot, behind)
    }
}

/// What both ends share; both counts only grow.
#[repr(align(128))]
pub(crate) struct Held<T> {
    /// How many were given.
    given: AtomicUsize,
    /// How many were taken.
    taken: AtomicUsize,
    /// The taker's end.
    first: UnsafeCell<End<T>>,
    spare: Spare<T>,
}

// SAFETY: a slot is reached by the giver alone until `given` passes it, then by the
// taker alone; the count is passed on with release and acquire. A segment is given up by
// the taker once the giver has gone on to the next, and the last one by who drops the
// queue. `first` is the taker's alone.
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

    /// Takes the element that was given first.
    pub(crate) fn take(&mut self) -> Option<T> {
        let (slot, behind) = self.first_slot()?;
        // SAFETY: as in `first`; it is read once, as the end moves on.
        let element = unsafe { (*slot.get()).assume_init_read() };
        self.set_end(behind);
        self.taken += 1;
        self.held.taken.store(self.taken, Release);
        Some(element)
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
            end = self.end_segment(end);
            self.set_end(end);
        }
        // SAFETY: the segment is live until the taker has gone on to the next.
        Some(unsafe { end.slot() })
    }

    fn set_end(&mut self, end: End<T>) {
        // SAFETY: only the taker reaches it.
        unsafe { *self.held.first.get() = end };
    }

    /// Gives up a segment that is empty, and goes on to the next.
    fn end_segment(&self, empty: End<T>) -> End<T> {
        // Acquire pairs with the release of `begin_segment`.
        // SAFETY: the segment is live: only the taker takes it away, here.
        let next = NonNull::new(unsafe { empty.segment.as_ref() }.next.load(Acquire));
        let next = next.expect("an element was given after a full segment");
        // SAFETY: an element was given after it, so the giver has left it, and it is
        // reached by nobody else.
        unsafe { self.held.spare.push(empty.segment) };
        End {
            segment: next,
            slot: 0,
        }
    }

    /// How many wait at least.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
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
    fn gives_in_order_however_many() {
        let (held, giver, mut taker) = queue();
        for round in 0..3 {
            let numbers = |n: usize| Arc::new(round * 1000 + n);
            let many = 2 * SEGMENT + 3;
            (0..many).for_each(|n| giver.give(numbers(n)));
            assert_eq!((held.len(), giver.is_empty()), (many, false));
            for n in 0..many {
                assert_eq!(taker.first(), Some(&numbers(n)));
                assert_eq!(taker.take(), Some(numbers(n)));
            }
            assert_eq!(taker.first(), None);
            assert_eq!((taker.take(), held.len()), (None, 0));
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
            giver.give(Box::new(n));
        }
        taking.join().unwrap();
    }
}
