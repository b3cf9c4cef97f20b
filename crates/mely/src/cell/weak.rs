//! References that do not keep a color alive.
//!
//! The memory of a color is another one's once it has ended, so a weak reference must not
//! look there: it refers to an [`Anchor`], which the color is taken from before it ends.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use super::{ColorCell, ColorRef, Realm};
use crate::machine::probe;
use crate::machine::sync::{Arc, Mutex, lock};

/// Where a color is; nothing once it has ended.
#[cfg_attr(feature = "virtual", repr(align(64)))]
pub(super) struct Anchor<R: Realm>(Mutex<Option<NonNull<ColorCell<R>>>>);

// SAFETY: what is reached through it is the count of references alone, under its lock.
unsafe impl<R: Realm> Send for Anchor<R> {}
// SAFETY: as above.
unsafe impl<R: Realm> Sync for Anchor<R> {}

/// A reference to a color that does not keep it alive.
pub(crate) struct WeakRef<R: Realm>(Arc<Anchor<R>>);

impl<R: Realm> ColorRef<R> {
    pub(crate) fn downgrade(&self) -> WeakRef<R> {
        let anchor = self.cell().anchor.get_or_init(|| {
            let anchor = Arc::new(Anchor(Mutex::new(Some(self.0))));
            probe::born(Arc::as_ptr(&anchor));
            anchor
        });
        WeakRef(Arc::clone(anchor))
    }
}

impl<R: Realm> WeakRef<R> {
    /// A counted reference, unless the last one is gone.
    pub(crate) fn upgrade(&self) -> Option<ColorRef<R>> {
        let place = lock(&self.0.0);
        let cell = (*place)?;
        // SAFETY: who ends the color takes it from here first, under this lock; until then
        // it is live, and only its count is reached.
        let refs = unsafe { &(*cell.as_ptr()).refs };
        // Relaxed: as for a clone. What was done before the anchor was made is seen through
        // whatever brought the weak reference here.
        let one_more = |refs: usize| (refs > 0).then(|| refs + 1);
        refs.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        Some(ColorRef(cell))
    }
}

impl<R: Realm> Clone for WeakRef<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Realm> ColorCell<R> {
    /// Whether somebody may have a weak reference, from which he makes a counted one even if
    /// nobody else has one. Who has seen the count after all others gave theirs up sees that.
    #[inline]
    pub(super) fn has_anchor(&self) -> bool {
        self.anchor.get().is_some()
    }

    /// Before the color ends: no weak reference leads here any more.
    #[inline]
    pub(super) fn weigh_anchor(&self) {
        if let Some(anchor) = self.anchor.get() {
            lock(&anchor.0).take();
        }
    }
}
