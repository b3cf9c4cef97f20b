//! Random numbers from a seed.

use crate::nanos::Nanos;

/// A small generator of random numbers, for simulations and for chance that admission needs:
/// the same numbers from the same seed.
///
/// SplitMix64: Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*
/// (OOPSLA 2014).
///
/// ```
/// use mely_sched::queueing::Chance;
/// let (mut a, mut b) = (Chance::new(7), Chance::new(7));
/// assert_eq!(a.number(), b.number());
/// assert!((0.0..1.0).contains(&a.unit()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// All seeds are as good.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, each as likely as all others.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A time of an exponential distribution with that mean.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        Nanos::from_f64(-(1.0 - self.unit()).ln() * mean.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn exponential_times_have_their_mean_and_deviation() {
        let (mut chance, mean) = (Chance::new(1), Nanos::from_micros(10));
        let times: Vec<_> = (0..100_000)
            .map(|_| chance.exponential(mean).as_f64() / mean.as_f64())
            .collect();
        let count = times.len() as f64;
        let average = times.iter().sum::<f64>() / count;
        let squares = times.iter().map(|time| (time - average).powi(2));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        assert!((average - 1.0).abs() < 0.02, "{average}");
        assert!((deviation - 1.0).abs() < 0.02, "{deviation}");
    }
}
