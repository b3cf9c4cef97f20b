//! The color that a worker runs.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use mely_sched::Linked;

use super::{ColorCell, OwnedColor, Realm};

/// The place of the color that a worker runs, from where it is lent to its events. A
/// panic leaves it there.
pub(crate) struct Running<R: Realm>(Cell<Option<NonNull<ColorCell<R>>>>);

/// A color lent by its place, which keeps it until the event is over.
#[repr(transparent)]
pub(crate) struct Lent<R: Realm>(NonNull<ColorCell<R>>);

impl<R: Realm> Default for Running<R> {
    fn default() -> Self {
        Self(Cell::new(None))
    }
}

impl<R: Realm> Running<R> {
    /// Puts a color into the empty place.
    #[inline]
    pub(crate) fn put(&self, color: OwnedColor<R>) {
        let before = self.0.replace(Some(color.into_raw()));
        debug_assert!(before.is_none(), "a worker runs one color at a time");
    }

    /// Takes the color out, between two events: nothing that was lent may be left; or for
    /// as long as another one runs inside an event, which waits for that.
    #[inline]
    pub(crate) fn take(&self) -> Option<OwnedColor<R>> {
        // SAFETY: `put` gave up exactly this owner.
        self.0
            .take()
            .map(|raw| unsafe { OwnedColor::from_raw(raw) })
    }

    /// Lends the color for as long as an event runs.
    #[inline]
    pub(crate) fn lend(&self) -> Option<Lent<R>> {
        self.0.get().map(Lent)
    }
}

impl<R: Realm> Drop for Running<R> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<R: Realm> Clone for Lent<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Realm> Copy for Lent<R> {}

impl<R: Realm> Deref for Lent<R> {
    type Target = OwnedColor<R>;

    #[inline]
    fn deref(&self) -> &OwnedColor<R> {
        // SAFETY: an owner is this pointer and no more (`repr(transparent)`), and it is
        // in the place for as long as the loan lasts.
        unsafe { &*ptr::from_ref(&self.0).cast::<OwnedColor<R>>() }
    }
}
