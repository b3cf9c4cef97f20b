//! Stealing penalties: what a color loses by moving to another core.
//!
//! *Efficient Workstealing*, section III-C: a handler that touches a large, long-lived data
//! set runs slower where the set is not in the cache. The paper's programmer annotates it;
//! here it is learned from the first event that a color runs after it has moved.

use crate::cost::Ewma;

/// How many events of a handler must have been timed, after a move and otherwise,
/// before their ratio says something: as many as it takes until [`Ewma`] clips outliers.
pub const PENALTY_SAMPLES_MIN: u32 = 4;

/// The highest penalty that is learned, as a multiple.
///
/// A line that another core wrote takes 120 ns, 300 cycles at 2.5 GHz, and one in the
/// nearest cache 5: nothing but an interruption is more than 60 times slower.
pub const PENALTY_LEARNED_MAX: u32 = 64;

/// What the first event after a move takes longer whatever its handler does, in cycles:
/// the line of its state comes from another core, and so do lines of the allocator. It
/// is paid once for a color and not for each of its events, so it is no penalty of the
/// handler.
///
/// Measured on two cores of a Xeon at 2.5 GHz: handlers that touch one line take 620
/// more, whether they take 360 or 1900 cycles otherwise.
pub const MOVE_CYCLES: u32 = 600;

/// A stealing penalty: the cost of an event counts divided by this when a thief weighs
/// its color.
///
/// ```
/// use mely_sched::Penalty;
/// assert_eq!(Penalty::annotated(1_000).times(), 1_000.0);
/// assert_eq!(Penalty::annotated(0), Penalty::NONE);
/// assert_eq!(Penalty::annotated(4).divide(10_000), 2_500);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Penalty {
    /// The factor, in parts of [`Penalty::ONE`].
    parts: u64,
}

impl Penalty {
    const ONE: u64 = 256;

    /// A color loses nothing by moving.
    pub const NONE: Penalty = Penalty { parts: Self::ONE };

    /// The penalty that a programmer gave; 0 and 1 are none.
    pub const fn annotated(times: u32) -> Self {
        let times = if times == 0 { 1 } else { times as u64 };
        Self {
            parts: times * Self::ONE,
        }
    }

    /// The quotient of two costs, at least none and at most [`PENALTY_LEARNED_MAX`].
    fn quotient(cycles: u32, ordinary_cycles: u32) -> Self {
        let parts = u64::from(cycles) * Self::ONE / u64::from(ordinary_cycles.max(1));
        let most = Self::annotated(PENALTY_LEARNED_MAX);
        Self { parts }.clamp(Self::NONE, most)
    }

    /// As a factor; 1 is none.
    pub fn times(self) -> f64 {
        self.parts as f64 / Self::ONE as f64
    }

    /// Divides cycles by the factor.
    #[inline]
    pub fn divide(self, cycles: u32) -> u32 {
        let quotient = u64::from(cycles) * Self::ONE / self.parts;
        // A penalty is at least one.
        u32::try_from(quotient).unwrap_or(cycles)
    }

    /// As a number, to be kept in an atomic variable.
    pub fn to_bits(self) -> u64 {
        self.parts
    }

    /// The penalty that was this number.
    pub fn from_bits(bits: u64) -> Self {
        Self { parts: bits }.max(Self::NONE)
    }
}

/// What the events of a handler cost right after their colors have moved, as a thief
/// times them.
///
/// ```
/// use mely_sched::{AfterMove, Ewma, MOVE_CYCLES};
/// let (mut ordinary, mut after_move) = (Ewma::new(), AfterMove::new());
/// for _ in 0..10 {
///     ordinary.sample(1_000);
///     after_move.sample(5_000 + u64::from(MOVE_CYCLES), &ordinary);
/// }
/// assert_eq!(after_move.penalty(&ordinary).map(|p| p.times()), Some(5.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterMove {
    cycles: Ewma,
}

impl AfterMove {
    /// No sample yet.
    pub const fn new() -> Self {
        Self {
            cycles: Ewma::new(),
        }
    }

    /// Adds the cycles of one event. Given what the handler's events cost otherwise,
    /// more than the highest penalty explains was an interruption, and counts as that.
    pub fn sample(&mut self, cycles: u64, ordinary: &Ewma) {
        let explained = |mean: u32| {
            u64::from(mean.max(1)) * u64::from(PENALTY_LEARNED_MAX) + u64::from(MOVE_CYCLES)
        };
        let most = ordinary.mean().map_or(u64::MAX, explained);
        self.cycles.sample(cycles.min(most));
    }

    /// Lets the next samples weigh more: what came before them is old.
    pub fn doubt(&mut self) {
        self.cycles.doubt();
    }

    /// How many times longer an event takes after a move than otherwise; `None` while
    /// too few of either were timed.
    pub fn penalty(&self, ordinary: &Ewma) -> Option<Penalty> {
        if self.cycles.samples().min(ordinary.samples()) < PENALTY_SAMPLES_MIN {
            return None;
        }
        let cycles = self.cycles.mean()?.saturating_sub(MOVE_CYCLES);
        Some(Penalty::quotient(cycles, ordinary.mean()?))
    }
}

/// What is still believed of a learned penalty.
///
/// A high penalty keeps colors where they are, and then nothing contradicts it: it
/// fades with each ordinary event that is timed, until a color moves again and shows
/// whether it was right.
///
/// ```
/// use mely_sched::{Belief, Penalty};
/// let (learned, mut belief) = (Penalty::annotated(10), Belief::FIRM);
/// assert_eq!(belief.in_penalty(learned), learned);
/// (0..10_000).for_each(|_| belief.fade());
/// assert!(belief.is_weak() && belief.in_penalty(learned).times() < 1.1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belief {
    /// In parts of [`Belief::WHOLE`].
    parts: u32,
}

impl Belief {
    const WHOLE: u32 = 1 << 16;

    /// Each event that is timed takes one part in so many.
    ///
    /// Half is gone after 177 of them. Of short events one is timed in 32 turns, so
    /// that is after some 6000 turns: a steal to try what it costs now, as dear as 64
    /// events at the worst, is 1 % of them.
    const FADE: u32 = 256;

    /// In what was learned just now.
    pub const FIRM: Belief = Belief { parts: Self::WHOLE };

    /// One more ordinary event was timed.
    pub fn fade(&mut self) {
        self.parts -= self.parts.div_ceil(Self::FADE);
    }

    /// Whether less than half is left.
    pub fn is_weak(&self) -> bool {
        self.parts < Self::WHOLE / 2
    }

    /// What is left of a penalty.
    pub fn in_penalty(&self, learned: Penalty) -> Penalty {
        let excess = learned.parts - Penalty::ONE;
        // An annotated penalty has up to 40 bits.
        let left = u128::from(excess) * u128::from(self.parts) / u128::from(Self::WHOLE);
        Penalty {
            parts: Penalty::ONE + u64::try_from(left).unwrap_or(excess),
        }
    }
}

/// The time-left weight of one event: its cost divided by its handler's penalty.
///
/// *Efficient Workstealing*, section IV-B, penalty-aware stealing: a penalty makes an event
/// look shorter than it is, so that its color is stolen later. An event weighs at least one
/// cycle, so that no pending event is invisible.
///
/// ```
/// use mely_sched::{Penalty, time_left_cycles};
/// assert_eq!(time_left_cycles(10_000, Penalty::annotated(1_000)), 10);
/// assert_eq!(time_left_cycles(10_000, Penalty::NONE), 10_000);
/// assert_eq!(time_left_cycles(10, Penalty::annotated(1_000)), 1);
/// ```
#[inline]
pub fn time_left_cycles(cost_cycles: u32, penalty: Penalty) -> u32 {
    penalty.divide(cost_cycles).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn learned(ordinary: &[u64], after_move: &[u64]) -> Option<Penalty> {
        let (mut cost, mut moved) = (Ewma::new(), AfterMove::new());
        ordinary.iter().for_each(|&cycles| cost.sample(cycles));
        after_move.iter().for_each(|&c| moved.sample(c, &cost));
        moved.penalty(&cost)
    }

    proptest! {
        #[test]
        fn whatever_was_timed_the_penalty_is_in_bounds(
            ordinary in vec(any::<u64>(), 0..40),
            after_move in vec(any::<u64>(), 0..40),
        ) {
            let enough = ordinary.len().min(after_move.len()) >= PENALTY_SAMPLES_MIN as usize;
            let learned = learned(&ordinary, &after_move);
            prop_assert_eq!(learned.is_some(), enough);
            if let Some(penalty) = learned {
                prop_assert!(penalty >= Penalty::NONE);
                prop_assert!(penalty <= Penalty::annotated(PENALTY_LEARNED_MAX));
            }
        }

        #[test]
        fn a_steady_slowdown_is_the_penalty(
            cost in 1_000u64..100_000, times in 1u64..60, samples in 4usize..100,
        ) {
            let slow = cost * times + u64::from(MOVE_CYCLES);
            let penalty = learned(&vec![cost; samples], &vec![slow; samples]).unwrap();
            prop_assert!((penalty.times() - times as f64).abs() < 0.02, "{penalty:?}");
        }

        #[test]
        fn what_is_not_slower_has_none(cost in 0u64..1_000_000, samples in 4usize..40) {
            let same = vec![cost; samples];
            prop_assert_eq!(learned(&same, &same), Some(Penalty::NONE));
        }

        #[test]
        fn dividing_makes_less_and_never_more(
            times in any::<u32>(), cycles in any::<u32>(),
        ) {
            let penalty = Penalty::annotated(times);
            prop_assert_eq!(penalty.divide(cycles), cycles / times.max(1));
            prop_assert_eq!(Penalty::from_bits(penalty.to_bits()), penalty);
        }

        #[test]
        fn a_belief_fades_steadily_and_never_beyond_none(times in any::<u32>(), steps in 1usize..400) {
            let (penalty, mut belief) = (Penalty::annotated(times), Belief::FIRM);
            let mut before = belief.in_penalty(penalty);
            prop_assert_eq!(before, penalty);
            for _ in 0..steps {
                belief.fade();
                let now = belief.in_penalty(penalty);
                prop_assert!(Penalty::NONE <= now && now <= before);
                before = now;
            }
        }
    }

    #[test]
    fn a_belief_is_weak_after_some_hundred_events_and_then_ends() {
        let mut belief = Belief::FIRM;
        (0..170).for_each(|_| belief.fade());
        assert!(!belief.is_weak());
        (0..10).for_each(|_| belief.fade());
        assert!(belief.is_weak());
        (0..10_000).for_each(|_| belief.fade());
        assert_eq!(belief.in_penalty(Penalty::annotated(64)), Penalty::NONE);
    }

    #[test]
    fn one_interruption_is_not_a_high_penalty() {
        let mut after_move = vec![3_000; 20];
        after_move.push(50_000_000);
        let penalty = learned(&[2_000; 20], &after_move).unwrap();
        assert!(penalty.times() < 2.0, "{penalty:?}");
    }

    #[test]
    fn a_doubted_penalty_follows_a_change_within_a_few_moves() {
        let (mut cost, mut moved) = (Ewma::new(), AfterMove::new());
        (0..100).for_each(|_| cost.sample(10_000));
        (0..100).for_each(|_| moved.sample(200_000, &cost));
        assert!(moved.penalty(&cost).unwrap().times() > 15.0);
        for _ in 0..12 {
            moved.doubt();
            moved.sample(10_000, &cost);
        }
        assert!(moved.penalty(&cost).unwrap().times() < 3.0);
    }
}
