//! The colors that are ready on a core and that only its owner may take.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::list::{Linked, List};

/// A color that has events to run, as the queues of a core see it.
pub trait ReadyColor: Linked {
    /// Pending events.
    fn len(&self) -> u32;

    /// Whether no event is pending; a ready color may be empty for a moment, when
    /// its events still wait in its inbox.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Summed time left of the pending events, in cycles.
    fn time_left_cycles(&self) -> u64;

    /// The place in the order in which the colors of a core became ready.
    fn ticket(&self) -> u64;

    /// Sets the place.
    fn set_ticket(&self, ticket: u64);
}

/// How many colors travel together at the most.
///
/// A bundle is handed over by one lock operation (about 20 ns uncontended, 120 ns
/// when the line comes from another core), so 64 colors pay 2 ns each; larger
/// bundles would make sharing coarser than half of a small backlog.
pub const BUNDLE_COLORS: usize = 64;

/// Colors that travel together: too short to be stolen one by one.
#[derive(Debug)]
pub struct Bundle<C: ReadyColor> {
    colors: List<C>,
    len: Cell<usize>,
    time_left_cycles: Cell<u64>,
}

impl<C: ReadyColor> Bundle<C> {
    /// A bundle without colors.
    pub const fn new() -> Self {
        Self {
            colors: List::new(),
            len: Cell::new(0),
            time_left_cycles: Cell::new(0),
        }
    }

    /// Adds a color behind the others.
    pub fn push(&self, color: C) {
        self.len.set(self.len.get() + 1);
        let time_left = self.time_left_cycles.get() + color.time_left_cycles();
        self.time_left_cycles.set(time_left);
        self.colors.push_back(color);
    }

    /// Takes the color that is ready longest.
    pub fn pop(&self) -> Option<C> {
        let color = self.colors.pop_front()?;
        self.len.set(self.len.get() - 1);
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left.saturating_sub(color.time_left_cycles()));
        Some(color)
    }

    /// How many colors there are.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there is no color.
    pub fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    /// Summed time left of the colors, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles.get()
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    pub fn oldest_ticket(&self) -> u64 {
        self.colors.peek(C::ticket).unwrap_or(u64::MAX)
    }
}

impl<C: ReadyColor> Default for Bundle<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// The ready colors of a core that are not offered to thieves, in the order in
/// which they became ready.
///
/// Only the owner of the core touches it, so it needs no synchronisation: colors
/// whose pending time is less than a steal costs never leave it (see
/// [`Worthiness`](crate::Worthiness)), except in bundles when another core has
/// nothing to do.
#[derive(Debug)]
pub struct CoreQueue<C: ReadyColor> {
    /// Never holds an empty bundle but as its only one.
    bundles: RefCell<VecDeque<Bundle<C>>>,
    len: Cell<usize>,
    time_left_cycles: Cell<u64>,
}

impl<C: ReadyColor> CoreQueue<C> {
    /// A queue without colors.
    pub fn new() -> Self {
        Self {
            bundles: RefCell::new(VecDeque::from([Bundle::new()])),
            len: Cell::new(0),
            time_left_cycles: Cell::new(0),
        }
    }

    /// Appends a color; its ticket must be newer than all in the queue.
    pub fn push(&self, color: C) {
        self.len.set(self.len.get() + 1);
        let time_left = self.time_left_cycles.get() + color.time_left_cycles();
        self.time_left_cycles.set(time_left);
        let mut bundles = self.bundles.borrow_mut();
        match bundles.back() {
            Some(last) if last.len() < BUNDLE_COLORS => last.push(color),
            _ => {
                let bundle = Bundle::new();
                bundle.push(color);
                bundles.push_back(bundle);
            }
        }
    }

    /// Takes the color that is ready longest.
    pub fn pop(&self) -> Option<C> {
        let mut bundles = self.bundles.borrow_mut();
        let first = bundles.front()?;
        let color = first.pop()?;
        if first.is_empty() && bundles.len() > 1 {
            bundles.pop_front();
        }
        self.len.set(self.len.get() - 1);
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left.saturating_sub(color.time_left_cycles()));
        Some(color)
    }

    /// Puts a bundle whose tickets are older than all here before all others.
    pub fn push_bundle_front(&self, bundle: Bundle<C>) {
        if bundle.is_empty() {
            return;
        }
        self.len.set(self.len.get() + bundle.len());
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles();
        self.time_left_cycles.set(time_left);
        let mut bundles = self.bundles.borrow_mut();
        if bundles.front().is_some_and(Bundle::is_empty) {
            bundles.pop_front();
        }
        bundles.push_front(bundle);
    }

    /// Takes the bundle of the colors that became ready last.
    pub fn take_newest(&self) -> Option<Bundle<C>> {
        let mut bundles = self.bundles.borrow_mut();
        let bundle = bundles.pop_back().filter(|b| !b.is_empty());
        if bundles.is_empty() {
            bundles.push_back(Bundle::new());
        }
        let bundle = bundle?;
        self.len.set(self.len.get() - bundle.len());
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left.saturating_sub(bundle.time_left_cycles()));
        Some(bundle)
    }

    /// Takes the newest bundle, or the newer half of it if it is the only one; a
    /// single color stays.
    pub fn split_newest(&self) -> Option<Bundle<C>> {
        if self.bundles.borrow().len() > 1 {
            return self.take_newest();
        }
        let only = self.take_newest()?;
        let older = Bundle::new();
        for _ in 0..only.len().div_ceil(2) {
            older.push(only.pop()?);
        }
        self.push_bundle_front(older);
        (!only.is_empty()).then_some(only)
    }

    /// How many colors there are.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there is no color.
    pub fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    /// Summed time left of the colors, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles.get()
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    pub fn oldest_ticket(&self) -> u64 {
        let bundles = self.bundles.borrow();
        bundles.front().map_or(u64::MAX, Bundle::oldest_ticket)
    }
}

impl<C: ReadyColor> Default for CoreQueue<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::list::Link;
    use core::ptr::NonNull;
    use proptest::prelude::*;

    /// A color that is nothing but numbers.
    #[derive(Debug)]
    pub(crate) struct Numbers {
        pub(crate) len: u32,
        pub(crate) time_left_cycles: u64,
        ticket: Cell<u64>,
        link: Link<Numbers>,
    }

    pub(crate) type Color = Box<Numbers>;

    pub(crate) fn color(ticket: u64, len: u32, time_left_cycles: u64) -> Color {
        Box::new(Numbers {
            len,
            time_left_cycles,
            ticket: Cell::new(ticket),
            link: Cell::new(None),
        })
    }

    #[allow(unsafe_code)]
    // SAFETY: a box leaked and taken back; the link is a plain field of it.
    unsafe impl Linked for Box<Numbers> {
        type Target = Numbers;

        fn into_raw(self) -> NonNull<Numbers> {
            NonNull::from(Box::leak(self))
        }

        unsafe fn from_raw(raw: NonNull<Numbers>) -> Self {
            // SAFETY: `raw` was leaked by `into_raw`.
            unsafe { Box::from_raw(raw.as_ptr()) }
        }

        unsafe fn link<'a>(raw: NonNull<Numbers>) -> &'a Link<Numbers> {
            // SAFETY: the caller vouches that `raw` is live; only the link is reached.
            unsafe { &(*raw.as_ptr()).link }
        }
    }

    impl ReadyColor for Box<Numbers> {
        fn len(&self) -> u32 {
            self.len
        }

        fn time_left_cycles(&self) -> u64 {
            self.time_left_cycles
        }

        fn ticket(&self) -> u64 {
            self.ticket.get()
        }

        fn set_ticket(&self, ticket: u64) {
            self.ticket.set(ticket);
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push(u64),
        Pop,
        TakeNewest,
        SplitNewest,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn order_and_sums_hold(ops in proptest::collection::vec(prop_oneof![
            6 => (0u64..1000).prop_map(Op::Push),
            3 => Just(Op::Pop),
            1 => Just(Op::TakeNewest),
            1 => Just(Op::SplitNewest),
        ], 0..400)) {
            let queue = CoreQueue::new();
            let mut model: VecDeque<(u64, u64)> = VecDeque::new();
            for (ticket, op) in (0u64..).zip(ops) {
                match op {
                    Op::Push(cycles) => {
                        queue.push(color(ticket, 1, cycles));
                        model.push_back((ticket, cycles));
                    }
                    Op::Pop => {
                        let popped = queue.pop().map(|c| (c.ticket(), c.time_left_cycles));
                        prop_assert_eq!(popped, model.pop_front());
                    }
                    Op::TakeNewest => {
                        let taken = queue.take_newest();
                        prop_assert_eq!(taken.is_some(), !model.is_empty());
                        let rest = model.split_off(queue.len());
                        let first = taken.map_or(u64::MAX, |b| b.oldest_ticket());
                        prop_assert_eq!(first, rest.front().map_or(u64::MAX, |f| f.0));
                    }
                    Op::SplitNewest => {
                        let taken = queue.split_newest();
                        prop_assert_eq!(taken.is_some(), model.len() > 1);
                        let rest = model.split_off(queue.len());
                        prop_assert_eq!(taken.map_or(0, |b| b.len()), rest.len());
                    }
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.is_empty(), model.is_empty());
                prop_assert_eq!(queue.oldest_ticket(), model.front().map_or(u64::MAX, |f| f.0));
                prop_assert_eq!(queue.time_left_cycles(), model.iter().map(|m| m.1).sum::<u64>());
            }
        }
    }
}
