//! The colors that a core offers to thieves.

use std::collections::VecDeque;

use crate::bundle::{Bundle, ReadyColor, Ticketed, oldest};
use crate::worth::INTERVALS;

/// How much of what a victim offers a thief takes at the most, as 1/N of its time
/// left, when it steals by batch (*Vol de tâches*: half of the victim's load).
const BATCH_SHARE: u64 = 2;

/// How many worthy colors a thief takes at the most in one steal.
///
/// More would hold the victim's lock for longer than one steal is taken to cost.
const BATCH_COLORS: usize = 16;

/// The colors that a core offers to thieves: worthy ones in three intervals of
/// time left, and bundles of short ones.
///
/// *Efficient Workstealing*, section IV-B: partially ordered, so that inserting is cheap
/// and a thief still finds one of the longest. The owner takes colors back in the order in
/// which they became ready; thieves take the longest.
#[derive(Debug)]
pub struct StealQueue<C: ReadyColor> {
    intervals: [VecDeque<Ticketed<C>>; INTERVALS],
    bundles: VecDeque<Bundle<C>>,
    colors: usize,
    events: usize,
    time_left_cycles: u64,
}

impl<C: ReadyColor> StealQueue<C> {
    /// A queue without colors.
    pub fn new() -> Self {
        Self {
            intervals: [const { VecDeque::new() }; INTERVALS],
            bundles: VecDeque::new(),
            colors: 0,
            events: 0,
            time_left_cycles: 0,
        }
    }

    /// Offers a color in an interval, as [`Worthiness::interval`] gave it; its
    /// ticket must be newer than all in the queue.
    ///
    /// [`Worthiness::interval`]: crate::Worthiness::interval
    ///
    /// # Panics
    ///
    /// If there is no such interval.
    pub fn push(&mut self, color: Ticketed<C>, interval: usize) {
        self.colors += 1;
        self.events += events_of(&color);
        self.time_left_cycles += color.time_left_cycles();
        self.intervals[interval].push_back(color);
    }

    /// Offers a bundle of short colors.
    pub fn push_bundle(&mut self, bundle: Bundle<C>) {
        self.colors += bundle.len();
        self.events += bundle.len();
        self.time_left_cycles += bundle.time_left_cycles();
        // Bundles come at one of the two ends, or near the newer one.
        let ticket = bundle.oldest_ticket();
        if self
            .bundles
            .front()
            .is_some_and(|b| b.oldest_ticket() > ticket)
        {
            self.bundles.push_front(bundle);
            return;
        }
        let older = |b: &Bundle<C>| b.oldest_ticket() < ticket;
        let at = self.bundles.iter().rposition(older).map_or(0, |at| at + 1);
        self.bundles.insert(at, bundle);
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    pub fn oldest_ticket(&self) -> u64 {
        let worthy = self.intervals.iter().map(oldest);
        worthy.min().unwrap_or(u64::MAX).min(self.oldest_bundle())
    }

    /// For the owner: takes back the color that is ready longest, or the bundle
    /// that begins with it.
    pub fn take_oldest(&mut self) -> Option<Bundle<C>> {
        let oldest = self.oldest_ticket();
        if self
            .bundles
            .front()
            .is_some_and(|b| b.oldest_ticket() == oldest)
        {
            return self.pop_bundle();
        }
        let has_it = |colors: &VecDeque<Ticketed<C>>| {
            colors.front().is_some_and(|first| first.ticket() == oldest)
        };
        let interval = self.intervals.iter().position(has_it)?;
        let mut taken = Bundle::new();
        taken.push(self.pop_interval(interval)?);
        Some(taken)
    }

    /// For the owner: takes back the oldest bundle, whatever else is older.
    pub fn take_oldest_bundle(&mut self) -> Option<Bundle<C>> {
        self.pop_bundle()
    }

    /// The ticket of the oldest bundle; `u64::MAX` if there is none.
    pub fn oldest_bundle(&self) -> u64 {
        self.bundles.front().map_or(u64::MAX, Bundle::oldest_ticket)
    }

    /// For a thief under the time-left heuristic: takes a color of the longest
    /// interval, and by batch up to half of what is offered; a bundle where nothing
    /// is worthy on its own.
    pub fn steal_longest(&mut self, by_batch: bool) -> Option<Bundle<C>> {
        let enough = if by_batch {
            self.time_left_cycles / BATCH_SHARE
        } else {
            0
        };
        let mut colors = Bundle::with_capacity(if by_batch { BATCH_COLORS } else { 1 });
        for interval in (0..INTERVALS).rev() {
            while colors.is_empty()
                || (colors.time_left_cycles() < enough && colors.len() < BATCH_COLORS)
            {
                let Some(color) = self.pop_interval(interval) else {
                    break;
                };
                colors.push(color);
            }
        }
        if colors.is_empty() {
            return self.pop_bundle();
        }
        Some(colors)
    }

    /// For a thief without the time-left heuristic: takes the first color that has fewer
    /// than half of the victim's events (*Efficient Workstealing*, section II-B). A victim
    /// that runs no other color keeps its only one.
    pub fn steal_first_below_half(&mut self, victim_is_running: bool) -> Option<Bundle<C>> {
        if self.colors + usize::from(victim_is_running) < 2 {
            return None;
        }
        let half = self.events.div_ceil(2);
        for interval in &mut self.intervals {
            let below_half = |color: &Ticketed<C>| {
                let events = events_of(color);
                events < half || events == 1
            };
            let found = interval.iter().position(below_half);
            if let Some(color) = found.and_then(|at| interval.remove(at)) {
                self.count_out(&color);
                let mut colors = Bundle::new();
                colors.push(color);
                return Some(colors);
            }
        }
        None
    }

    /// How many colors are offered.
    pub fn len(&self) -> usize {
        self.colors
    }

    /// Whether no color is offered.
    pub fn is_empty(&self) -> bool {
        self.colors == 0
    }

    /// Summed time left of the colors offered, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles
    }

    fn pop_bundle(&mut self) -> Option<Bundle<C>> {
        let bundle = self.bundles.pop_front()?;
        self.colors -= bundle.len();
        self.events -= bundle.len();
        self.time_left_cycles -= bundle.time_left_cycles();
        Some(bundle)
    }

    fn pop_interval(&mut self, interval: usize) -> Option<Ticketed<C>> {
        let color = self.intervals[interval].pop_front()?;
        self.count_out(&color);
        Some(color)
    }

    fn count_out(&mut self, color: &Ticketed<C>) {
        self.colors -= 1;
        self.events -= events_of(color);
        self.time_left_cycles -= color.time_left_cycles();
    }
}

impl<C: ReadyColor> Default for StealQueue<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// A color whose events all wait in its inbox has at least one.
fn events_of<C>(color: &Ticketed<C>) -> usize {
    usize::try_from(color.events()).map_or(usize::MAX, |events| events.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_queue::tests::{Color, color};
    use proptest::prelude::*;

    fn tickets(stolen: Option<Bundle<Color>>) -> Vec<u64> {
        let mut tickets = Vec::new();
        if let Some(mut stolen) = stolen {
            while let Some(color) = stolen.pop() {
                tickets.push(color.ticket());
            }
        }
        tickets
    }

    #[test]
    fn a_thief_gets_the_longest_and_the_owner_the_oldest() {
        let mut queue = StealQueue::new();
        queue.push(color(1, 1, 2_000), 0);
        queue.push(color(2, 1, 90_000), 2);
        queue.push(color(3, 1, 9_000), 1);
        assert_eq!(tickets(queue.steal_longest(false)), [2]);
        assert_eq!(queue.take_oldest().unwrap().oldest_ticket(), 1);
        assert_eq!(tickets(queue.steal_longest(false)), [3]);
        assert!(queue.is_empty() && queue.steal_longest(true).is_none());
    }

    #[test]
    fn a_batch_is_about_half_of_the_offer() {
        let mut queue = StealQueue::new();
        (0..10).for_each(|ticket| queue.push(color(ticket, 1, 5_000), 1));
        assert_eq!(tickets(queue.steal_longest(true)), [0, 1, 2, 3, 4]);
        assert_eq!((queue.len(), queue.time_left_cycles()), (5, 25_000));
    }

    #[test]
    fn short_colors_are_stolen_only_as_a_bundle_and_last() {
        let mut queue = StealQueue::new();
        let mut bundle = Bundle::new();
        (0..3).for_each(|ticket| bundle.push(color(ticket, 1, 100)));
        queue.push_bundle(bundle);
        queue.push(color(3, 1, 5_000), 1);
        assert_eq!(tickets(queue.steal_longest(false)), [3]);
        assert_eq!(tickets(queue.steal_longest(false)), [0, 1, 2]);
    }

    #[test]
    fn base_stealing_passes_over_a_color_with_half_of_the_events() {
        let mut queue = StealQueue::new();
        queue.push(color(1, 8, 0), 0);
        queue.push(color(2, 2, 0), 0);
        assert_eq!(tickets(queue.steal_first_below_half(true)), [2]);
        assert!(queue.steal_first_below_half(true).is_none());
        assert_eq!(queue.take_oldest().unwrap().oldest_ticket(), 1);
    }

    #[test]
    fn base_stealing_leaves_an_idle_victim_its_only_color() {
        let mut queue = StealQueue::new();
        queue.push(color(1, 1, 0), 0);
        assert!(queue.steal_first_below_half(false).is_none());
        assert_eq!(tickets(queue.steal_first_below_half(true)), [1]);
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push(u64, usize),
        PushBundle(u8),
        TakeOldest,
        Steal(bool),
        StealBase(bool),
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn no_color_is_lost_or_doubled(ops in proptest::collection::vec(prop_oneof![
            4 => (0u64..100_000, 0usize..INTERVALS).prop_map(|(t, i)| Op::Push(t, i)),
            2 => (1u8..70).prop_map(Op::PushBundle),
            2 => Just(Op::TakeOldest),
            1 => any::<bool>().prop_map(Op::Steal),
            1 => any::<bool>().prop_map(Op::StealBase),
        ], 0..if cfg!(miri) { 20 } else { 100 })) {
            let mut queue = StealQueue::new();
            let (mut next, mut inside) = (0u64, std::collections::BTreeMap::new());
            for op in ops {
                let mut taken = match op {
                    Op::Push(time_left, interval) => {
                        queue.push(color(next, 1 + (next % 9) as u32, time_left), interval);
                        inside.insert(next, time_left);
                        next += 1;
                        None
                    }
                    Op::PushBundle(len) => {
                        let mut bundle = Bundle::new();
                        for _ in 0..len {
                            bundle.push(color(next, 1, 100));
                            inside.insert(next, 100);
                            next += 1;
                        }
                        queue.push_bundle(bundle);
                        None
                    }
                    Op::TakeOldest => {
                        prop_assert_eq!(queue.oldest_ticket(), inside.keys().next().copied().unwrap_or(u64::MAX));
                        queue.take_oldest()
                    }
                    Op::Steal(by_batch) => queue.steal_longest(by_batch),
                    Op::StealBase(running) => queue.steal_first_below_half(running),
                };
                while let Some(color) = taken.as_mut().and_then(Bundle::pop) {
                    prop_assert_eq!(inside.remove(&color.ticket()), Some(color.time_left_cycles()));
                }
                prop_assert_eq!(queue.len(), inside.len());
                prop_assert_eq!(queue.time_left_cycles(), inside.values().sum::<u64>());
            }
        }
    }
}
