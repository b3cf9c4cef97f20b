//! What one core measures alone: its clock, its caches, memory, atomics.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::samples::{fastest, ns};

/// Links followed in one measurement: 1 ms of L1 hits, 50 ms of memory accesses.
const HOPS: usize = 400_000;
const REPEATS: usize = 7;

/// Beyond any cache, but no more than a small machine has.
const MEMORY_BYTES_MIN: u64 = 64 << 20;
const MEMORY_BYTES_MAX: u64 = 512 << 20;

/// Core cycles in a second, from a chain of instructions that wait for each other.
pub(super) fn cycles_per_second() -> f64 {
    /// A rotation takes 1 cycle and a multiplication 3 on current processors, and no
    /// compiler can merge two steps.
    const CYCLES_PER_STEP: u32 = 4;
    const STEPS: u32 = 250_000;
    let time_once = |_| {
        let mut value = black_box(1_u64);
        let start = Instant::now();
        for _ in 0..STEPS {
            value = value.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        black_box(value);
        start.elapsed().as_secs_f64()
    };
    f64::from(STEPS * CYCLES_PER_STEP) / fastest((0..100).map(time_once))
}

/// An atomic addition to a line that the core has, each waiting for the last.
pub(super) fn rmw_ns() -> f64 {
    const TIMES: u32 = 200_000;
    let time_once = |_| {
        let (counter, mut last) = (AtomicU64::new(0), 1);
        let start = Instant::now();
        for _ in 0..TIMES {
            // Relaxed: the instruction is locked on x86-64 whatever is asked for.
            last = counter.fetch_add(black_box(last & 1), Ordering::Relaxed);
        }
        black_box(last);
        ns(start.elapsed()) / f64::from(TIMES)
    };
    fastest((0..REPEATS).map(time_once))
}

/// How much to walk over so that memory answers.
pub(super) fn memory_bytes(outermost_bytes: u64) -> u64 {
    let wanted = outermost_bytes.saturating_mul(4);
    wanted.clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_MAX)
}

/// What a load takes that waits for the last, over so many bytes in random order.
pub(super) fn latency_ns(bytes: u64, line_bytes: u32) -> f64 {
    Ring::new(bytes, line_bytes).latency_ns()
}

/// Lines that name each other in random order: nothing can fetch ahead.
pub(super) struct Ring {
    /// The first word of a line is the place of the next line's first.
    words: Vec<u32>,
    stride: usize,
}

impl Ring {
    pub(super) fn new(bytes: u64, line_bytes: u32) -> Self {
        let stride = (line_bytes as usize / size_of::<u32>()).max(1);
        // `MEMORY_BYTES_MAX` fits, and so do its words into 32 bits.
        let lines = (bytes / u64::from(line_bytes)).max(2) as usize;
        let mut words = vec![0; lines * stride];
        for (place, next) in shuffled_ring(lines).into_iter().enumerate() {
            words[place * stride] = next * stride as u32;
        }
        Self { words, stride }
    }

    /// Nanoseconds from one line to the next.
    pub(super) fn latency_ns(&self) -> f64 {
        let lines = self.words.len() / self.stride;
        let mut at = self.follow(0, lines.min(HOPS));
        fastest((0..REPEATS).map(|_| {
            let start = Instant::now();
            at = self.follow(at, HOPS);
            ns(start.elapsed()) / HOPS as f64
        }))
    }

    fn follow(&self, from: u32, hops: usize) -> u32 {
        let at = (0..hops).fold(from, |at, _| self.words[at as usize]);
        black_box(at)
    }

    /// Nanoseconds for a line of a walk from the first to the last.
    pub(super) fn walk_ns(&self) -> f64 {
        let time_once = |_| {
            let start = Instant::now();
            let words = self.words.iter().step_by(self.stride);
            black_box(words.fold(0_u32, |sum, &word| sum.wrapping_add(word)));
            ns(start.elapsed()) * self.stride as f64 / self.words.len() as f64
        };
        fastest((0..REPEATS).map(time_once))
    }
}

/// Of `count` places, the one that follows each: one ring through all, in random
/// order (Sattolo's algorithm).
pub(super) fn shuffled_ring(count: usize) -> Vec<u32> {
    let mut next: Vec<u32> = (0..count as u32).collect();
    // The same order in each run.
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for last in (1..count).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        next.swap(last, (random % last as u64) as usize);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_goes_through_all_places() {
        for count in [2, 3, 64, 1000] {
            let next = shuffled_ring(count);
            let (mut at, mut steps) = (0, 0);
            while steps == 0 || at != 0 {
                at = next[at] as usize;
                steps += 1;
            }
            assert_eq!(steps, count);
        }
    }

    #[test]
    fn memory_is_beyond_the_caches_and_bounded() {
        assert_eq!(memory_bytes(0), 64 << 20);
        assert_eq!(memory_bytes(32 << 20), 128 << 20);
        assert_eq!(memory_bytes(u64::MAX), 512 << 20);
    }
}
