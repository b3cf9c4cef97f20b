//! The cycle counter: the cheapest clock there is (about 8 ns here).
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Reads the counter: the time-stamp counter on x86-64, the virtual counter on
/// aarch64, nanoseconds elsewhere. Not ordered with surrounding instructions:
/// good for costs, not for proofs.
#[inline]
pub(crate) fn now() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads a register that Linux lets user space read.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        static START: OnceLock<Instant> = OnceLock::new();
        let elapsed = START.get_or_init(Instant::now).elapsed();
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Counter ticks a second, measured once against the monotonic clock over 2 ms.
pub(crate) fn per_second() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (start, ticks) = (Instant::now(), now());
        while start.elapsed() < Duration::from_millis(2) {
            core::hint::spin_loop();
        }
        let ticks = now().wrapping_sub(ticks);
        ticks as f64 / start.elapsed().as_secs_f64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_does_not_go_back_and_has_a_rate() {
        let before = now();
        assert!(now() >= before);
        assert!(per_second() > 1e6);
    }
}
