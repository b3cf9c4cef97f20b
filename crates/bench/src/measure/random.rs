//! Deterministic pseudo-random numbers: the same load for all, in every run.

/// Marsaglia's xorshift with 64 bits of state.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be 0; neighbouring seeds must not begin alike.
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    #[inline]
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = self.0 >> 32;
        let scaled = (high * u64::from(limit)) >> 32;
        u32::try_from(scaled).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_below_the_limit_come() {
        let mut random = Random::new(0);
        let mut seen = [0; 10];
        (0..10_000).for_each(|_| seen[random.below(10) as usize] += 1);
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
    }
}
