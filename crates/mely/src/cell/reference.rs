//! How counted references to a color end.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::{Acquire, Release};

use super::{ColorCell, ColorRef, Realm};

impl<R: Realm> Drop for ColorRef<R> {
    #[inline]
    fn drop(&mut self) {
        // Release: all that was done through this reference comes before the end of
        // the cell.
        if self.cell().refs.fetch_sub(1, Release) == 1 {
            self.end();
        }
    }
}

impl<R: Realm> ColorRef<R> {
    /// Ends the color: this was the last reference.
    #[cold]
    fn end(&mut self) {
        // Acquire pairs with the release of all who gave up others.
        self.cell().refs.load(Acquire);
        // SAFETY: no reference is left, so nobody can post or make another. A color
        // with events has an owner, who has a reference: this one has none.
        unsafe { ColorCell::end(self.0) };
    }
}
