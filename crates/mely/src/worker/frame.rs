//! Where an event runs.
#![allow(unsafe_code)]

use super::Worker;
use crate::event::Place;
use crate::shared::OwnedColor;

/// A worker, and the color that it runs: what the event that runs is told of both.
pub(crate) struct Frame<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) color: &'a OwnedColor,
}

impl<'a> Frame<'a> {
    /// As events see it.
    #[inline]
    pub(crate) fn place(&'a self) -> Place<'a> {
        Place::new(self)
    }

    /// The frame behind a place.
    ///
    /// It is not copied: what was written in two pieces and is read as one has to reach
    /// the cache first, a third of the time of a short event.
    ///
    /// # Safety
    ///
    /// The place is that of a frame.
    #[inline]
    pub(crate) unsafe fn of(place: Place<'a>) -> &'a Self {
        // SAFETY: the caller's word.
        unsafe { place.get::<Frame<'a>>() }
    }
}
