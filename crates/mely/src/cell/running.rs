//! The color that a worker runs.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use mely_sched::Linked;

use super::{ColorCell, OwnedColor};

/// The place of the color that a worker runs, from where it is lent to its events. A
/// panic leaves it there.
#[derive(Default)]
pub(crate) struct Running(Cell<Option<NonNull<ColorCell>>>);

/// A color lent by its place, which keeps it until the event is over.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Lent(NonNull<ColorCell>);

impl Running {
    /// Puts a color into the empty place.
    #[inline]
    pub(crate) fn put(&self, color: OwnedColor) {
        let before = self.0.replace(Some(color.into_raw()));
        debug_assert!(before.is_none(), "a worker runs one color at a time");
    }

    /// Takes the color out, between two events: nothing that was lent may be left.
    #[inline]
    pub(crate) fn take(&self) -> Option<OwnedColor> {
        // SAFETY: `put` gave up exactly this owner.
        self.0
            .take()
            .map(|raw| unsafe { OwnedColor::from_raw(raw) })
    }

    /// Lends the color for as long as an event runs.
    #[inline]
    pub(crate) fn lend(&self) -> Option<Lent> {
        self.0.get().map(Lent)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl Deref for Lent {
    type Target = OwnedColor;

    #[inline]
    fn deref(&self) -> &OwnedColor {
        // SAFETY: an owner is this pointer and no more (`repr(transparent)`), and it is
        // in the place for as long as the loan lasts.
        unsafe { &*ptr::from_ref(&self.0).cast::<OwnedColor>() }
    }
}
