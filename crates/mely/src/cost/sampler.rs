//! Which posts are noted: a few, at random, as many as cost next to nothing.

use core::cell::Cell;
use std::time::Duration;

use crate::machine::clock::Clock;

/// Whether posts are noted at all: a simulation's figures, and the schedules that it and loom
/// search, are those of runtimes that note nothing.
pub(crate) const NOTES: bool = !cfg!(any(loom, feature = "virtual"));

/// How long a noted post is to come after the one before, in nanoseconds. To note a post and
/// its run takes some 300 ns, most of it for code and lines that are not in the nearest cache:
/// 0.6 % of that.
const NOTED_EVERY_NS: f64 = 50_000.0;

/// After how many such times without a noted post the next one is looked for anew.
const STALE: u64 = 8;

/// How rare noted posts may become: one in 65 536.
pub(crate) const RARITY_MAX: u32 = 16;

/// The cycle counter's, as notes need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    ns_per_cycle: f64,
    pub(crate) noted_every_cycles: u64,
}

impl Rate {
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        let ns_per_cycle = match NOTES {
            true => 1e9 / clock.cycles_per_second(),
            false => 1.0,
        };
        Self {
            ns_per_cycle,
            noted_every_cycles: (NOTED_EVERY_NS / ns_per_cycle) as u64,
        }
    }

    pub(crate) fn ns(self, cycles: u64) -> u64 {
        (cycles as f64 * self.ns_per_cycle) as u64
    }

    pub(crate) fn duration_of(self, cycles: u64) -> Duration {
        Duration::from_nanos(self.ns(cycles))
    }
}

/// How many posts a noted one stands for, as a power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rarity(pub(crate) u32);

/// Chooses the posts that are noted.
///
/// Each post is chosen with a probability that is known before, and stands for one by that
/// probability of them: what is counted so is right on average, whatever comes in turns and
/// whatever the probability was meanwhile.
pub(crate) struct Sampler {
    /// How many posts there are until the next one that is to be looked at.
    until: Cell<u64>,
    /// Each is to be looked at: the rest counts those until the next that is chosen.
    always: bool,
    left: Cell<u64>,
    rarity: Cell<u32>,
    rarity_max: u32,
    /// The chosen one is that many posts after the last.
    gap: Cell<u64>,
    /// When one was chosen, or looked for anew.
    since_cycles: Cell<u64>,
    random: Cell<u64>,
}

impl Sampler {
    /// Chooses the first post, and of the others one in `2^rarity_max` at the least.
    pub(crate) const fn new(seed: u64, rarity_max: u32) -> Self {
        Self {
            until: Cell::new(1),
            always: false,
            left: Cell::new(1),
            rarity: Cell::new(0),
            rarity_max,
            gap: Cell::new(1),
            since_cycles: Cell::new(0),
            random: Cell::new(seed),
        }
    }

    /// The same, but it never chooses one.
    pub(crate) const fn never(self) -> Self {
        Self {
            until: Cell::new(u64::MAX),
            left: Cell::new(u64::MAX),
            ..self
        }
    }

    /// The same, but each post is to be looked at.
    pub(crate) const fn looking_at_all(self) -> Self {
        Self {
            until: Cell::new(1),
            always: true,
            ..self
        }
    }

    /// Counts a post: whether it is to be looked at.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let until = self.until.get().wrapping_sub(1);
        self.until.set(until);
        until == 0
    }

    /// Whether the post that is looked at is chosen.
    pub(crate) fn is_chosen(&self) -> bool {
        if !self.always {
            return true;
        }
        self.until.set(1);
        self.left.set(self.left.get().wrapping_sub(1));
        self.left.get() == 0
    }

    /// The post that comes now is the chosen one: for how many it stands. Looks for the next,
    /// so that one comes in `every_cycles`.
    pub(crate) fn choose(&self, now_cycles: u64, every_cycles: u64) -> Rarity {
        let rarity = self.rarity.get();
        let elapsed = now_cycles.saturating_sub(self.since_cycles.get()).max(1);
        let posts = self.gap.get().saturating_mul(every_cycles) / elapsed;
        let wanted = posts.checked_ilog2().unwrap_or(0);
        // Before a rush comes a pause: that is no reason to choose few at once.
        self.look_for_next(now_cycles, wanted.min(rarity + 1));
        Rarity(rarity)
    }

    /// Looks for the next one anew if none has come for long.
    pub(crate) fn look(&self, now_cycles: u64, every_cycles: u64) {
        let rarity = self.rarity.get();
        let elapsed = now_cycles.saturating_sub(self.since_cycles.get());
        if rarity > 0 && elapsed > STALE * every_cycles {
            self.look_for_next(now_cycles, rarity.saturating_sub(STALE.ilog2()));
        }
    }

    /// Draws a gap of which nothing is known while it lasts, so that it may be drawn anew at
    /// any time.
    fn look_for_next(&self, now_cycles: u64, rarity: u32) {
        let rarity = rarity.min(self.rarity_max);
        let gap = match rarity {
            0 => 1,
            // The exponential distribution, cut to whole numbers: of the right mean.
            _ => 1 + (-self.uniform().ln() * ((1_u64 << rarity) as f64 - 0.5)) as u64,
        };
        self.rarity.set(rarity);
        self.since_cycles.set(now_cycles);
        self.gap.set(gap);
        match self.always {
            true => self.left.set(gap),
            false => self.until.set(gap),
        }
    }

    /// A number over 0 and up to 1 (SplitMix64).
    fn uniform(&self) -> f64 {
        let state = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(state);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        ((mixed >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const EVERY: u64 = 62_500;

    /// What the noted posts stand for, by the place of the post in its turn, when `posts` of
    /// them come, the n-th at `at(n)`; `look` now and then.
    fn noted(posts: u64, turn: usize, at: impl Fn(u64) -> u64, look: u64) -> (Vec<u64>, u64) {
        let sampler = Sampler::new(7, RARITY_MAX);
        let (mut sums, mut count) = (vec![0; turn], 0);
        for n in 0..posts {
            if n % look == 0 {
                sampler.look(at(n), EVERY);
            }
            if sampler.is_due() && sampler.is_chosen() {
                let stands_for = 1 << sampler.choose(at(n), EVERY).0;
                sums[n as usize % turn] += stands_for;
                count += 1;
            }
        }
        (sums, count)
    }

    #[test]
    fn those_that_are_noted_stand_for_all_whatever_comes_in_turns() {
        const POSTS: u64 = 4_000_000;
        for (turn, cycles) in [(1, 15), (2, 60), (10, 200), (64, 2_000), (3, 100_000)] {
            let (sums, count) = noted(POSTS, turn, |n| n * cycles, 1_000);
            let expected = POSTS / turn as u64;
            // Each of `count` counts as much, more or less: four standard deviations, and two for
            // those whose rarity differed.
            let spread = 6.0 * (turn as f64 / count as f64).sqrt();
            for (place, &sum) in sums.iter().enumerate() {
                let off = sum as f64 / expected as f64 - 1.0;
                assert!(
                    off.abs() < spread,
                    "{place} of {turn}: off by {off}, {count}"
                );
            }
        }
    }

    #[test]
    fn they_come_no_faster_than_they_may_and_all_are_noted_where_few_come() {
        let posts = 10_000_000;
        let (_, count) = noted(posts, 1, |n| n * 15, 1_000);
        let most = posts * 15 / EVERY;
        assert!((most / 3..most * 2).contains(&count), "{count} of {most}");
        let (_, count) = noted(1_000, 1, |n| n * 10 * EVERY, 1);
        assert_eq!(count, 1_000);
    }

    #[test]
    fn after_a_rush_slow_posts_are_soon_noted_again() {
        let rush = 10_000_000;
        let slow = |n: u64| rush * 15 + n * 10 * EVERY;
        let at = |n: u64| if n < rush { n * 15 } else { slow(n - rush) };
        let (_, in_rush) = noted(rush, 1, at, 1_000);
        let (_, count) = noted(rush + 1_000, 1, at, 1);
        assert!(count > in_rush + 900, "{count} and {in_rush}");
    }

    #[test]
    fn those_that_are_all_looked_at_are_chosen_alike() {
        let (few, all) = (Sampler::new(3, 16), Sampler::new(3, 16).looking_at_all());
        for now in 0..1_000_000 {
            let chosen = few.is_due() && few.is_chosen();
            assert!(all.is_due());
            assert_eq!(all.is_chosen(), chosen, "{now}");
            if chosen {
                assert_eq!(few.choose(now, 1_000), all.choose(now, 1_000));
            }
        }
        let never = Sampler::new(3, 16).never();
        assert!((0..1_000).all(|_| !never.is_due()));
        let never = never.looking_at_all();
        assert!((0..1_000).all(|_| never.is_due() && !never.is_chosen()));
    }

    /// Those that are posted last in a burst, and wait longest, are noted like the others.
    #[test]
    fn no_place_in_a_burst_is_forgotten() {
        const BURST: u64 = 1_000;
        let at = |n: u64| n / BURST * 50 * EVERY + n % BURST * 40;
        let (sums, count) = noted(20_000_000, BURST as usize, at, BURST);
        let (first, last) = sums.split_at(BURST as usize / 2);
        let (first, last): (u64, u64) = (first.iter().sum(), last.iter().sum());
        let off = last as f64 / first as f64 - 1.0;
        assert!(off.abs() < 0.05, "off by {off}, {count} noted");
    }
}
