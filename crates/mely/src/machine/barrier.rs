//! A barrier between two threads that costs one of them nothing: the other makes all run
//! into one when it needs it (`membarrier`, private expedited).
//!
//! Each of two threads writes one word and reads the other's. With [`light`] between the
//! two in the one, and [`heavy`] in the other, not both read what was there before.

#[cfg(any(loom, miri))]
use crate::machine::sync::fence;
#[cfg(any(loom, miri))]
use std::sync::atomic::Ordering::SeqCst;

/// The side that is passed often: keeps the compiler from moving the read before the
/// write; the processor may do so.
#[inline(always)]
pub(crate) fn light() {
    // Neither of the two knows the system call.
    #[cfg(any(loom, miri))]
    fence(SeqCst);
    #[cfg(not(any(loom, miri)))]
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The side that is passed now and then: every thread of the process has passed a barrier
/// when it returns, some microseconds later. Whether that is so.
pub(crate) fn heavy() -> bool {
    #[cfg(any(loom, miri))]
    {
        fence(SeqCst);
        true
    }
    #[cfg(not(any(loom, miri)))]
    {
        use rustix::thread::{MembarrierCommand, membarrier};
        membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }
}

/// Prepares the process for [`heavy`]; whether the system has it (Linux 4.14).
pub(crate) fn is_there() -> bool {
    #[cfg(any(loom, miri))]
    return true;
    #[cfg(not(any(loom, miri)))]
    {
        use rustix::thread::{MembarrierCommand, membarrier};
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok() && heavy()
    }
}
