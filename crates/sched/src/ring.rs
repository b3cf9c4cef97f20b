//! A growing ring of values, changed through a shared reference.
//!
//! What the ready colors of a core wait in: each turn takes one from the front, looks
//! at three places behind, and often puts one at the end. Positions run freely and are
//! cut to a place by a mask, so none of this has a branch but the check for an empty or
//! full ring.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::mem::{ManuallyDrop, MaybeUninit};

/// Places of the smallest ring that is allocated. Miri is slow: it shall see small ones
/// grow.
const PLACES_MIN: usize = if cfg!(miri) { 4 } else { 64 };

type Place<T> = UnsafeCell<MaybeUninit<T>>;

/// A first-in, first-out queue in one array, whose size is a power of two or 0.
pub(crate) struct Ring<T> {
    places: UnsafeCell<Box<[Place<T>]>>,
    /// Places less one; all bits of the position of a value that count. Without places
    /// it is 0, and the ring is full.
    mask: Cell<usize>,
    /// The position of the first value.
    first: Cell<usize>,
    /// The position behind the last one.
    end: Cell<usize>,
}

// SAFETY: a ring is the sole owner of its values.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    /// A ring without values, which allocates nothing.
    pub(crate) fn new() -> Self {
        Self {
            places: UnsafeCell::new(Box::default()),
            mask: Cell::new(0),
            first: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// How many values there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end.get().wrapping_sub(self.first.get())
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get() == self.end.get()
    }

    /// The place of a position.
    ///
    /// # Safety
    ///
    /// The ring has places.
    #[inline]
    unsafe fn place(&self, position: usize) -> *mut T {
        // SAFETY: nobody changes the box but `grow`, which lends it to nobody.
        let places = unsafe { &*self.places.get() };
        // SAFETY: the mask is the number of places less one.
        let place = unsafe { places.get_unchecked(position & self.mask.get()) };
        place.get().cast()
    }

    /// Whether the next value needs more places.
    #[inline]
    fn is_full(&self) -> bool {
        // Without places the mask is 0, and so is the length: full as well.
        self.len() >= self.mask.get()
    }

    /// Puts a value behind all others.
    #[inline]
    pub(crate) fn push_back(&self, value: T) {
        // Nothing is dropped if growing fails: a value that may have to be is kept in
        // memory, written there in pieces and read back at once, which the processor can
        // only do when all earlier writes are in the cache.
        let value = ManuallyDrop::new(value);
        if self.is_full() {
            self.grow();
        }
        let end = self.end.get();
        // SAFETY: the ring is not full, so it has places, and this one has no value.
        unsafe { self.place(end).write(ManuallyDrop::into_inner(value)) };
        self.end.set(end.wrapping_add(1));
    }

    /// Puts a value before all others.
    #[inline]
    pub(crate) fn push_front(&self, value: T) {
        if self.is_full() {
            self.grow();
        }
        let first = self.first.get().wrapping_sub(1);
        // SAFETY: as in `push_back`.
        unsafe { self.place(first).write(value) };
        self.first.set(first);
    }

    /// Takes the first value.
    #[inline]
    pub(crate) fn pop_front(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let first = self.first.get();
        self.first.set(first.wrapping_add(1));
        // SAFETY: the place had a value, which from now on is outside the ring.
        Some(unsafe { self.place(first).read() })
    }

    /// Takes the last value.
    pub(crate) fn pop_back(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let last = self.end.get().wrapping_sub(1);
        self.end.set(last);
        // SAFETY: as in `pop_front`.
        Some(unsafe { self.place(last).read() })
    }

    /// Takes the newest value that is wanted, of so many that were put last.
    pub(crate) fn take_newest_if(&self, among: usize, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let end = self.end.get();
        let found = (1..=self.len().min(among)).find(|&behind| {
            // SAFETY: there is a value, and judging it does not change the ring.
            is_wanted(unsafe { &*self.place(end.wrapping_sub(behind)) })
        })?;
        // SAFETY: there is a value, which from now on is outside the ring.
        let taken = unsafe { self.place(end.wrapping_sub(found)).read() };
        for behind in (1..found).rev() {
            // SAFETY: the place before it has no value any more: it was taken, or has moved.
            unsafe {
                let value = self.place(end.wrapping_sub(behind)).read();
                self.place(end.wrapping_sub(behind + 1)).write(value);
            }
        }
        self.end.set(end.wrapping_sub(1));
        Some(taken)
    }

    /// The value so many places behind the first.
    ///
    /// # Safety
    ///
    /// The ring is not changed while the value is borrowed.
    #[inline]
    pub(crate) unsafe fn get(&self, behind: usize) -> Option<&T> {
        if behind >= self.len() {
            return None;
        }
        // SAFETY: there is a value, and the caller lets it stay.
        Some(unsafe { &*self.place(self.first.get().wrapping_add(behind)) })
    }

    /// The last value.
    ///
    /// # Safety
    ///
    /// As for [`get`](Self::get).
    #[inline]
    pub(crate) unsafe fn last(&self) -> Option<&T> {
        // SAFETY: the caller's word. No ring is so long that the place wraps.
        unsafe { self.get(self.len().wrapping_sub(1)) }
    }

    /// Doubles the places.
    #[cold]
    fn grow(&self) {
        let count = match self.mask.get() {
            0 => PLACES_MIN,
            mask => 2 * (mask + 1),
        };
        let places: Box<[Place<T>]> = (0..count)
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect();
        let len = self.len();
        for (behind, place) in places.iter().take(len).enumerate() {
            // SAFETY: there are so many values; each is moved to its new place, and the
            // old places are given up below without dropping what was in them.
            let value = unsafe { self.place(self.first.get().wrapping_add(behind)).read() };
            // SAFETY: nobody else has the new places.
            unsafe { place.get().write(MaybeUninit::new(value)) };
        }
        // SAFETY: no reference into the box is alive: `place` returns pointers, and what
        // `get` lends must be back.
        drop(unsafe { self.places.get().replace(places) });
        self.mask.set(count - 1);
        self.first.set(0);
        self.end.set(len);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::rc::Rc;

    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Op {
        PushBack,
        PushFront,
        PopFront,
        PopBack,
        TakeNewestIf { among: usize, divisor: usize },
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            5 => Just(Op::PushBack),
            2 => Just(Op::PushFront),
            3 => Just(Op::PopFront),
            1 => Just(Op::PopBack),
            1 => (0usize..9, 1usize..9)
                .prop_map(|(among, divisor)| Op::TakeNewestIf { among, divisor }),
        ];
        proptest::collection::vec(op, 0..if cfg!(miri) { 50 } else { 2_000 })
    }

    /// How far behind the first value is looked at; Miri's rings are short.
    const BEHIND_MAX: usize = if cfg!(miri) { 20 } else { 200 };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]

        #[test]
        fn a_ring_is_a_double_ended_queue(ops in ops(), behind in 0..BEHIND_MAX) {
            let ring = Ring::new();
            let mut model = VecDeque::new();
            let counted = Rc::new(());
            for (number, op) in ops.into_iter().enumerate() {
                let value = || (number, Rc::clone(&counted));
                match op {
                    Op::PushBack => {
                        ring.push_back(value());
                        model.push_back(number);
                    }
                    Op::PushFront => {
                        ring.push_front(value());
                        model.push_front(number);
                    }
                    Op::PopFront => {
                        prop_assert_eq!(ring.pop_front().map(|v| v.0), model.pop_front());
                    }
                    Op::PopBack => {
                        prop_assert_eq!(ring.pop_back().map(|v| v.0), model.pop_back());
                    }
                    Op::TakeNewestIf { among, divisor } => {
                        let is_wanted = |number: &usize| number.is_multiple_of(divisor);
                        let taken = ring.take_newest_if(among, |v| is_wanted(&v.0));
                        let at = model.iter().rev().take(among).position(is_wanted);
                        let at = at.map(|behind| model.len() - 1 - behind);
                        prop_assert_eq!(taken.map(|v| v.0), at.and_then(|at| model.remove(at)));
                    }
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.is_empty(), model.is_empty());
                // SAFETY: the ring is not changed meanwhile.
                let (seen, last) = unsafe { (ring.get(behind), ring.last()) };
                prop_assert_eq!(seen.map(|v| v.0), model.get(behind).copied());
                prop_assert_eq!(last.map(|v| v.0), model.back().copied());
                prop_assert_eq!(Rc::strong_count(&counted), 1 + model.len());
            }
            drop(ring);
            prop_assert_eq!(Rc::strong_count(&counted), 1);
        }
    }
}
