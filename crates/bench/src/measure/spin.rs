//! Work of a known length.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use super::error::Error;

/// One step is a shift, an exclusive or and a multiplication that wait for each
/// other: 1 + 1 + 3 cycles. A compiler cannot merge steps; it does merge those of a
/// multiplication and an addition, eight into one.
const CYCLES_PER_STEP: u32 = 5;

/// No processor is faster, in cycles per second: more means that the compiler has
/// shortened the work.
const CREDIBLE_MAX: f64 = 8e9;

thread_local! {
    /// Each call begins with what the last one computed: otherwise a processor
    /// overlaps short calls, and two take the time of one.
    static LAST: Cell<u64> = const { Cell::new(1) };
}

/// Computes for about so many core cycles. A fixed count of instructions rather
/// than a wait on a clock: whoever is slowed down, by a neighbour on the core or by
/// cold caches, pays for it, and all implementations and processes do the same work.
#[inline(never)]
pub(crate) fn spin(cycles: u32) {
    let mut value = LAST.get();
    for _ in 0..cycles / CYCLES_PER_STEP {
        value = (value ^ (value >> 29)).wrapping_mul(6_364_136_223_846_793_005);
    }
    LAST.set(black_box(value));
}

/// How many cycles `spin` does in a second, from the fastest of a few tries.
fn cycles_per_second() -> f64 {
    const CYCLES: u32 = 1_000_000;
    let time_once = |_| {
        let start = Instant::now();
        spin(black_box(CYCLES));
        start.elapsed().as_secs_f64()
    };
    f64::from(CYCLES) / (0..20).map(time_once).fold(f64::MAX, f64::min)
}

/// Whether a rate of cycles is one that a processor can have.
pub(crate) fn is_credible(cycles_per_second: f64) -> bool {
    cycles_per_second < CREDIBLE_MAX
}

/// How many cycles `spin` does in a second.
///
/// # Errors
///
/// [`Error::ShortenedWork`] if no processor does so many.
pub(crate) fn checked() -> Result<f64, Error> {
    let spin_rate = cycles_per_second();
    match is_credible(spin_rate) {
        true => Ok(spin_rate),
        false => Err(Error::ShortenedWork { spin_rate }),
    }
}
