//! The colors that are ready on a core and that only its owner may take.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::bundle::{BUNDLE_COLORS, Bundle, ReadyColor, Ticketed, oldest};

/// The ready colors of a core that are not offered to thieves, in the order in
/// which they became ready.
///
/// Only the owner of the core touches it, so it needs no synchronisation: colors
/// whose pending time is less than a steal costs never leave it (see
/// [`Worthiness`](crate::Worthiness)), except in bundles when another core has
/// nothing to do. An array of pointers, not a linked list: the colors that come
/// next can be fetched into the cache before they are needed.
#[derive(Debug)]
pub struct CoreQueue<C: ReadyColor> {
    colors: RefCell<VecDeque<Ticketed<C>>>,
    time_left_cycles: Cell<u64>,
}

impl<C: ReadyColor> CoreQueue<C> {
    /// A queue without colors.
    pub const fn new() -> Self {
        Self {
            colors: RefCell::new(VecDeque::new()),
            time_left_cycles: Cell::new(0),
        }
    }

    /// Appends a color; its ticket must be newer than all in the queue.
    #[inline]
    pub fn push(&self, color: Ticketed<C>) {
        let time_left = self.time_left_cycles.get() + color.time_left_cycles();
        self.time_left_cycles.set(time_left);
        self.colors.borrow_mut().push_back(color);
    }

    /// Takes the color that is ready longest.
    #[inline]
    pub fn pop(&self) -> Option<Ticketed<C>> {
        let first = self.colors.borrow_mut().pop_front()?;
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left - first.time_left_cycles());
        Some(first)
    }

    /// Takes the color that is ready longest if it is wanted, given how many there are.
    #[inline]
    pub fn pop_if(&self, wanted: impl FnOnce(usize, &Ticketed<C>) -> bool) -> Option<Ticketed<C>> {
        let colors = self.colors.borrow();
        let is_wanted = colors
            .front()
            .is_some_and(|first| wanted(colors.len(), first));
        drop(colors);
        if is_wanted { self.pop() } else { None }
    }

    /// Shows the colors that are so many places behind the first, each with its place,
    /// to fetch them into the cache.
    #[inline]
    pub fn look_ahead<const N: usize>(&self, places: [usize; N], mut look: impl FnMut(usize, &C)) {
        let colors = self.colors.borrow();
        for ahead in places {
            if let Some(color) = colors.get(ahead) {
                look(ahead, color.color());
            }
        }
    }

    /// How many colors there are, and the ticket of the one that is ready longest
    /// (`u64::MAX` without colors).
    #[inline]
    pub fn len_and_oldest(&self) -> (usize, u64) {
        let colors = self.colors.borrow();
        (colors.len(), oldest(&colors))
    }

    /// Puts a bundle whose tickets are older than all here before all others.
    pub fn push_bundle_front(&self, mut bundle: Bundle<C>) {
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles();
        self.time_left_cycles.set(time_left);
        let mut colors = self.colors.borrow_mut();
        if colors.is_empty() {
            core::mem::swap(&mut *colors, bundle.colors_mut());
        }
        while let Some(color) = bundle.colors_mut().pop_back() {
            colors.push_front(color);
        }
    }

    /// Puts a bundle whose tickets are newer than all here behind all others.
    pub fn push_bundle_back(&self, mut bundle: Bundle<C>) {
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles();
        self.time_left_cycles.set(time_left);
        self.colors.borrow_mut().append(bundle.colors_mut());
    }

    /// Takes the colors that became ready last, `colors_max` of them and a bundle at
    /// the most; `None` if there are none.
    pub fn take_newest(&self, colors_max: usize) -> Option<Bundle<C>> {
        let mut colors = self.colors.borrow_mut();
        let before = colors.len();
        let count = before.min(colors_max).min(BUNDLE_COLORS);
        if count == 0 {
            return None;
        }
        Some(self.bundle(colors.split_off(before - count)))
    }

    /// Takes the colors that are ready longest, as many as a bundle holds; `None` if
    /// there are none.
    pub fn take_oldest(&self) -> Option<Bundle<C>> {
        let mut colors = self.colors.borrow_mut();
        let count = colors.len().min(BUNDLE_COLORS);
        if count == 0 {
            return None;
        }
        Some(self.bundle(colors.drain(..count).collect()))
    }

    /// Makes a bundle of colors that were taken out.
    fn bundle(&self, colors: VecDeque<Ticketed<C>>) -> Bundle<C> {
        let time_left_cycles = colors.iter().map(Ticketed::time_left_cycles).sum();
        let before = self.time_left_cycles.get();
        self.time_left_cycles.set(before - time_left_cycles);
        Bundle::of(colors, time_left_cycles)
    }

    /// How many colors there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.colors.borrow().len()
    }

    /// Whether there is no color.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.colors.borrow().is_empty()
    }

    /// Summed time left of the colors when they were queued, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles.get()
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    #[inline]
    pub fn oldest_ticket(&self) -> u64 {
        oldest(&self.colors.borrow())
    }

    /// The ticket of the color that became ready last; 0 without colors.
    #[inline]
    pub fn newest_ticket(&self) -> u64 {
        self.colors.borrow().back().map_or(0, |last| last.ticket())
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
    use proptest::prelude::*;

    /// A color that is nothing but numbers.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) struct Color {
        /// To tell it from others: its ticket.
        pub(crate) name: u64,
        pub(crate) len: u32,
        pub(crate) time_left_cycles: u64,
    }

    pub(crate) fn color(ticket: u64, len: u32, time_left_cycles: u64) -> Ticketed<Color> {
        let color = Color {
            name: ticket,
            len,
            time_left_cycles,
        };
        Ticketed::new(ticket, color)
    }

    impl ReadyColor for Color {
        fn len(&self) -> u32 {
            self.len
        }

        fn time_left_cycles(&self) -> u64 {
            self.time_left_cycles
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push(u64),
        Pop,
        TakeNewest(usize),
        TakeOldest,
        LendAndTakeBack,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn order_and_sum_hold(ops in proptest::collection::vec(prop_oneof![
            6 => (0u64..1000).prop_map(Op::Push),
            3 => Just(Op::Pop),
            1 => (0usize..100).prop_map(Op::TakeNewest),
            1 => Just(Op::TakeOldest),
            1 => Just(Op::LendAndTakeBack),
        ], 0..if cfg!(miri) { 40 } else { 400 })) {
            let queue = CoreQueue::new();
            let mut model: VecDeque<(u64, u64)> = VecDeque::new();
            for (ticket, op) in (0u64..).zip(ops) {
                match op {
                    Op::Push(cycles) => {
                        queue.push(color(ticket, 1, cycles));
                        model.push_back((ticket, cycles));
                    }
                    Op::Pop => {
                        let popped = queue.pop().map(|c| (c.ticket(), c.time_left_cycles()));
                        prop_assert_eq!(popped, model.pop_front());
                    }
                    Op::TakeNewest(count) => {
                        let taken = queue.take_newest(count);
                        let count = count.min(BUNDLE_COLORS).min(model.len());
                        let rest = model.split_off(model.len() - count);
                        prop_assert_eq!(taken.as_ref().map_or(0, Bundle::len), count);
                        let first = taken.map_or(u64::MAX, |b| b.oldest_ticket());
                        prop_assert_eq!(first, rest.front().map_or(u64::MAX, |f| f.0));
                    }
                    Op::TakeOldest => {
                        let taken = queue.take_oldest();
                        let oldest = model.front().map_or(u64::MAX, |f| f.0);
                        prop_assert_eq!(taken.as_ref().map_or(u64::MAX, Bundle::oldest_ticket), oldest);
                        drop(model.drain(..taken.map_or(0, |b| b.len())));
                    }
                    Op::LendAndTakeBack => if let Some(bundle) = queue.take_oldest() {
                        queue.push_bundle_front(bundle);
                    },
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.oldest_ticket(), model.front().map_or(u64::MAX, |f| f.0));
                prop_assert_eq!(queue.time_left_cycles(), model.iter().map(|m| m.1).sum::<u64>());
            }
        }
    }
}
