//! The colors that are ready on a core and that only its owner may take.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// A color that has events to run, as the queues of a core see it.
pub trait ReadyColor {
    /// Pending events.
    fn len(&self) -> u32;

    /// Whether no event is pending; a ready color may be empty for a moment, when
    /// its events still wait in its inbox.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Summed time left of the pending events, in cycles.
    fn time_left_cycles(&self) -> u64;
}

/// A color with its place in the order in which the colors of a core became ready.
///
/// The queues keep the place beside the color, so that comparing places touches no
/// color.
#[derive(Debug)]
pub struct Ticketed<C> {
    /// The place.
    pub ticket: u64,
    /// The color.
    pub color: C,
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
    colors: VecDeque<Ticketed<C>>,
    time_left_cycles: u64,
}

impl<C: ReadyColor> Bundle<C> {
    /// A bundle without colors.
    pub const fn new() -> Self {
        Self {
            colors: VecDeque::new(),
            time_left_cycles: 0,
        }
    }

    /// A bundle of one color, with room for as many as may travel together.
    pub fn begin(color: Ticketed<C>) -> Self {
        let mut bundle = Self {
            colors: VecDeque::with_capacity(BUNDLE_COLORS),
            time_left_cycles: 0,
        };
        bundle.push(color);
        bundle
    }

    /// Adds a color behind the others.
    pub fn push(&mut self, color: Ticketed<C>) {
        self.time_left_cycles += color.color.time_left_cycles();
        self.colors.push_back(color);
    }

    /// Takes the color that is ready longest.
    pub fn pop(&mut self) -> Option<C> {
        self.colors.pop_front().map(|first| first.color)
    }

    /// How many colors there are.
    pub fn len(&self) -> usize {
        self.colors.len()
    }

    /// Whether there is no color.
    pub fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Summed time left of the colors that were put in, in cycles; an estimate for
    /// a bundle that was split from a queue.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    pub fn oldest_ticket(&self) -> u64 {
        oldest(&self.colors)
    }
}

/// The ticket of the first; `u64::MAX` if there is none.
pub(crate) fn oldest<C>(colors: &VecDeque<Ticketed<C>>) -> u64 {
    colors.front().map_or(u64::MAX, |first| first.ticket)
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
        let time_left = self.time_left_cycles.get() + color.color.time_left_cycles();
        self.time_left_cycles.set(time_left);
        self.colors.borrow_mut().push_back(color);
    }

    /// Takes the color that is ready longest.
    #[inline]
    pub fn pop(&self) -> Option<C> {
        let mut colors = self.colors.borrow_mut();
        let color = colors.pop_front()?.color;
        let time_left = match colors.is_empty() {
            true => 0,
            false => self.time_left_cycles.get(),
        };
        self.time_left_cycles
            .set(time_left.saturating_sub(color.time_left_cycles()));
        Some(color)
    }

    /// Takes the color that is ready longest if it is wanted, given how many there are.
    #[inline]
    pub fn pop_if(&self, wanted: impl FnOnce(usize, &Ticketed<C>) -> bool) -> Option<C> {
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
                look(ahead, &color.color);
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
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles;
        self.time_left_cycles.set(time_left);
        let mut colors = self.colors.borrow_mut();
        if colors.is_empty() {
            core::mem::swap(&mut *colors, &mut bundle.colors);
        }
        while let Some(color) = bundle.colors.pop_back() {
            colors.push_front(color);
        }
    }

    /// Puts a bundle whose tickets are newer than all here behind all others.
    pub fn push_bundle_back(&self, mut bundle: Bundle<C>) {
        let time_left = self.time_left_cycles.get() + bundle.time_left_cycles;
        self.time_left_cycles.set(time_left);
        self.colors.borrow_mut().append(&mut bundle.colors);
    }

    /// Takes the colors that became ready last, `colors_max` of them and a bundle at
    /// the most; `None` if there are none. Their time left is taken to be average.
    pub fn take_newest(&self, colors_max: usize) -> Option<Bundle<C>> {
        let mut colors = self.colors.borrow_mut();
        let before = colors.len();
        let count = before.min(colors_max).min(BUNDLE_COLORS);
        if count == 0 {
            return None;
        }
        let time_left_cycles = self.take_time_left(count, before)?;
        Some(Bundle {
            colors: colors.split_off(before - count),
            time_left_cycles,
        })
    }

    /// Takes the colors that are ready longest, as many as a bundle holds; `None` if
    /// there are none. Their time left is taken to be average.
    pub fn take_oldest(&self) -> Option<Bundle<C>> {
        let mut colors = self.colors.borrow_mut();
        let before = colors.len();
        let count = before.min(BUNDLE_COLORS);
        let time_left_cycles = self.take_time_left(count, before)?;
        Some(Bundle {
            colors: colors.drain(..count).collect(),
            time_left_cycles,
        })
    }

    /// Takes the average time left of `count` colors of `before`.
    fn take_time_left(&self, count: usize, before: usize) -> Option<u64> {
        let time_left = self.time_left_cycles.get();
        let taken = (u128::from(time_left) * count as u128).checked_div(before as u128)?;
        let taken = u64::try_from(taken).unwrap_or(time_left);
        self.time_left_cycles.set(time_left - taken);
        Some(taken)
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

    /// Summed time left of the colors, in cycles; an estimate once bundles were
    /// taken.
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
        self.colors.borrow().back().map_or(0, |last| last.ticket)
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
        Ticketed { ticket, color }
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
        fn order_holds_and_the_sum_as_long_as_nothing_is_split(ops in proptest::collection::vec(prop_oneof![
            6 => (0u64..1000).prop_map(Op::Push),
            3 => Just(Op::Pop),
            1 => (0usize..100).prop_map(Op::TakeNewest),
            1 => Just(Op::TakeOldest),
            1 => Just(Op::LendAndTakeBack),
        ], 0..if cfg!(miri) { 40 } else { 400 })) {
            let queue = CoreQueue::new();
            let mut model: VecDeque<(u64, u64)> = VecDeque::new();
            let mut exact = true;
            for (ticket, op) in (0u64..).zip(ops) {
                match op {
                    Op::Push(cycles) => {
                        queue.push(color(ticket, 1, cycles));
                        model.push_back((ticket, cycles));
                    }
                    Op::Pop => {
                        let popped = queue.pop().map(|c| (c.name, c.time_left_cycles));
                        prop_assert_eq!(popped, model.pop_front());
                    }
                    Op::TakeNewest(count) => {
                        let taken = queue.take_newest(count);
                        let count = count.min(BUNDLE_COLORS).min(model.len());
                        let rest = model.split_off(model.len() - count);
                        prop_assert_eq!(taken.as_ref().map_or(0, Bundle::len), count);
                        let first = taken.map_or(u64::MAX, |b| b.oldest_ticket());
                        prop_assert_eq!(first, rest.front().map_or(u64::MAX, |f| f.0));
                        exact = false;
                    }
                    Op::TakeOldest => {
                        let taken = queue.take_oldest();
                        let oldest = model.front().map_or(u64::MAX, |f| f.0);
                        prop_assert_eq!(taken.as_ref().map_or(u64::MAX, Bundle::oldest_ticket), oldest);
                        drop(model.drain(..taken.map_or(0, |b| b.len())));
                        exact = false;
                    }
                    Op::LendAndTakeBack => if let Some(bundle) = queue.take_oldest() {
                        queue.push_bundle_front(bundle);
                    },
                }
                exact |= model.is_empty();
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.oldest_ticket(), model.front().map_or(u64::MAX, |f| f.0));
                if exact {
                    prop_assert_eq!(queue.time_left_cycles(), model.iter().map(|m| m.1).sum::<u64>());
                }
            }
        }
    }
}
