//! The memory of the queue of held colors: segments, and those that are spare.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::machine::probe;
use crate::machine::sync::{AtomicPtr, AtomicUsize};

/// Elements of a segment: what allocating one costs (100 ns) is less than 1 ns each.
pub(super) const SEGMENT: usize = if cfg!(loom) { 1 } else { 256 };

/// Empty segments that are kept: those of 64 k elements, 2 MB. The allocator takes longer
/// for a segment, which is more than it keeps at hand, than the giver for filling it.
const SPARE_MAX: usize = 256;

pub(super) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// So many elements in a row, and where the next ones are.
#[cfg_attr(feature = "virtual", repr(align(64)))]
pub(super) struct Segment<T> {
    pub(super) slots: [Slot<T>; SEGMENT],
    /// Set by the giver before it gives an element there; of a spare one, the next
    /// spare.
    pub(super) next: AtomicPtr<Segment<T>>,
    /// How many elements have been read, and one more once the taker has left.
    done: AtomicUsize,
}

impl<T> Segment<T> {
    pub(super) fn new() -> NonNull<Self> {
        let slot = |_| UnsafeCell::new(MaybeUninit::uninit());
        let segment = NonNull::from(Box::leak(Box::new(Self {
            slots: core::array::from_fn(slot),
            next: AtomicPtr::new(ptr::null_mut()),
            done: AtomicUsize::new(0),
        })));
        probe::born(segment.as_ptr());
        segment
    }
}

/// Empty segments: takers push, the giver alone pops, so what it has seen on top
/// cannot be taken away and put back meanwhile.
pub(super) struct Spare<T> {
    top: AtomicPtr<Segment<T>>,
    segments: AtomicUsize,
}

impl<T> Spare<T> {
    pub(super) fn new() -> Self {
        Self {
            top: AtomicPtr::new(ptr::null_mut()),
            segments: AtomicUsize::new(0),
        }
    }

    /// Notes that so many elements of a segment have been read, or that the taker has
    /// left it (as one): the last to be done keeps the segment for the giver.
    ///
    /// # Safety
    ///
    /// The segment was boxed, and is live: each element, and the leaving, is noted once.
    /// Who notes does not come back to it.
    pub(super) unsafe fn done(&self, segment: NonNull<Segment<T>>, count: usize) {
        // SAFETY: the caller's word. Release: what the caller did to the segment comes
        // before the end of it, which acquires.
        let before = unsafe { segment.as_ref() }.done.fetch_add(count, AcqRel);
        if before + count == SEGMENT + 1 {
            // SAFETY: all elements have been read, and the taker has left, which it does
            // after the giver: nobody else reaches the segment.
            unsafe { self.push(segment) };
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
            // SAFETY: as above. Relaxed: the exchange publishes both.
            let emptied = unsafe { segment.as_ref() };
            emptied.done.store(0, Relaxed);
            emptied.next.store(top, Relaxed);
            // Release pairs with the acquire of `pop`.
            let new = segment.as_ptr();
            match self.top.compare_exchange(top, new, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    /// For the giver alone.
    pub(super) fn pop(&self) -> Option<NonNull<Segment<T>>> {
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
pub(super) struct End<T> {
    pub(super) segment: NonNull<Segment<T>>,
    pub(super) slot: usize,
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
    pub(super) unsafe fn slot<'a>(self) -> (&'a Slot<T>, Self) {
        // SAFETY: the caller's word.
        let slot = unsafe { &self.segment.as_ref().slots[self.slot] };
        let behind = Self {
            slot: self.slot + 1,
            ..self
        };
        (slot, behind)
    }
}
