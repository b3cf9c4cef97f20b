//! Medians, minima, and waiting for another core with a bound.

use std::time::{Duration, Instant};

/// No measurement waits longer for the other core: it has been taken away.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How many times a wait looks before it looks at the clock.
const LOOKS: u32 = 4096;

/// The smallest, for what one core does alone: whatever disturbs makes it slower.
pub(super) fn fastest(samples: impl Iterator<Item = f64>) -> f64 {
    samples.fold(f64::MAX, f64::min)
}

/// The median, for what two cores do: either may be early or late. 0 of none.
pub(super) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

pub(super) fn ns(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// Looks until `done`, without giving the processor away: a pause would be measured.
/// Says whether it was done in time.
pub(super) fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if done() {
                return true;
            }
        }
        if start.elapsed() > PATIENCE {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_ignore_the_odd_ones() {
        assert_eq!(median(vec![900.0, 3.0, 1.0]), 3.0);
        assert_eq!(median(Vec::new()), 0.0);
        assert_eq!(fastest([3.0, 1.0, 900.0].into_iter()), 1.0);
    }

    #[test]
    fn what_is_done_is_not_waited_for() {
        let mut looks = 0;
        assert!(wait_until(|| {
            looks += 1;
            looks == 3
        }));
        assert_eq!(looks, 3);
    }
}
