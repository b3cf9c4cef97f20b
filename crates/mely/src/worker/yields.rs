//! Giving way to others on the core before lying down.

/// Who has given way for longer, 2 ms at 2.5 GHz, shares the core with somebody who does not
/// stop for him.
const LONG_CYCLES: u64 = 5_000_000;

/// How many times a worker lies down at once, at the most, before it tries again to give
/// way, if that brought nothing: 0.5 µs for each try.
const FUTILE_MAX: u32 = 64;

/// The same, if it took long: up to a slice of the kernel's for each try.
const LONG_MAX: u32 = 16_384;

/// Whether a worker gives way once to whoever else is on its core, before it lies down.
///
/// A server shares its cores with those who ask it: a proxy, a database, the clients of a
/// benchmark. If it lies down after each answer, the next request wakes it, and its waking
/// puts the asker off the core: two switches for each request. If it gives way instead, it
/// does not have to be woken, and finds afterwards all that was asked meanwhile.
///
/// That is worth nothing on a core of its own, and time where somebody else is busy; so it is
/// tried seldom for as long as it fails.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yields {
    /// How many times it lies down at once before the next try.
    until_next: u32,
    /// What `until_next` begins with after a try that failed.
    back_off: u32,
}

impl Yields {
    /// Whether to give way this time.
    pub(super) fn try_now(&mut self) -> bool {
        let now = self.until_next == 0;
        self.until_next = self.until_next.saturating_sub(1);
        now
    }

    /// Learns what came of it: whether there is work now, and how long it took.
    pub(super) fn learn(&mut self, found: bool, cycles: u64) {
        let most = match (found, cycles > LONG_CYCLES) {
            (true, false) => return self.back_off = 0,
            (_, true) => LONG_MAX,
            (false, false) => FUTILE_MAX,
        };
        // What is long stays so, whatever the next short one finds.
        self.back_off = (2 * self.back_off.max(1)).min(most.max(self.back_off));
        self.until_next = self.back_off;
    }
}

#[cfg(test)]
mod tests {
    use super::{FUTILE_MAX, LONG_CYCLES, LONG_MAX, Yields};

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
        assert_eq!(tries(&mut Yields::default(), 1_000, true, LONG_CYCLES), 1_000);
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
}
