//! The primitives of a simulation: the standard library's, which tell of each use
//! before it happens. Without a simulation on the thread they are just those.

use std::sync::atomic::{self, Ordering};

use crate::machine::probe;
use crate::machine::region::Access;

/// The operations that all of the atomics have.
macro_rules! common {
    ($value:ty) => {
        #[inline]
        pub(crate) fn load(&self, order: Ordering) -> $value {
            probe::touch(self, Access::Read);
            self.0.load(order)
        }

        #[inline]
        pub(crate) fn store(&self, value: $value, order: Ordering) {
            probe::touch(self, Access::Write);
            self.0.store(value, order);
        }

        #[inline]
        pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
            probe::touch(self, Access::Update);
            self.0.swap(value, order)
        }

        #[inline]
        pub(crate) fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            probe::touch(self, Access::Update);
            self.0.compare_exchange(current, new, success, failure)
        }

        /// Never fails for no reason: that would be different from run to run.
        #[inline]
        pub(crate) fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            self.compare_exchange(current, new, success, failure)
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name(atomic::$name);

        #[allow(dead_code, reason = "not every width needs every operation")]
        impl $name {
            pub(crate) const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            common!($value);

            #[inline]
            pub(crate) fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                probe::touch(self, Access::Update);
                self.0.fetch_add(more, order)
            }

            #[inline]
            pub(crate) fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                probe::touch(self, Access::Update);
                self.0.fetch_sub(less, order)
            }

            #[inline]
            pub(crate) fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                probe::touch(self, Access::Update);
                self.0.fetch_max(value, order)
            }

            #[inline]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                probe::touch(self, Access::Update);
                self.0.fetch_update(set, fetch, update)
            }
        }
    };
}

integer!(AtomicU16, u16);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);

#[derive(Debug, Default)]
pub(crate) struct AtomicBool(atomic::AtomicBool);

#[allow(dead_code, reason = "as above")]
impl AtomicBool {
    pub(crate) const fn new(value: bool) -> Self {
        Self(atomic::AtomicBool::new(value))
    }

    common!(bool);
}

#[derive(Debug)]
pub(crate) struct AtomicPtr<T>(atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub(crate) const fn new(value: *mut T) -> Self {
        Self(atomic::AtomicPtr::new(value))
    }

    common!(*mut T);

    /// Reads it, with acquire, and tells nobody.
    #[inline]
    pub(crate) fn load_untold(&self) -> *mut T {
        self.0.load(Ordering::Acquire)
    }
}
