//! Where an event is run, as events see it.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;

/// Where an event is run, as the layers above know it; here nobody looks inside.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a>(NonNull<()>, PhantomData<&'a ()>);

impl<'a> Place<'a> {
    #[inline]
    pub(crate) fn new<P>(place: &'a P) -> Self {
        Self(NonNull::from(place).cast(), PhantomData)
    }

    /// What it was made of.
    ///
    /// # Safety
    ///
    /// It was made of a `P`.
    #[inline]
    pub(crate) unsafe fn get<P>(self) -> &'a P {
        // SAFETY: the caller's word; it was borrowed for as long.
        unsafe { self.0.cast().as_ref() }
    }
}
