//! Fetching a cache line before it is needed.
#![allow(unsafe_code)]

use crate::region::Access;

/// Asks the processor for the line at `at`. A hint: any address will do.
#[inline]
pub(crate) fn line<T>(at: *const T) {
    crate::probe::prefetch(at, Access::Read);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and changes nothing that can be observed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = at;
}

/// The same, for a line that is to be written: takes it from other cores at once.
#[inline]
pub(crate) fn line_for_writing<T>(at: *const T) {
    crate::probe::prefetch(at, Access::Write);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // By its name: from the intrinsic the compiler makes a fetch for reading, unless
        // it may use all that the processor has.
        // SAFETY: a prefetch never faults and changes nothing that can be observed;
        // processors without this form take it for no operation.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
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
