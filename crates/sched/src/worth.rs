//! Which colors are worth a steal, and how much work is worth a wake-up.

use crate::policy::Heuristics;

/// How many time-left intervals a [`StealQueue`](crate::StealQueue) has.
///
/// *Efficient Workstealing*, section IV-B: three, unordered within.
pub const INTERVALS: usize = 3;

/// Each interval spans this factor of time left: worth 1–4, 4–16, over 16 steals.
const INTERVAL_FACTOR: u64 = 4;

/// What a steal is taken to cost before one was measured, in cycles.
///
/// Two uncontended atomic operations, three cache lines fetched from another core:
/// measured 200–400 ns, so 800 cycles at 2.5 GHz.
pub const STEAL_COST_UNKNOWN_CYCLES: u32 = 800;

/// What waking a parked worker costs, in cycles: 5–8 µs measured at 2.5 GHz.
pub const WAKE_COST_CYCLES: u64 = 16_000;

/// For how long a thief that shares its core with others may be kept from what it has
/// stolen, in cycles: a slice of the system's, 3 ms at 2.5 GHz.
const SLICE_CYCLES: u64 = 7_500_000;

/// Waking a worker must bring this many times what it costs.
const WAKE_GAIN: u64 = 2;

/// An event this long makes its core publish all else before it runs, in cycles:
/// 25 µs at 2.5 GHz, four times what it takes to wake the worker that is to run the
/// rest. At a fifth of it, a web server spent a tenth of its time on wake-ups for
/// work that the woken worker no longer found.
pub const LONG_EVENT_CYCLES: u32 = 64_000;

/// Judges whether a color is worth stealing under a policy.
///
/// *Efficient Workstealing*, section III-B: a color is *worthy* when running its pending
/// events takes longer than stealing it.
///
/// ```
/// use mely_sched::{Policy, Worthiness};
/// let worth = Worthiness::new(Policy::Mely.heuristics());
/// assert_eq!(worth.interval(100, 1_000), None);
/// assert_eq!(worth.interval(3_000, 1_000), Some(0));
/// assert_eq!(worth.interval(1_000_000, 1_000), Some(2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Worthiness {
    heuristics: Heuristics,
}

impl Worthiness {
    /// The judgement of a policy with these heuristics.
    pub const fn new(heuristics: Heuristics) -> Self {
        Self { heuristics }
    }

    /// The time-left interval in which to offer a color to thieves; `None` keeps it
    /// private. Without the time-left heuristic everything is offered, in one
    /// interval; without stealing nothing is.
    pub fn interval(&self, time_left_cycles: u64, steal_cost_cycles: u64) -> Option<usize> {
        if time_left_cycles < self.private_below_cycles(steal_cost_cycles) {
            return None;
        }
        if !self.heuristics.time_left {
            return Some(0);
        }
        let mut bound = steal_cost_cycles;
        for interval in 0..INTERVALS - 1 {
            bound = bound.saturating_mul(INTERVAL_FACTOR);
            if time_left_cycles <= bound {
                return Some(interval);
            }
        }
        Some(INTERVALS - 1)
    }

    /// Colors with less time left than this are kept private: at once what
    /// [`interval`](Self::interval) says of most.
    #[inline]
    pub fn private_below_cycles(&self, steal_cost_cycles: u64) -> u64 {
        match (self.heuristics.steal, self.heuristics.time_left) {
            (false, _) => u64::MAX,
            (true, false) => 0,
            (true, true) => steal_cost_cycles.saturating_add(1),
        }
    }

    /// How many of `private_colors` short colors a core should offer in bundles to
    /// cores that have nothing to do: half of them, when that half is worth the
    /// hand-over — a steal for a core that is already looking, a wake-up for one
    /// that sleeps.
    pub fn colors_to_share(
        &self,
        private_colors: usize,
        private_cycles: u64,
        steal_cost_cycles: u64,
        a_thief_is_awake: bool,
    ) -> usize {
        let handover = match a_thief_is_awake {
            true => steal_cost_cycles,
            false => steal_cost_cycles + WAKE_COST_CYCLES,
        };
        let worth_it =
            self.heuristics.learn && self.heuristics.steal && private_cycles / 2 > handover;
        if worth_it { private_colors / 2 } else { 0 }
    }

    /// Whether colors with this time left, offered by one core that goes on running,
    /// are worth waking a worker for.
    pub fn worth_a_wake(&self, offered_cycles: u64) -> bool {
        !self.heuristics.time_left || offered_cycles >= WAKE_GAIN * WAKE_COST_CYCLES
    }

    /// Whether colors with this time left, offered by one core, are worth a steal for a
    /// worker whose core is not its own. The time in which it would run them is taken from
    /// others, and it may have to wait for it; so it must be work that has to wait longer
    /// where it is.
    pub fn worth_a_slice(&self, offered_cycles: u64) -> bool {
        !self.heuristics.learn || offered_cycles >= SLICE_CYCLES
    }

    /// Whether a core should publish what it has before it runs an event of a
    /// handler with this mean cost (`None`: unknown) and recent worst. A handler
    /// that is seldom long counts as long only while another core has nothing to
    /// do.
    pub fn publish_before(
        &self,
        mean_cycles: Option<u32>,
        worst_cycles: u32,
        a_core_is_idle: bool,
    ) -> bool {
        let long = match mean_cycles {
            None => true,
            Some(mean) if mean >= LONG_EVENT_CYCLES => true,
            Some(_) => a_core_is_idle && worst_cycles >= LONG_EVENT_CYCLES,
        };
        self.heuristics.steal && long
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_worthy_costs_more_than_a_steal(time in any::<u64>(), steal in 1u64..1_000_000) {
            let worth = Worthiness::new(Policy::Mely.heuristics());
            prop_assert_eq!(worth.interval(time, steal).is_some(), time > steal);
            if let (Some(a), Some(b)) = (worth.interval(time, steal), worth.interval(time / 2, steal)) {
                prop_assert!(a >= b && a < INTERVALS);
            }
        }
    }

    #[test]
    fn a_policy_without_stealing_offers_nothing() {
        let worth = Worthiness::new(Policy::MelyNoSteal.heuristics());
        assert_eq!(worth.interval(u64::from(u32::MAX), 1), None);
        assert_eq!(worth.colors_to_share(1000, u64::MAX, 1, true), 0);
        assert!(!worth.publish_before(None, u32::MAX, true));
    }

    #[test]
    fn little_work_wakes_nobody_but_without_time_left() {
        let worth = |policy: Policy| Worthiness::new(policy.heuristics());
        assert!(!worth(Policy::Adaptive).worth_a_wake(WAKE_COST_CYCLES));
        assert!(worth(Policy::Adaptive).worth_a_wake(10 * WAKE_COST_CYCLES));
        assert!(worth(Policy::MelyBase).worth_a_wake(0));
    }

    #[test]
    fn who_shares_a_core_steals_what_would_wait_longer_than_a_slice() {
        let worth = |policy: Policy| Worthiness::new(policy.heuristics());
        assert!(!worth(Policy::Adaptive).worth_a_slice(SLICE_CYCLES - 1));
        assert!(worth(Policy::Adaptive).worth_a_slice(SLICE_CYCLES));
        assert!(
            worth(Policy::Mely).worth_a_slice(0),
            "the paper's steal all the same"
        );
    }

    #[test]
    fn what_is_seldom_long_is_published_for_idle_cores_only() {
        let worth = Worthiness::new(Policy::Adaptive.heuristics());
        assert!(worth.publish_before(None, 0, false));
        assert!(worth.publish_before(Some(LONG_EVENT_CYCLES), 0, false));
        assert!(!worth.publish_before(Some(100), LONG_EVENT_CYCLES, false));
        assert!(worth.publish_before(Some(100), LONG_EVENT_CYCLES, true));
    }

    #[test]
    fn base_stealing_offers_everything() {
        let worth = Worthiness::new(Policy::MelyBase.heuristics());
        assert_eq!(worth.interval(0, u64::MAX), Some(0));
    }

    #[test]
    fn a_sleeping_core_is_woken_for_more_than_an_awake_one_is_fed() {
        let worth = Worthiness::new(Policy::Adaptive.heuristics());
        assert_eq!(worth.colors_to_share(100, 10_000, 1_000, true), 50);
        assert_eq!(worth.colors_to_share(100, 10_000, 1_000, false), 0);
        assert_eq!(worth.colors_to_share(100, 100_000, 1_000, false), 50);
    }
}
