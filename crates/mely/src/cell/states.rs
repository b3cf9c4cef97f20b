//! The states that a color owns.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::event::StatePtr;
use crate::machine::panics::drop_safely;

/// A state, and the one that the color was given before it.
struct Owned<T> {
    value: T,
    before: Option<NonNull<dyn State>>,
}

trait State: Send {
    fn take_before(&mut self) -> Option<NonNull<dyn State>>;
}

// SAFETY: `before` owns a state, which is `Send` by the bound of the trait.
unsafe impl<T: Send> Send for Owned<T> {}

impl<T: Send + 'static> State for Owned<T> {
    fn take_before(&mut self) -> Option<NonNull<dyn State>> {
        self.before.take()
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
    pub(crate) fn with<T: Send + 'static>(before: Option<Self>, value: T) -> (Self, StatePtr<T>) {
        let before = before.map(Self::into_raw);
        let owned = Box::into_raw(Box::new(Owned { value, before }));
        // SAFETY: it was boxed just now, so neither pointer is null, and the value is
        // live.
        unsafe {
            let value = NonNull::new_unchecked(&raw mut (*owned).value);
            (Self(NonNull::new_unchecked(owned)), StatePtr::new(value))
        }
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
        let (mut states, mut first) = States::with(None, Noted(0, Arc::clone(&order)));
        for n in 1..6 {
            (states, _) = States::with(Some(states), Noted(n, Arc::clone(&order)));
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
        let (mut states, _) = States::with(None, Arc::clone(&alive));
        for _ in 1..many {
            (states, _) = States::with(Some(states), Arc::clone(&alive));
        }
        drop(states);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
