//! What a handle knows of its color by heart.
//!
//! The cache line of a color is often on another core; a post that had to look there
//! before it could wait for the line (see `worker/outbox.rs`) would not gain much.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A number that no other runtime of this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuntimeNumber(u64);

impl RuntimeNumber {
    /// A new one.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness matters. It is halved below, and would still last
        // for 2^63 runtimes.
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

/// The runtime of a color, and whether the color is bounded: both never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(u64);

impl Origin {
    pub(crate) fn new(runtime: RuntimeNumber, bounded: bool) -> Self {
        Self(runtime.0 << 1 | u64::from(bounded))
    }

    /// Whether the color is one of this runtime.
    #[inline]
    pub(crate) fn is_of(self, runtime: RuntimeNumber) -> bool {
        self.0 >> 1 == runtime.0
    }

    /// Whether the color may have so many pending events only.
    #[inline]
    pub(crate) fn is_bounded(self) -> bool {
        self.0 & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_knows_both() {
        let (one, other) = (RuntimeNumber::next(), RuntimeNumber::next());
        for bounded in [false, true] {
            let origin = Origin::new(one, bounded);
            assert!(origin.is_of(one) && !origin.is_of(other));
            assert_eq!(origin.is_bounded(), bounded);
        }
    }
}
