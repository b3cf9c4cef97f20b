//! Dropping what belongs to the program, whose destructors may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops a value of the program's. A panic of its destructor goes to the panic hook
/// and no further: it must not end a worker.
pub(crate) fn drop_safely<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload is the program's, too.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panicking_destructor_goes_no_further() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                std::panic::panic_any(Worse);
            }
        }
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                panic!("the payload panics as well");
            }
        }
        drop_safely(Bad);
    }
}
