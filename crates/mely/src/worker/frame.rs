//! Where an event runs.
#![allow(unsafe_code)]

use super::Worker;
use crate::event::Place;
use crate::shared::OwnedColor;

/// A worker, and the color that it runs: what the event that runs is told of both.
#[derive(Clone, Copy)]
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
    /// # Safety
    ///
    /// The place is that of a frame.
    #[inline]
    pub(crate) unsafe fn of(place: Place<'a>) -> Self {
        // SAFETY: the caller's word.
        unsafe { *place.get::<Frame<'a>>() }
    }
}
