//! The states that a color owns.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::event::StatePtr;
use crate::machine::panics::{call_safely, drop_safely};

/// How a state is made anew.
pub(crate) trait Make<T>: Send + 'static {
    /// Whether it can be.
    const CAN: bool;
    /// Whether the state is the runtime's, not the program's.
    const IS_OURS: bool = false;

    fn make(&mut self) -> Option<T>;
}

/// Not at all.
pub(crate) struct Never;

impl<T> Make<T> for Never {
    const CAN: bool = false;

    fn make(&mut self) -> Option<T> {
        None
    }
}

/// Not at all: it is a state of the runtime's.
pub(crate) struct Ours;

impl<T> Make<T> for Ours {
    const CAN: bool = false;
    const IS_OURS: bool = true;

    fn make(&mut self) -> Option<T> {
        None
    }
}

/// By a function of the program's.
pub(crate) struct Anew<F>(pub(crate) F);

impl<T, F: FnMut() -> T + Send + 'static> Make<T> for Anew<F> {
    const CAN: bool = true;

    fn make(&mut self) -> Option<T> {
        Some((self.0)())
    }
}

/// A state, and the one that the color was given before it.
struct Owned<T, M> {
    value: T,
    before: Option<NonNull<dyn State>>,
    make: M,
}

trait State: Send {
    fn before(&self) -> Option<NonNull<dyn State>>;

    fn take_before(&mut self) -> Option<NonNull<dyn State>>;

    fn is_programs(&self) -> bool;

    /// Puts a fresh value into the place of what a panic has left.
    fn renew(&mut self);
}

// SAFETY: `before` owns a state, which is `Send` by the bound of the trait.
unsafe impl<T: Send, M: Send> Send for Owned<T, M> {}

impl<T: Send + 'static, M: Make<T>> State for Owned<T, M> {
    fn before(&self) -> Option<NonNull<dyn State>> {
        self.before
    }

    fn take_before(&mut self) -> Option<NonNull<dyn State>> {
        self.before.take()
    }

    fn is_programs(&self) -> bool {
        !M::IS_OURS
    }

    fn renew(&mut self) {
        if let Some(fresh) = self.make.make() {
            drop_safely(core::mem::replace(&mut self.value, fresh));
        }
    }
}

/// Where the states of a color are, for its owner.
pub(super) struct StatesPtr(NonNull<dyn State>);

impl StatesPtr {
    /// Whether one of them is the program's.
    ///
    /// # Safety
    ///
    /// As for [`renew`](Self::renew).
    pub(super) unsafe fn has_programs(self) -> bool {
        let mut next = Some(self.0);
        while let Some(state) = next {
            // SAFETY: as in `renew`.
            let state = unsafe { state.as_ref() };
            if state.is_programs() {
                return true;
            }
            next = state.before();
        }
        false
    }

    /// Makes anew all that can be; whether none of the program's functions panicked.
    ///
    /// # Safety
    ///
    /// The states are there until this returns, and nobody else reaches them meanwhile.
    pub(super) unsafe fn renew(self) -> bool {
        let (mut next, mut all) = (Some(self.0), true);
        while let Some(mut state) = next {
            // SAFETY: the caller's word. States that are added meanwhile come before the
            // first of these, which they only point to.
            let state = unsafe { state.as_mut() };
            all &= call_safely(|| state.renew());
            next = state.before();
        }
        all
    }
}

/// The states of a color, newest first. Dropping it drops them, one after the other.
///
/// A raw pointer, not a box: events reach the states by pointers that were made before
/// this one was moved, and a box that moves claims to be the only way to what it holds.
pub(crate) struct States(NonNull<dyn State>);

// SAFETY: it owns states that are `Send`.
unsafe impl Send for States {}

impl States {
    /// One state more, before those that there are; and where it is.
    pub(crate) fn with<T, M>(before: Option<Self>, value: T, make: M) -> (Self, StatePtr<T>)
    where
        T: Send + 'static,
        M: Make<T>,
    {
        let before = before.map(Self::into_raw);
        let owned = Box::into_raw(Box::new(Owned {
            value,
            before,
            make,
        }));
        // SAFETY: it was boxed just now, so neither pointer is null, and the value is
        // live.
        unsafe {
            let value = NonNull::new_unchecked(&raw mut (*owned).value);
            (Self(NonNull::new_unchecked(owned)), StatePtr::new(value))
        }
    }

    pub(super) fn place(&self) -> StatesPtr {
        StatesPtr(self.0)
    }

    fn into_raw(self) -> NonNull<dyn State> {
        core::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let mut next = Some(self.0);
        while let Some(state) = next {
            // SAFETY: `with` boxed it, and it is dropped once; no event of the color is
            // being run, nor will one be.
            let mut state = unsafe { Box::from_raw(state.as_ptr()) };
            next = state.take_before();
            drop_safely(state);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Noted(u32, Arc<Mutex<Vec<u32>>>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
            assert_ne!(self.0, 3, "a destructor that panics");
        }
    }

    #[test]
    fn states_stay_where_they_are_and_end_one_by_one() {
        let order = Arc::default();
        let (mut states, mut first) = States::with(None, Noted(0, Arc::clone(&order)), Never);
        for n in 1..6 {
            (states, _) = States::with(Some(states), Noted(n, Arc::clone(&order)), Never);
        }
        // SAFETY: the states are live, and nobody else reaches them.
        unsafe { first.as_mut() }.0 = 9;
        drop(Box::new(states));
        assert_eq!(*order.lock().unwrap(), [5, 4, 3, 2, 1, 9]);
    }

    #[test]
    fn a_hundred_thousand_states_end_without_recursion() {
        let many = if cfg!(miri) { 200 } else { 100_000 };
        let alive = Arc::new(());
        let (mut states, _) = States::with(None, Arc::clone(&alive), Never);
        for _ in 1..many {
            (states, _) = States::with(Some(states), Arc::clone(&alive), Never);
        }
        drop(states);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
