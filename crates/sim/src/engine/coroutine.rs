//! The stack of a virtual core: a function that is left in the middle and gone on
//! with later.
#![allow(unsafe_code)]

use core::cell::{Cell, RefCell};
use core::ptr::{self, NonNull};
use std::io;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::mely::simulated::Destructors;

/// The bytes of a core's stack: handlers are called on it. Pages that are never
/// touched take no memory.
const STACK_BYTES: usize = 1 << 20;

/// How many stacks a thread keeps for the next simulation: mapping them anew took half
/// of the time of a random program on eight cores. The papers' largest machine has 8
/// cores, the largest that is searched for bugs 64.
const FREE_STACKS_MAX: usize = 64;

thread_local! {
    static FREE_STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack that another function has left, or a new one.
fn stack() -> io::Result<DefaultStack> {
    match FREE_STACKS.with(|free| free.borrow_mut().pop()) {
        Some(stack) => Ok(stack),
        None => DefaultStack::new(STACK_BYTES),
    }
}

type YielderPtr = NonNull<Yielder<(), ()>>;

/// The way out of a stack, while its function runs.
#[derive(Clone, Default)]
struct WayOut(Rc<Cell<Option<YielderPtr>>>);

/// A function on a stack of its own.
pub(super) struct Stack {
    coroutine: Coroutine<(), (), ()>,
    /// What the runtime keeps for each thread is its own, too.
    destructors: Destructors,
}

/// The thread is that of a function, for as long as this lives.
struct InPlace<'a>(&'a mut Destructors);

impl<'a> InPlace<'a> {
    fn of(destructors: &'a mut Destructors) -> Self {
        destructors.swap();
        Self(destructors)
    }
}

impl Drop for InPlace<'_> {
    fn drop(&mut self) {
        self.0.swap();
    }
}

/// Leaves the function from the inside.
#[derive(Clone, Default)]
pub(super) struct Leave(WayOut);

impl Stack {
    /// A function that runs when it is resumed; `leave` leaves it.
    pub(super) fn new(leave: &Leave, body: impl FnOnce() + 'static) -> io::Result<Self> {
        let way_out = leave.0.clone();
        let coroutine = Coroutine::with_stack(stack()?, move |yielder, ()| {
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
        let destructors = Destructors::default();
        Ok(Self {
            coroutine,
            destructors,
        })
    }

    /// Runs the function until it leaves, or ends: whether it has ended.
    #[inline]
    pub(super) fn resume(&mut self) -> bool {
        let _in_place = InPlace::of(&mut self.destructors);
        matches!(self.coroutine.resume(()), CoroutineResult::Return(()))
    }

    /// Whether the function has ended, or panicked.
    pub(super) fn has_ended(&self) -> bool {
        self.coroutine.done()
    }

    /// Keeps the stack of a function that has ended for another one.
    pub(super) fn reuse(self) {
        debug_assert!(self.has_ended(), "its function needs it");
        let stack = self.coroutine.into_stack();
        // A thread that is ending keeps none.
        let _ended = FREE_STACKS.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < FREE_STACKS_MAX {
                free.push(stack);
            }
        });
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
