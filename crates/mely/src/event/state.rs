//! The state that an event works on.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;

/// State that lives as long as its color, as an event carries it.
///
/// It lends `&mut T`, so it must not be taken for one of a `T` that lives longer or
/// shorter: it is invariant.
pub(crate) struct StatePtr<T>(NonNull<T>, PhantomData<*mut T>);

impl<T> StatePtr<T> {
    pub(crate) const fn new(state: NonNull<T>) -> Self {
        Self(state, PhantomData)
    }

    /// The state of a color that has none of this type: `T` has no size.
    pub(crate) const fn dangling() -> Self {
        const { assert!(size_of::<T>() == 0) };
        Self::new(NonNull::dangling())
    }

    /// The state.
    ///
    /// # Safety
    ///
    /// The color has not ended, and nobody else reaches the state meanwhile.
    #[inline]
    pub(crate) unsafe fn as_mut(&mut self) -> &mut T {
        // SAFETY: the caller's word.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Clone for StatePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StatePtr<T> {}

// SAFETY: the pointer is dereferenced only by events of the color that owns the
// state, one at a time; `T: Send` makes that sound on any thread.
unsafe impl<T: Send> Send for StatePtr<T> {}
// SAFETY: a shared `StatePtr` gives no access to the state.
unsafe impl<T: Send> Sync for StatePtr<T> {}
