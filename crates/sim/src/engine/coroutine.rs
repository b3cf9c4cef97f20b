//! The stack of a virtual core: a function that is left in the middle and gone on
//! with later.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::{self, NonNull};
use std::io;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// The bytes of a core's stack: handlers are called on it. Pages that are never
/// touched take no memory.
const STACK_BYTES: usize = 1 << 20;

type YielderPtr = NonNull<Yielder<(), ()>>;

/// The way out of a stack, while its function runs.
#[derive(Clone, Default)]
struct WayOut(Rc<Cell<Option<YielderPtr>>>);

/// A function on a stack of its own.
pub(super) struct Stack {
    coroutine: Coroutine<(), (), ()>,
}

/// Leaves the function from the inside.
#[derive(Clone, Default)]
pub(super) struct Leave(WayOut);

impl Stack {
    /// A function that runs when it is resumed; `leave` leaves it.
    pub(super) fn new(leave: &Leave, body: impl FnOnce() + 'static) -> io::Result<Self> {
        let way_out = leave.0.clone();
        let coroutine =
            Coroutine::with_stack(DefaultStack::new(STACK_BYTES)?, move |yielder, ()| {
                struct Close(WayOut);
                impl Drop for Close {
                    fn drop(&mut self) {
                        self.0.0.set(None);
                    }
                }
                way_out
                    .0
                    .set(NonNull::new(ptr::from_ref(yielder).cast_mut()));
                let _close = Close(way_out);
                body();
            });
        Ok(Self { coroutine })
    }

    /// Runs the function until it leaves, or ends: whether it has ended.
    #[inline]
    pub(super) fn resume(&mut self) -> bool {
        matches!(self.coroutine.resume(()), CoroutineResult::Return(()))
    }
}

impl Leave {
    /// Leaves the function; returns when it is resumed.
    ///
    /// Must be called by the function that runs on this stack: the caller sees to it
    /// that the core which leaves is the one that runs.
    #[inline(always)]
    pub(super) fn leave(&self) {
        let Some(yielder) = self.0.0.get() else {
            return;
        };
        // SAFETY: the yielder lives as long as the function, whose end clears the
        // pointer. `Stack::resume` needs it by exclusive reference, so it is not
        // resumed while it runs; and the engine calls this on the core that runs.
        unsafe { yielder.as_ref() }.suspend(());
    }
}
