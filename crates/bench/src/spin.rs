//! Work of a known length.

use std::hint::black_box;

/// One step is a multiplication and an addition that wait for each other: 3 + 1
/// cycles on the processors of the last decade.
const CYCLES_PER_STEP: u32 = 4;

/// Computes for about so many core cycles. A fixed count of instructions rather
/// than a wait on a clock: whoever is slowed down, by a neighbour on the core or by
/// cold caches, pays for it, and all implementations and processes do the same work.
#[inline(never)]
pub fn spin(cycles: u32) {
    let mut value = black_box(u64::from(cycles));
    for _ in 0..cycles / CYCLES_PER_STEP {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
    black_box(value);
}
