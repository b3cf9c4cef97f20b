//! The colors that are ready on a core and that only its owner may take.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::fmt;

use crate::bundle::{BUNDLE_COLORS, Bundle, ReadyColor, Ticketed};
use crate::ring::Ring;

/// The ready colors of a core that are not offered to thieves, in the order in
/// which they became ready.
///
/// Only the owner of the core touches it, so it needs no synchronisation: colors
/// whose pending time is less than a steal costs never leave it (see
/// [`Worthiness`](crate::Worthiness)), except in bundles when another core has
/// nothing to do. An array of pointers, not a linked list: the colors that come
/// next can be fetched into the cache before they are needed.
pub struct CoreQueue<C: ReadyColor> {
    colors: Ring<Ticketed<C>>,
    time_left_cycles: Cell<u64>,
}

impl<C: ReadyColor> CoreQueue<C> {
    /// A queue without colors.
    pub fn new() -> Self {
        Self {
            colors: Ring::new(),
            time_left_cycles: Cell::new(0),
        }
    }

    /// Appends a color; its ticket must be newer than all in the queue.
    #[inline]
    pub fn push(&self, color: Ticketed<C>) {
        let time_left = self.time_left_cycles.get() + color.time_left_cycles();
        self.time_left_cycles.set(time_left);
        self.colors.push_back(color);
    }

    /// Takes the color that is ready longest.
    #[inline]
    pub fn pop(&self) -> Option<Ticketed<C>> {
        let first = self.colors.pop_front()?;
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left - first.time_left_cycles());
        Some(first)
    }

    /// The color that is so many places behind the one that is ready longest.
    ///
    /// # Safety
    ///
    /// The queue is not changed while the color is borrowed.
    #[inline]
    pub unsafe fn peek(&self, behind: usize) -> Option<&Ticketed<C>> {
        // SAFETY: passed on to the caller.
        unsafe { self.colors.get(behind) }
    }

    /// Puts a bundle whose tickets are older than all here before all others.
    pub fn push_bundle_front(&self, mut bundle: Bundle<C>) {
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles();
        self.time_left_cycles.set(time_left);
        while let Some(color) = bundle.colors_mut().pop_back() {
            self.colors.push_front(color);
        }
    }

    /// Puts a bundle whose tickets are newer than all here behind all others.
    pub fn push_bundle_back(&self, mut bundle: Bundle<C>) {
        while let Some(color) = bundle.pop() {
            self.push(color);
        }
    }

    /// Takes the colors that became ready last, `colors_max` of them and a bundle at
    /// the most; `None` if there are none.
    pub fn take_newest(&self, colors_max: usize) -> Option<Bundle<C>> {
        let mut bundle = Bundle::new();
        let colors_max = colors_max.min(BUNDLE_COLORS);
        while bundle.len() < colors_max
            && let Some(color) = self.colors.pop_back()
        {
            bundle.push_front(color);
        }
        self.taken(bundle)
    }

    /// Takes the newest color that is wanted, of so many that became ready last.
    pub fn take_newest_if(
        &self,
        among: usize,
        is_wanted: impl Fn(&C) -> bool,
    ) -> Option<Ticketed<C>> {
        let is_wanted = |color: &Ticketed<C>| is_wanted(color.color());
        let taken = self.colors.take_newest_if(among, is_wanted)?;
        let time_left = self.time_left_cycles.get();
        self.time_left_cycles
            .set(time_left - taken.time_left_cycles());
        Some(taken)
    }

    /// Takes the colors that are ready longest, as many as a bundle holds; `None` if
    /// there are none.
    pub fn take_oldest(&self) -> Option<Bundle<C>> {
        let mut bundle = Bundle::new();
        while bundle.len() < BUNDLE_COLORS
            && let Some(color) = self.colors.pop_front()
        {
            bundle.push(color);
        }
        self.taken(bundle)
    }

    /// Takes account of colors that were taken out.
    fn taken(&self, bundle: Bundle<C>) -> Option<Bundle<C>> {
        let before = self.time_left_cycles.get();
        self.time_left_cycles
            .set(before - bundle.time_left_cycles());
        (!bundle.is_empty()).then_some(bundle)
    }

    /// How many colors there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.colors.len()
    }

    /// Whether there is no color.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Summed time left of the colors when they were queued, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles.get()
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    #[inline]
    pub fn oldest_ticket(&self) -> u64 {
        // SAFETY: the ring does not change before the ticket is copied.
        unsafe { self.colors.get(0) }.map_or(u64::MAX, Ticketed::ticket)
    }

    /// The ticket of the color that became ready last; 0 without colors.
    #[inline]
    pub fn newest_ticket(&self) -> u64 {
        // SAFETY: as in `oldest_ticket`.
        unsafe { self.colors.last() }.map_or(0, Ticketed::ticket)
    }
}

impl<C: ReadyColor> fmt::Debug for CoreQueue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreQueue")
            .field("len", &self.len())
            .field("time_left_cycles", &self.time_left_cycles())
            .finish_non_exhaustive()
    }
}

impl<C: ReadyColor> Default for CoreQueue<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::VecDeque;

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
        TakeNewestIf(usize, u64),
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
            1 => (0usize..9, 0u64..1000)
                .prop_map(|(among, cycles_max)| Op::TakeNewestIf(among, cycles_max)),
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
                    Op::TakeNewestIf(among, cycles_max) => {
                        let is_wanted = |c: &Color| c.time_left_cycles <= cycles_max;
                        let taken = queue.take_newest_if(among, is_wanted);
                        let taken = taken.map(|c| (c.ticket(), c.time_left_cycles()));
                        let at = model.iter().rev().take(among).position(|m| m.1 <= cycles_max);
                        let at = at.map(|behind| model.len() - 1 - behind);
                        prop_assert_eq!(taken, at.and_then(|at| model.remove(at)));
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
