//! Fetching a cache line before it is needed.
#![allow(unsafe_code)]

use crate::machine::region::Access;

/// Asks the processor for the line at `at`, for writing: takes it from other cores at
/// once. A hint: any address will do.
///
/// All that a worker fetches ahead it is about to change: a color by owning it, an event
/// by linking it or by using its memory again, a state by its handler. A line fetched for
/// reading would be fetched twice.
#[inline]
pub(crate) fn line<T>(at: *const T) {
    crate::machine::probe::prefetch(at, Access::Write);
    untold(at);
}

/// The same, of memory that the program has: a simulation is not told, because what else
/// is in its line was decided by the allocator, differently from run to run. What a
/// program does with its memory it tells by `Context::touch`.
#[inline]
pub(crate) fn untold<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // By its name: the compiler makes a fetch for reading of the intrinsic, unless it
        // is told that the processor has this one.
        // SAFETY: a prefetch never faults and changes nothing that can be observed;
        // processors without this form take it for no operation.
        unsafe {
            core::arch::asm!(
                "prefetchw [{}]", in(reg) at, options(nostack, readonly, preserves_flags)
            );
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) at, options(nostack, readonly));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = at;
}
