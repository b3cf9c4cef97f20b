//! How references to a color end, and those that are not counted.
#![allow(unsafe_code)]

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use super::{ColorCell, ColorRef, OwnedColor};
use crate::event::Event;
use crate::sync::Arc;
use crate::worker::{self, Worker};

impl ColorRef {
    /// Gives up a reference unless it is the last: then it comes back.
    #[inline]
    fn give_up(self) -> Result<(), Self> {
        let this = ManuallyDrop::new(self);
        let refs = &this.cell().refs;
        // Acquire: the last one sees all that was done through the others.
        let mut count = refs.load(Acquire);
        while count > 1 {
            // Release: all that was done through this reference comes before the end
            // of the cell.
            match refs.compare_exchange_weak(count, count - 1, AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(found) => count = found,
            }
        }
        Err(ManuallyDrop::into_inner(this))
    }

    /// Gives up a reference; ends the color if it is the last, which no outbox may
    /// hold.
    pub(crate) fn end_now(self) {
        let mut last = self;
        while let Err(again) = last.give_up() {
            if again.is_last() {
                // SAFETY: no counted reference is left, and nobody has another.
                unsafe { ColorCell::end(ManuallyDrop::new(again).0) };
                return;
            }
            last = again;
        }
    }

    /// Makes the last reference none. False if there are others again: an outbox
    /// has delivered to the color meanwhile.
    fn is_last(&self) -> bool {
        let refs = &self.cell().refs;
        // Acquire and release: as in `give_up`.
        refs.compare_exchange(1, 0, AcqRel, Acquire).is_ok()
    }

    /// Lets an outbox hold the color without counting it.
    #[inline]
    pub(crate) fn pass(&self) -> Passing {
        Passing(self.0)
    }
}

impl Drop for ColorRef {
    #[inline]
    fn drop(&mut self) {
        if let Err(last) = Self(self.0).give_up() {
            last.drop_last();
        }
    }
}

impl ColorRef {
    /// Ends the color, now or once no outbox can hold it.
    #[cold]
    fn drop_last(self) {
        let shared = Arc::clone(self.shared());
        // What this very thread holds it need not wait for.
        worker::with_current(&shared, |worker| worker.map(Worker::empty_outbox));
        match shared.nobody_passes() {
            true => self.end_now(),
            false => shared.end_later(self),
        }
    }
}

/// A color in an outbox: no counted reference.
///
/// There is one only while the outbox of its worker is in use, and while that is so
/// the color is not ended: see `docs/protocols.md`, "Passing".
pub(crate) struct Passing(NonNull<ColorCell>);

impl Passing {
    /// Gives an event to the color: see [`ColorRef::deliver`].
    #[inline]
    pub(crate) fn deliver(self, event: Event) -> Option<OwnedColor> {
        // It counts for nobody, and is not dropped.
        ManuallyDrop::new(ColorRef(self.0)).deliver(event)
    }
}
