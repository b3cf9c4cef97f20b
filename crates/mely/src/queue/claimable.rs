//! What one thread touches without a lock, and another may claim while it is away.
//!
//! The owner marks by a plain store when it begins to touch its own and when it ends, and
//! then looks whether it is claimed; who claims it says so, makes the owner pass a barrier
//! ([`barrier`]), and looks whether the owner touches it. So one of the two sees the
//! other: the owner waits, or who claims gives up.
#![allow(unsafe_code)]

use core::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::machine::barrier;
use crate::machine::sync::{Arc, UnsimulatedBool, give_way};

/// What an [`Owner`] owns, as others see it.
#[repr(align(128))]
pub(crate) struct Claimable<T> {
    own: T,
    /// The owner touches it; nobody else does, unless it is claimed.
    touched: UnsimulatedBool,
    claimed: UnsimulatedBool,
}

// SAFETY: `own` is touched by its owner while `touched` is set and it has not seen
// `claimed`, which is not while it is lent, and by who has set `claimed` and then, after a barrier in the owner, seen
// `touched` unset: by one at a time, each of which sees what the other did (module docs).
// So it need not be `Sync`, and moves between threads as a whole.
unsafe impl<T: Send> Sync for Claimable<T> {}

/// The only one who need not ask. Not `Sync`: it is one thread's at a time.
pub(crate) struct Owner<T> {
    claimable: Arc<Claimable<T>>,
    /// What the others see in `touched`.
    touches: Cell<bool>,
    lends: bool,
}

/// The right to touch what was claimed. Its owner waits for the end of it.
pub(crate) struct Claimed<'a, T>(&'a Claimable<T>);

impl<T> Owner<T> {
    /// The owner of `own`, who touches it. Others can claim it only if `lends`.
    pub(crate) fn new(own: T, lends: bool) -> Self {
        let claimable = Claimable {
            own,
            touched: UnsimulatedBool::new(true),
            claimed: UnsimulatedBool::new(false),
        };
        Self {
            claimable: Arc::new(claimable),
            touches: Cell::new(true),
            lends,
        }
    }

    pub(crate) fn claimable(&self) -> &Arc<Claimable<T>> {
        &self.claimable
    }

    /// Touches it, and takes it back for that if it was lent.
    #[inline(always)]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        self.take_back();
        work(&self.claimable.own)
    }

    /// Touches it, and leaves it lent if it was. After a panic of `work` it is taken back.
    // Not what `with` is too: what is to be done after `work` keeps its result in memory.
    #[inline(always)]
    pub(crate) fn visit(&self, work: impl FnOnce(&T)) {
        let is_lent = !self.touches.get();
        self.with(work);
        if is_lent {
            self.leave();
        }
    }

    /// Leaves it to others until it is taken back.
    ///
    /// # Safety
    ///
    /// Not called within `with` or `visit` of the same owner.
    #[inline]
    pub(crate) unsafe fn lend(&self) {
        if self.lends {
            self.leave();
        }
    }

    /// Takes it back, as soon as nobody else has it.
    #[inline]
    pub(crate) fn take_back(&self) {
        if !self.touches.get() {
            self.touch();
        }
    }

    #[inline]
    fn touch(&self) {
        let Claimable {
            touched, claimed, ..
        } = &*self.claimable;
        // Relaxed: ordered before the read by the barrier, for whom it matters.
        touched.store(true, Relaxed);
        barrier::light();
        // Acquire: what was done to it meanwhile.
        if claimed.load(Acquire) {
            self.wait();
        }
        self.touches.set(true);
    }

    #[cold]
    fn wait(&self) {
        // Acquire: as above.
        while self.claimable.claimed.load(Acquire) {
            give_way();
        }
    }

    #[inline]
    fn leave(&self) {
        self.touches.set(false);
        // Release: who claims it sees what was done to it.
        self.claimable.touched.store(false, Release);
    }
}

impl<T> Claimable<T> {
    /// Claims it, unless its owner touches it, somebody else has claimed it, or the system
    /// has no such barrier.
    pub(crate) fn claim(&self) -> Option<Claimed<'_, T>> {
        let free = self.claimed.compare_exchange(false, true, Acquire, Relaxed);
        let claimed = free.map(|_| Claimed(self)).ok()?;
        let passed = barrier::heavy();
        // Acquire: what the owner did to it before.
        (passed && !self.touched.load(Acquire)).then_some(claimed)
    }
}

impl<T> Claimed<'_, T> {
    pub(crate) fn get(&self) -> &T {
        &self.0.own
    }
}

impl<T> Drop for Claimed<'_, T> {
    fn drop(&mut self) {
        // Release: the owner, and who claims it next, see what was done to it.
        self.0.claimed.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(lends: bool) -> Owner<Cell<u32>> {
        assert!(barrier::is_there(), "Linux has had membarrier since 4.14");
        Owner::new(Cell::new(0), lends)
    }

    #[test]
    fn only_what_is_lent_can_be_claimed() {
        let owner = counter(true);
        let claimable = owner.claimable();
        assert!(claimable.claim().is_none());
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        let claimed = claimable.claim().expect("it is lent");
        assert!(claimable.claim().is_none(), "twice at a time");
        claimed.get().set(7);
        drop(claimed);
        owner.visit(|own| {
            assert!(claimable.claim().is_none(), "beside its owner");
            assert_eq!(own.replace(8), 7);
        });
        assert_eq!(claimable.claim().map(|c| c.get().get()), Some(8));
        owner.take_back();
        assert!(claimable.claim().is_none());
    }

    #[test]
    fn after_a_panic_in_touching_it_can_be_lent_again() {
        let owner = counter(true);
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        let touched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            owner.visit(|_| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(touched.is_err() && owner.claimable().claim().is_none());
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        assert!(owner.claimable().claim().is_some());
    }

    #[test]
    fn who_does_not_lend_touches_it_always() {
        let owner = counter(false);
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        assert!(owner.claimable().claim().is_none());
    }
}
