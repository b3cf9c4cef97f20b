//! What a simulation is told of: nothing at all in production, where each of these
//! is an empty function.

use crate::machine::region::{Access, Region};
#[cfg(feature = "virtual")]
use crate::machine::simulated::hooks;
#[cfg(feature = "virtual")]
use crate::machine::simulated::meter;
#[cfg(feature = "virtual")]
pub(crate) use crate::machine::simulated::tariff::Work;

/// Work of the scheduler that takes time besides the memory that it touches.
#[cfg(not(feature = "virtual"))]
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Post,
    Event,
    Turn,
    Steal,
    Scan,
}

/// The scheduler does this, so many times.
#[inline(always)]
pub(crate) fn work(work: Work, times: u64) {
    #[cfg(feature = "virtual")]
    meter::work(work, times);
    #[cfg(not(feature = "virtual"))]
    let _ = (work, times);
}

/// The cache line at this address is touched.
#[inline(always)]
pub(crate) fn touch<T>(at: *const T, how: Access) {
    #[cfg(feature = "virtual")]
    meter::touch((at.addr() as u64, 1), how);
    #[cfg(not(feature = "virtual"))]
    let _ = (at, how);
}

/// The same, of all lines of a region.
#[inline(always)]
pub(crate) fn touch_region(region: Region, how: Access) {
    #[cfg(feature = "virtual")]
    meter::touch((region.address(), region.bytes()), how);
    #[cfg(not(feature = "virtual"))]
    let _ = (region, how);
}

/// The line is asked for ahead.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T, how: Access) {
    #[cfg(feature = "virtual")]
    meter::prefetch(at.addr() as u64, how);
    #[cfg(not(feature = "virtual"))]
    let _ = (at, how);
}

/// A handler computes.
#[inline(always)]
pub(crate) fn spend(cycles: u64) {
    #[cfg(feature = "virtual")]
    hooks::tell(|hooks| hooks.spend(cycles));
    #[cfg(not(feature = "virtual"))]
    let _ = cycles;
}

/// The worker lies down, where nothing of the program's may run; or has got up.
#[inline(always)]
pub(crate) fn lie_down(lies: bool) {
    #[cfg(feature = "virtual")]
    meter::lie_down(lies);
    #[cfg(not(feature = "virtual"))]
    let _ = lies;
}

/// The allocator made this: its lines are none that were used before. So, and by lines of
/// its own (`repr(align(64))` in a simulation), what is charged for does not depend on where
/// the allocator puts it.
#[inline(always)]
pub(crate) fn born<T>(memory: *const T) {
    #[cfg(feature = "virtual")]
    meter::born(memory.addr() as u64, size_of::<T>());
    #[cfg(not(feature = "virtual"))]
    let _ = memory;
}
