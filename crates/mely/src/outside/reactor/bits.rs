//! What a watched descriptor is ready for, and whether an event will tell of it.

use std::sync::atomic::Ordering::AcqRel;

use crate::machine::sync::AtomicU32;

/// An event for it has been posted and has not begun.
const POSTED: u32 = 1 << 31;
/// The watch has ended.
const ENDED: u32 = 1 << 30;

/// Flags of epoll in one word, with what is done about them.
#[derive(Debug)]
pub(crate) struct ReadyBits(AtomicU32);

impl ReadyBits {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Adds what is ready now. Whether the caller must post an event for it.
    pub(crate) fn add(&self, flags: u32) -> bool {
        // AcqRel pairs with the one in `take`.
        let before = self.0.fetch_or(flags | POSTED, AcqRel);
        before & (POSTED | ENDED) == 0
    }

    /// For the event: all that came since the last one; `None` once the watch has ended.
    pub(crate) fn take(&self) -> Option<u32> {
        // AcqRel pairs with the one in `add`: readiness that came before this is reported
        // here, what comes after is posted anew.
        let bits = self.0.fetch_and(ENDED, AcqRel);
        (bits & ENDED == 0).then_some(bits & !POSTED)
    }

    /// Ends the watch: no event that begins later tells of anything.
    pub(crate) fn end(&self) {
        // AcqRel: as in `add`.
        self.0.fetch_or(ENDED, AcqRel);
    }
}
