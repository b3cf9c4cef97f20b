//! Dropping and calling what belongs to the program: it may panic, and its destructors
//! drop, post and wait in their turn.

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How deep destructors may lie in each other before the next waits until they have
/// returned: a list of a hundred thousand colors, each of which has the next in its
/// state, would else overflow the stack.
const DEPTH_MAX: u32 = 64;

/// How often an event that was refused may wait for the destructors around it. One that
/// posts itself again whenever it is dropped is forgotten then, after a thousand times.
const ROUNDS_MAX: u32 = 16;

/// What waits for the destructors of a thread to return.
struct Waiting {
    depth: Cell<u32>,
    /// How often what is being dropped has waited.
    round: Cell<u32>,
    values: RefCell<Values>,
}

/// Values, and how often each has waited.
type Values = VecDeque<(u32, Box<dyn Any + Send>)>;

#[cfg(not(loom))]
thread_local! {
    static WAITING: Waiting = const {
        Waiting {
            depth: Cell::new(0),
            round: Cell::new(0),
            values: RefCell::new(VecDeque::new()),
        }
    };
}

#[cfg(loom)]
loom::thread_local! {
    static WAITING: Waiting = Waiting {
        depth: Cell::new(0),
        round: Cell::new(0),
        values: RefCell::new(VecDeque::new()),
    };
}

/// The destructors that a virtual core is in, while another one has the thread.
#[cfg(feature = "virtual")]
#[derive(Default)]
pub struct Destructors {
    depth: u32,
    round: u32,
    values: Values,
}

#[cfg(feature = "virtual")]
impl Destructors {
    /// Puts these in the place of those that the thread is in.
    pub fn swap(&mut self) {
        // A thread that is being torn down has none.
        let _ = WAITING.try_with(|waiting| {
            self.depth = waiting.depth.replace(self.depth);
            self.round = waiting.round.replace(self.round);
            core::mem::swap(&mut self.values, &mut waiting.values.borrow_mut());
        });
    }
}

/// Calls into the program where nobody handles a panic: it goes to the panic hook and
/// no further, as it must not end a worker. Whether there was none.
pub(crate) fn call_safely(call: impl FnOnce()) -> bool {
    // Loom ends what it searches by panics of its own.
    if cfg!(loom) {
        call();
        return true;
    }
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        return true;
    };
    // The payload is the program's, too.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        core::mem::forget(again);
    }
    false
}

/// What a panic says.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> Box<str> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("its payload is no text").into()
}

/// Drops a value of the program's; a panic of its destructor goes no further.
///
/// Deep inside of other destructors it is dropped after them, on the same thread.
pub(crate) fn drop_safely<T: Send + 'static>(value: T) {
    drop_in_turn(value, 0);
}

/// The same for an event that was refused, which may post again when it is dropped.
pub(crate) fn drop_refused<T: Send + 'static>(value: T) {
    drop_in_turn(value, 1);
}

/// What a thread would have dropped that shall not run destructors.
#[derive(Default)]
pub(crate) struct Deferred(Values);

impl Deferred {
    /// Runs `work`; what it drops safely of the program's is kept here.
    pub(crate) fn of(&mut self, work: impl FnOnce()) {
        let depth_before = WAITING.with(|waiting| waiting.depth.replace(DEPTH_MAX));
        call_safely(work);
        WAITING.with(|waiting| {
            waiting.depth.set(depth_before);
            self.0.append(&mut waiting.values.borrow_mut());
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        for (_, value) in self.0.drain(..) {
            drop_safely(value);
        }
    }
}

fn drop_in_turn<T: Send + 'static>(value: T, rounds: u32) {
    let mut value = Some(value);
    // A thread that is being torn down drops at once.
    let _ = WAITING.try_with(|waiting| {
        if waiting.depth.get() < DEPTH_MAX {
            waiting.drop_now(value.take());
        } else if waiting.round.get() + rounds <= ROUNDS_MAX {
            let round = waiting.round.get() + rounds;
            let value: Box<dyn Any + Send> = Box::new(value.take());
            waiting.values.borrow_mut().push_back((round, value));
        } else {
            core::mem::forget(value.take());
        }
    });
    if value.is_some() {
        call_safely(|| drop(value));
    }
}

impl Waiting {
    fn drop_now<T>(&self, value: T) {
        let depth = self.depth.replace(self.depth.get() + 1);
        call_safely(|| drop(value));
        if depth == 0 {
            while let Some((round, value)) = self.pop() {
                self.round.set(round);
                call_safely(|| drop(value));
            }
            self.round.set(0);
        }
        self.depth.set(depth);
    }

    fn pop(&self) -> Option<(u32, Box<dyn Any + Send>)> {
        self.values.borrow_mut().pop_front()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    #[cfg_attr(
        miri,
        ignore = "what a payload panics with while it is dropped is leaked"
    )]
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
        assert!(!call_safely(|| drop(Bad)) && call_safely(|| ()));
    }

    #[test]
    fn what_is_deferred_is_dropped_later_wherever_that_is() {
        struct Noted(Arc<AtomicU32>);
        impl Drop for Noted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let (dropped, mut deferred) = (Arc::new(AtomicU32::new(0)), Deferred::default());
        deferred.of(|| {
            drop_safely(Noted(Arc::clone(&dropped)));
            drop_refused(Noted(Arc::clone(&dropped)));
        });
        assert!(dropped.load(Relaxed) == 0 && !deferred.is_empty());
        let dropping = std::thread::spawn(|| drop(deferred));
        dropping.join().expect("no panic");
        assert_eq!(dropped.load(Relaxed), 2);
        drop_safely(Noted(Arc::clone(&dropped)));
        assert_eq!(dropped.load(Relaxed), 3, "this thread drops again");
    }

    /// Drops so many more of its kind, one inside of the other.
    struct Nested {
        left: u32,
        dropped: Arc<AtomicU32>,
        drop: fn(Nested),
    }

    impl Drop for Nested {
        fn drop(&mut self) {
            self.dropped.fetch_add(1, Relaxed);
            if self.left > 0 {
                (self.drop)(Nested {
                    left: self.left - 1,
                    dropped: Arc::clone(&self.dropped),
                    drop: self.drop,
                });
            }
        }
    }

    fn dropped_of(left: u32, drop: fn(Nested)) -> u32 {
        let dropped = Arc::new(AtomicU32::new(0));
        drop(Nested {
            left,
            dropped: Arc::clone(&dropped),
            drop,
        });
        dropped.load(Relaxed)
    }

    #[test]
    fn a_long_chain_of_destructors_does_not_overflow_the_stack() {
        let chain = if cfg!(miri) { 1_000 } else { 1_000_000 };
        assert_eq!(dropped_of(chain, drop_safely), chain + 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it leaks, as it says")]
    fn what_is_refused_for_ever_is_forgotten() {
        let dropped = dropped_of(u32::MAX, drop_refused);
        assert_eq!(dropped, DEPTH_MAX * (ROUNDS_MAX + 1));
        // A later one begins anew.
        assert_eq!(dropped_of(100, drop_refused), 101);
    }
}
