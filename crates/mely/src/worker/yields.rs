//! Giving way to others on the core before lying down.

/// Who has given way for longer, 2 ms at 2.5 GHz, shares the core with somebody who does not
/// stop for him.
const LONG_CYCLES: u64 = 5_000_000;

/// How long a worker looks again and again for something to do, at the most: 40 µs at 2.5 GHz.
const PATIENCE_CYCLES: u64 = 100_000;

/// How much time for that a worker saves up at the most: 1 ms at 2.5 GHz.
const ALLOWANCE_MAX_CYCLES: u64 = 2_500_000;

/// How many times it looks, at the most, where time stands still.
const LOOKS_MAX: u32 = 1_000;

/// How many times a worker lies down at once, at the most, before it tries again to give
/// way, if that brought nothing.
const FUTILE_MAX: u32 = 64;

/// The same, if it took long: up to a slice of the kernel's for each try.
const LONG_MAX: u32 = 16_384;

/// Whether a worker that has nothing to do gives way to others on its core, and looks again,
/// before it lies down.
///
/// A server shares its cores with those who ask it: a proxy, a database, the clients of a
/// benchmark. If it lies down after each answer, the next request wakes it. On the core of
/// who asks, its waking puts the asker off the core: two switches for each request. From
/// another core, the asker spends microseconds on waking it. If it gives way and looks again
/// instead, it does not have to be woken, and finds all that was asked meanwhile.
///
/// All that takes half as long as it has worked, at the most, so a worker that has little to do
/// lies down at once. Where somebody else is busy, or nothing comes, it costs time; so it is tried
/// seldom for as long as it fails.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yields {
    /// How many times it lies down at once before the next try.
    until_next: u32,
    /// What `until_next` begins with after the next try that fails.
    back_off: u32,
    /// When the work began that is done now.
    begun: u64,
    /// For how long it may look, of what it has worked.
    allowance: u64,
}

impl Yields {
    /// There is something to do, at this time in cycles.
    pub(super) fn work_begins(&mut self, now: u64) {
        self.begun = now;
    }

    /// Whether to give way, now that there is nothing to do.
    pub(super) fn try_now(&mut self) -> bool {
        let now = self.until_next == 0;
        self.until_next = self.until_next.saturating_sub(1);
        now
    }

    /// Gives way and looks, each at least once, for as long as it is worth it: `turn` does so
    /// and says whether it found something, `clock` what time it is. Whether it did at last.
    pub(super) fn look(&mut self, clock: impl Fn() -> u64, turn: impl Fn() -> bool) -> bool {
        let start = clock();
        let worked = start.saturating_sub(self.begun);
        self.allowance = (self.allowance + worked / 2).min(ALLOWANCE_MAX_CYCLES);
        let patience = self.allowance.min(PATIENCE_CYCLES);
        let is_over = |looks: u32| looks >= LOOKS_MAX || clock().saturating_sub(start) > patience;
        let mut looks = 1;
        let found = loop {
            if turn() {
                break true;
            }
            if is_over(looks) {
                break false;
            }
            looks += 1;
        };
        let now = clock();
        let took = now.saturating_sub(start);
        self.allowance = self.allowance.saturating_sub(took);
        self.learn(found, took);
        self.work_begins(now);
        found
    }

    /// Learns what came of it: whether there is work now, and how long it took.
    fn learn(&mut self, found: bool, cycles: u64) {
        let most = match (found, cycles > LONG_CYCLES) {
            (true, false) => return self.back_off = 0,
            (_, true) => LONG_MAX,
            (false, false) => FUTILE_MAX,
        };
        self.until_next = self.back_off;
        // What is long stays so, whatever the next short one finds.
        self.back_off = (2 * self.back_off).max(1).min(most.max(self.back_off));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{FUTILE_MAX, LONG_CYCLES, LONG_MAX, LOOKS_MAX, PATIENCE_CYCLES, Yields};

    /// How often it gives way in so many times, if the same comes of it each time.
    fn tries(yields: &mut Yields, times: u32, found: bool, cycles: u64) -> u32 {
        let mut tries = 0;
        for _ in 0..times {
            if yields.try_now() {
                yields.learn(found, cycles);
                tries += 1;
            }
        }
        tries
    }

    #[test]
    fn what_pays_is_done_each_time() {
        assert_eq!(
            tries(&mut Yields::default(), 1_000, true, LONG_CYCLES),
            1_000
        );
    }

    #[test]
    fn what_fails_is_tried_ever_more_seldom_and_never_given_up() {
        for (found, cycles, most) in [
            (false, 0, FUTILE_MAX),
            (false, LONG_CYCLES + 1, LONG_MAX),
            (true, LONG_CYCLES + 1, LONG_MAX),
        ] {
            let mut yields = Yields::default();
            let warm = tries(&mut yields, 4 * most, found, cycles);
            assert!(warm <= most.ilog2() + 4, "{warm}");
            assert_eq!(tries(&mut yields, 8 * (most + 1), found, cycles), 8);
        }
    }

    #[test]
    fn one_success_begins_anew() {
        let mut yields = Yields::default();
        tries(&mut yields, 100_000, false, LONG_CYCLES + 1);
        while !yields.try_now() {}
        yields.learn(true, 0);
        assert_eq!(tries(&mut yields, 10, true, 0), 10);
    }

    #[test]
    fn a_short_failure_does_not_undo_what_a_long_one_said() {
        let mut yields = Yields::default();
        tries(&mut yields, 4 * LONG_MAX, true, LONG_CYCLES + 1);
        while !yields.try_now() {}
        yields.learn(false, 0);
        assert_eq!(tries(&mut yields, LONG_MAX, false, 0), 0);
    }

    /// How long a worker looks in vain that has worked for so long, if each look takes so long.
    fn looks_for(worked: u64, look: u64) -> u64 {
        let time = Cell::new(1_000_000 + worked);
        let mut yields = Yields::default();
        yields.work_begins(1_000_000);
        let start = time.get();
        let turn = || {
            time.set(time.get() + look);
            false
        };
        assert!(!yields.look(|| time.get(), turn));
        time.get() - start
    }

    #[test]
    fn who_has_worked_little_looks_for_little() {
        assert_eq!(looks_for(0, 100), 100);
        assert_eq!(looks_for(2_000, 100), 1_100);
        assert_eq!(
            looks_for(10 * PATIENCE_CYCLES, 1_000),
            PATIENCE_CYCLES + 1_000
        );
        assert_eq!(looks_for(1, LONG_CYCLES), LONG_CYCLES);
    }

    #[test]
    fn it_ends_where_time_stands_still_and_where_something_is_found() {
        for wanted in [1, 3, LOOKS_MAX, LOOKS_MAX + 1] {
            let (mut yields, looks) = (Yields::default(), Cell::new(0));
            let turn = || {
                looks.set(looks.get() + 1);
                looks.get() == wanted
            };
            assert_eq!(yields.look(|| 5, turn), wanted <= LOOKS_MAX);
            assert_eq!(looks.get(), wanted.min(LOOKS_MAX));
        }
    }
}
