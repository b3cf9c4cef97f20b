//! An intrusive FIFO list: the queue nodes are the elements themselves.
//!
//! A list **owns** its elements: putting one in takes the owning pointer, taking
//! one out gives it back. That makes every operation safe for the caller, allocates
//! nothing, and moves a run of any length in constant time (the bundles of
//! [`StealQueue`](crate::StealQueue) depend on it).
#![allow(unsafe_code)]

use core::cell::Cell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// An owning pointer whose target carries the link that a [`List`] uses.
///
/// # Safety
///
/// * `into_raw` and `from_raw` are inverse, and between them nobody else frees
///   the target.
/// * `link` returns the same cell for as long as the target lives, and while a
///   list owns the target only that list uses the cell.
pub unsafe trait Linked: Sized {
    /// What the pointer points to.
    type Target;

    /// Gives up the pointer without dropping its target.
    fn into_raw(self) -> NonNull<Self::Target>;

    /// Takes back what [`into_raw`](Self::into_raw) gave up.
    ///
    /// # Safety
    ///
    /// `raw` comes from `into_raw` and is taken back once.
    unsafe fn from_raw(raw: NonNull<Self::Target>) -> Self;

    /// The link inside the target.
    ///
    /// # Safety
    ///
    /// `raw` points to a live target for the whole of `'a`.
    unsafe fn link<'a>(raw: NonNull<Self::Target>) -> &'a Link<Self::Target>;
}

/// The link to the next element of a list, a field of each element.
pub type Link<T> = Cell<Option<NonNull<T>>>;

/// A first-in, first-out list that owns its elements.
///
/// All methods take `&self`: a handler that runs in the middle of a walk may push
/// to the list it came from. The list is not `Sync`; whoever owns it decides who
/// may reach it.
pub struct List<P: Linked> {
    head: Link<P::Target>,
    tail: Link<P::Target>,
}

// SAFETY: a list is the sole owner of its elements, so sending it sends them;
// nothing in it belongs to the thread that made it.
unsafe impl<P: Linked + Send> Send for List<P> {}

impl<P: Linked> List<P> {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            head: Cell::new(None),
            tail: Cell::new(None),
        }
    }

    /// Whether nothing is in the list.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.get().is_none()
    }

    /// Puts `item` behind all others.
    #[inline]
    pub fn push_back(&self, item: P) {
        let raw = item.into_raw();
        // SAFETY: `raw` is live, and from here on this list owns it.
        unsafe { P::link(raw) }.set(None);
        self.append(raw, raw);
    }

    /// Puts `item` before all others.
    #[inline]
    pub fn push_front(&self, item: P) {
        let raw = item.into_raw();
        // SAFETY: `raw` is live, and from here on this list owns it.
        unsafe { P::link(raw) }.set(self.head.get());
        self.head.set(Some(raw));
        if self.tail.get().is_none() {
            self.tail.set(Some(raw));
        }
    }

    /// Takes the first element.
    #[inline]
    pub fn pop_front(&self) -> Option<P> {
        let raw = self.head.get()?;
        // SAFETY: the list owns `raw`, so it is live and its link is ours.
        let next = unsafe { P::link(raw) }.get();
        self.head.set(next);
        if next.is_none() {
            self.tail.set(None);
        }
        // SAFETY: `raw` came in through `into_raw` and has just left the list.
        Some(unsafe { P::from_raw(raw) })
    }

    /// Looks at the first element without taking it.
    #[inline]
    pub fn peek<R>(&self, look: impl FnOnce(&P) -> R) -> Option<R> {
        let raw = self.head.get()?;
        // SAFETY: the list owns `raw`; the pointer made here is lent, never dropped.
        let front = ManuallyDrop::new(unsafe { P::from_raw(raw) });
        Some(look(&front))
    }

    /// Moves all of `other` behind the elements of this list, in constant time.
    pub fn append_list(&self, other: &Self) {
        let (Some(head), Some(tail)) = (other.head.take(), other.tail.take()) else {
            return;
        };
        self.append(head, tail);
    }

    /// Builds a list from a chain that was linked newest first, as a
    /// compare-and-swap stack leaves it, and returns it oldest first.
    ///
    /// # Safety
    ///
    /// Every element of the chain was given up with `into_raw`, is linked through
    /// its own link, and belongs to the caller alone.
    pub unsafe fn from_reversed(newest: NonNull<P::Target>) -> Self {
        let list = Self::new();
        list.tail.set(Some(newest));
        let mut following = None;
        let mut at = Some(newest);
        while let Some(raw) = at {
            // SAFETY: the caller vouches for every element of the chain.
            at = unsafe { P::link(raw) }.replace(following);
            following = Some(raw);
        }
        list.head.set(following);
        list
    }

    /// How many elements there are; walks all of them.
    pub fn count(&self) -> usize {
        let mut count = 0;
        let mut at = self.head.get();
        while let Some(raw) = at {
            // SAFETY: the list owns `raw`.
            at = unsafe { P::link(raw) }.get();
            count += 1;
        }
        count
    }

    fn append(&self, head: NonNull<P::Target>, tail: NonNull<P::Target>) {
        match self.tail.replace(Some(tail)) {
            // SAFETY: `last` is an element of this list.
            Some(last) => unsafe { P::link(last) }.set(Some(head)),
            None => self.head.set(Some(head)),
        }
    }
}

impl<P: Linked> Default for List<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Linked> Drop for List<P> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
    }
}

impl<P: Linked> fmt::Debug for List<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("len", &self.count()).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The simplest element: a boxed number with a link.
    #[derive(Debug)]
    pub(crate) struct Item(Box<ItemTarget>);

    #[derive(Debug)]
    pub(crate) struct ItemTarget {
        link: Link<ItemTarget>,
        pub(crate) value: u64,
    }

    impl Item {
        pub(crate) fn new(value: u64) -> Self {
            Self(Box::new(ItemTarget {
                link: Cell::new(None),
                value,
            }))
        }

        pub(crate) fn value(&self) -> u64 {
            self.0.value
        }
    }

    // SAFETY: a box leaked and taken back; the link is a plain field of it.
    unsafe impl Linked for Item {
        type Target = ItemTarget;

        fn into_raw(self) -> NonNull<ItemTarget> {
            NonNull::from(Box::leak(self.0))
        }

        unsafe fn from_raw(raw: NonNull<ItemTarget>) -> Self {
            // SAFETY: `raw` was leaked by `into_raw`.
            Self(unsafe { Box::from_raw(raw.as_ptr()) })
        }

        unsafe fn link<'a>(raw: NonNull<ItemTarget>) -> &'a Link<ItemTarget> {
            // SAFETY: the caller vouches that `raw` is live; only the link is reached.
            unsafe { &(*raw.as_ptr()).link }
        }
    }

    fn drain(list: &List<Item>) -> Vec<u64> {
        std::iter::from_fn(|| list.pop_front())
            .map(|i| i.value())
            .collect()
    }

    #[derive(Clone, Debug)]
    enum Op {
        PushBack(u64),
        PushFront(u64),
        Pop,
        Append(Vec<u64>),
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            any::<u64>().prop_map(Op::PushBack),
            any::<u64>().prop_map(Op::PushFront),
            Just(Op::Pop),
            proptest::collection::vec(any::<u64>(), 0..4).prop_map(Op::Append),
        ];
        proptest::collection::vec(op, 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn behaves_as_a_deque(ops in ops()) {
            let list = List::new();
            let mut model = VecDeque::new();
            for op in ops {
                match op {
                    Op::PushBack(v) => { list.push_back(Item::new(v)); model.push_back(v); }
                    Op::PushFront(v) => { list.push_front(Item::new(v)); model.push_front(v); }
                    Op::Pop => {
                        prop_assert_eq!(list.pop_front().map(|i| i.value()), model.pop_front());
                    }
                    Op::Append(values) => {
                        let other = List::new();
                        values.iter().for_each(|&v| other.push_back(Item::new(v)));
                        list.append_list(&other);
                        prop_assert!(other.is_empty());
                        model.extend(values);
                    }
                }
                prop_assert_eq!(list.count(), model.len());
                prop_assert_eq!(list.peek(Item::value), model.front().copied());
            }
            prop_assert_eq!(drain(&list), Vec::from(model));
        }
    }

    #[test]
    fn a_reversed_chain_comes_out_oldest_first() {
        let chain: Vec<_> = (0..4).map(|v| Item::new(v).into_raw()).collect();
        for pair in chain.windows(2) {
            // SAFETY: both are live, and nobody else has them.
            unsafe { Item::link(pair[1]) }.set(Some(pair[0]));
        }
        // SAFETY: the chain above is ours alone.
        let list = unsafe { List::<Item>::from_reversed(chain[3]) };
        assert_eq!(drain(&list), [0, 1, 2, 3]);
    }

    #[test]
    fn dropping_a_list_drops_its_elements() {
        let list = List::new();
        list.push_back(Item::new(1));
        list.push_back(Item::new(2));
        drop(list); // Miri and the leak sanitizer see a leak here.
    }
}
