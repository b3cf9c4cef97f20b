//! The colors of a replay, as long as something is still to be posted to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::mely::Color;

/// A color that more than one event has.
#[derive(Default)]
struct Slot {
    color: Option<Arc<Color>>,
    /// Posts that are still to come.
    left: u32,
}

/// The colors, by their place in the program.
///
/// A reference of the runtime's own is counted on the simulated machine, which may leave
/// the core there: nothing here makes or drops one while it has a lock of this process,
/// on which all cores run.
pub(super) struct Slots(Vec<Mutex<Slot>>);

impl Slots {
    /// For colors with so many events each.
    pub(super) fn new(events: impl Iterator<Item = u32>) -> Self {
        let slot = |left| Mutex::new(Slot { color: None, left });
        Self(events.map(slot).collect())
    }

    fn slot(&self, color: u32) -> MutexGuard<'_, Slot> {
        let slot = self.0[color as usize].lock();
        slot.unwrap_or_else(PoisonError::into_inner)
    }

    /// The color, for one post; made if this is the first. After the last one it is
    /// held no longer, as a program would drop it.
    pub(super) fn take(&self, color: u32, make: impl FnOnce() -> Color) -> Arc<Color> {
        if let Some(held) = self.pass(color) {
            return held;
        }
        // Others may post to it meanwhile, and make it as well: the first one counts.
        let made = Arc::new(make());
        let mut slot = self.slot(color);
        let first = Arc::clone(slot.color.get_or_insert_with(|| Arc::clone(&made)));
        drop(slot);
        first
    }

    /// Counts a post, for which the color may be held already.
    pub(super) fn pass(&self, color: u32) -> Option<Arc<Color>> {
        let mut slot = self.slot(color);
        slot.left = slot.left.saturating_sub(1);
        match slot.left {
            0 => slot.color.take(),
            _ => slot.color.clone(),
        }
    }
}
