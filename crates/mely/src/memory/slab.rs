//! Memory for what there is much of, events and colors, close together.
//!
//! An allocator gives a block that is aligned to a cache line twice the room that it needs,
//! so tens of thousands of them are more pages than the processor finds quickly. A slab is
//! an array of blocks that a thread hands out one after the other. Blocks go from thread to
//! thread and are used again (`pool.rs`); those that nobody keeps are given up one by one,
//! and the last of a slab frees it.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::machine::probe;
use crate::machine::sync::unpoison;

/// How large a slab is, and how it is aligned: so its head is found from any block.
/// 16 pages: to allocate one costs each of its blocks some nanoseconds.
const SLAB_BYTES: usize = 64 * 1024;

const SLAB: Layout = match Layout::from_size_align(SLAB_BYTES, SLAB_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("the size is a power of two"),
};

/// What stands before the blocks of a slab.
struct Head<T: InSlab> {
    left: T::Left,
}

/// How many blocks of a slab have not been given up.
pub(crate) trait Left {
    fn new(blocks: usize) -> Self;

    /// Gives up so many of them. Whether they were the last: then all that was done in the
    /// others has happened.
    fn give_up(&self, blocks: usize) -> bool;
}

/// Slabs outlive what loom searches, so it has a kind of its own (`loom_tests/slabs.rs`).
macro_rules! left {
    ($atomic:ty) => {
        impl Left for $atomic {
            fn new(blocks: usize) -> Self {
                Self::new(blocks)
            }

            fn give_up(&self, blocks: usize) -> bool {
                // Release: what was done in the blocks comes before the end of the slab.
                let last = self.fetch_sub(blocks, Release) == blocks;
                if last {
                    // Acquire pairs with the release of all who gave up others.
                    self.load(Acquire);
                }
                last
            }
        }
    };
}
left!(AtomicUsize);
#[cfg(loom)]
left!(loom::sync::atomic::AtomicUsize);

/// What blocks are for.
pub(crate) trait InSlab: Sized + 'static {
    /// Counts the blocks of a slab.
    type Left: Left;

    /// Shows the slab of this thread; `None` if the thread is being torn down.
    fn with_slab<R>(work: impl FnOnce(&ThreadSlab<Self>) -> R) -> Option<R>;

    /// What threads that have ended left of their slabs: the next ones go on there. Else
    /// thirty thousand threads that post once would keep as many slabs.
    fn leftovers() -> &'static Mutex<Vec<Rest<Self>>>;

    /// Leaves a rest there.
    fn leave(rest: Rest<Self>) {
        unpoison(Self::leftovers().lock()).push(rest);
    }

    /// Takes one from there.
    fn leftover() -> Option<Rest<Self>> {
        unpoison(Self::leftovers().lock()).pop()
    }

    /// The place of the first block of a slab.
    const FIRST: usize = size_of::<Head<Self>>().next_multiple_of(align_of::<Self>());

    /// How many blocks a slab has.
    const COUNT: usize = (SLAB_BYTES - Self::FIRST) / size_of::<Self>();
}

/// Lets blocks be for a type: one slab for each thread.
macro_rules! in_slab {
    ($type:ty) => {
        impl $crate::memory::slab::InSlab for $type {
            type Left = std::sync::atomic::AtomicUsize;

            $crate::memory::slab::slab_of!($type);
        }
    };
}
pub(crate) use in_slab;

/// What [`InSlab`] asks for, of a type that is in slabs.
macro_rules! slab_of {
    ($type:ty) => {
        fn with_slab<R>(
            work: impl FnOnce(&$crate::memory::slab::ThreadSlab<$type>) -> R,
        ) -> Option<R> {
            thread_local! {
                static SLAB: $crate::memory::slab::ThreadSlab<$type> =
                    const { $crate::memory::slab::ThreadSlab::new() };
            }
            SLAB.try_with(work).ok()
        }

        fn leftovers() -> &'static std::sync::Mutex<Vec<$crate::memory::slab::Rest<$type>>> {
            static LEFTOVERS: std::sync::Mutex<Vec<$crate::memory::slab::Rest<$type>>> =
                std::sync::Mutex::new(Vec::new());
            &LEFTOVERS
        }
    };
}
pub(crate) use slab_of;

/// The slab of which a thread hands out blocks.
pub(crate) struct ThreadSlab<T: InSlab> {
    /// The next block, and how many are left from it on.
    next: Cell<(NonNull<T>, usize)>,
}

impl<T: InSlab> ThreadSlab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            next: Cell::new((NonNull::dangling(), 0)),
        }
    }

    /// Memory for one `T`.
    fn take(&self) -> NonNull<T> {
        let (block, left) = match self.next.get() {
            (_, 0) => begin_slab(),
            next => next,
        };
        // SAFETY: it is in the slab, or just behind its last block.
        self.next.set((unsafe { block.add(1) }, left - 1));
        block
    }
}

impl<T: InSlab> Drop for ThreadSlab<T> {
    fn drop(&mut self) {
        let (block, left) = self.next.get();
        if left > 0 {
            T::leave(Rest(block, left));
        }
    }
}

/// What a thread that has ended had left of its slab.
pub(crate) struct Rest<T>(NonNull<T>, usize);

// SAFETY: the blocks are free memory, and nobody else's.
unsafe impl<T> Send for Rest<T> {}

#[cfg(all(test, loom))]
impl<T: InSlab> Rest<T> {
    pub(crate) fn give_up(self) {
        // SAFETY: the rest has these blocks, and they are free memory.
        unsafe { give_up(self.0, self.1) };
    }
}

/// The first block of a slab that has so many: of one that another thread left behind, or
/// a new one.
#[cold]
fn begin_slab<T: InSlab>() -> (NonNull<T>, usize) {
    match T::leftover() {
        Some(Rest(block, left)) => (block, left),
        None => (new_slab(), T::COUNT),
    }
}

/// A new slab: its first block.
fn new_slab<T: InSlab>() -> NonNull<T> {
    const { assert!(size_of::<T>() > 0 && T::COUNT > 0 && align_of::<T>() <= SLAB_BYTES) };
    // SAFETY: the size is not 0.
    let Some(slab) = NonNull::new(unsafe { alloc(SLAB) }) else {
        handle_alloc_error(SLAB);
    };
    let left = T::Left::new(T::COUNT);
    // SAFETY: a slab begins with its head, and is aligned to more than that.
    unsafe { slab.cast::<Head<T>>().write(Head { left }) };
    // SAFETY: there is room for the head and `COUNT` blocks.
    unsafe { slab.add(T::FIRST) }.cast()
}

/// Gives up so many blocks of one slab, of which this is the first; frees the slab if they
/// are the last.
///
/// # Safety
///
/// The caller has them, nothing in them is alive, and this pointer came from
/// [`ThreadSlab::take`], so that it may reach all of the slab.
unsafe fn give_up<T: InSlab>(block: NonNull<T>, count: usize) {
    let head = block
        .as_ptr()
        .map_addr(|block| block & !(SLAB_BYTES - 1))
        .cast::<Head<T>>();
    // SAFETY: the head is there for as long as there is a block that was not given up.
    if unsafe { &(*head).left }.give_up(count) {
        // SAFETY: `begin_slab` allocated it so, and nobody has a block of it.
        unsafe { dealloc(head.cast(), SLAB) };
    }
}

/// A value in a block of a slab: a `Box` otherwise.
pub(crate) struct Block<T: InSlab>(NonNull<T>, PhantomData<T>);

// SAFETY: it owns its value, and the head of the slab is atomic.
unsafe impl<T: InSlab + Send> Send for Block<T> {}

impl<T: InSlab> Block<T> {
    pub(crate) fn new(value: T) -> Self {
        let taken = T::with_slab(ThreadSlab::take);
        // A thread that is being torn down takes one of a slab of its own.
        let block = taken.unwrap_or_else(|| ThreadSlab::new().take());
        probe::born(block.as_ptr());
        // SAFETY: it is memory for a `T`, and nobody else's.
        unsafe { block.write(value) };
        Self(block, PhantomData)
    }

    pub(crate) fn into_raw(self) -> NonNull<T> {
        ManuallyDrop::new(self).0
    }

    /// Takes back what was given away.
    ///
    /// # Safety
    ///
    /// The pointer is the very one that [`into_raw`](Self::into_raw) gave, and the caller
    /// owns the value.
    pub(crate) unsafe fn from_raw(raw: NonNull<T>) -> Self {
        Self(raw, PhantomData)
    }
}

impl<T: InSlab> Deref for Block<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the block owns a value.
        unsafe { self.0.as_ref() }
    }
}

impl<T: InSlab> DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl<T: InSlab> Drop for Block<T> {
    fn drop(&mut self) {
        /// Gives up the block even when dropping the value panics.
        struct GiveUp<T: InSlab>(NonNull<T>);
        impl<T: InSlab> Drop for GiveUp<T> {
            fn drop(&mut self) {
                // SAFETY: it was the block of a value that is no more.
                unsafe { give_up(self.0, 1) };
            }
        }
        let block = GiveUp(self.0);
        // SAFETY: the block owns the value, and ends.
        unsafe { block.0.drop_in_place() };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Counted {
        number: [u64; 16],
        _count: Arc<()>,
    }
    in_slab!(Counted);

    fn counted(number: u64, count: &Arc<()>) -> Block<Counted> {
        Block::new(Counted {
            number: [number; 16],
            _count: Arc::clone(count),
        })
    }

    #[test]
    fn blocks_are_apart_and_close_together() {
        let count = Arc::new(());
        let numbers = || 0..2 * Counted::COUNT as u64 + 3;
        let blocks: Vec<_> = numbers().map(|number| counted(number, &count)).collect();
        assert!(numbers().eq(blocks.iter().map(|block| block.number[0])));
        assert!(
            blocks
                .iter()
                .all(|block| block.number == [block.number[0]; 16])
        );
        let steps = blocks.windows(2).filter(|pair| {
            (&raw const *pair[1])
                .addr()
                .wrapping_sub((&raw const *pair[0]).addr())
                == size_of::<Counted>()
        });
        assert!(steps.count() >= blocks.len() - 4, "a slab is an array");
        drop(blocks);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn blocks_outlive_their_thread_and_end_on_another() {
        let count = Arc::new(());
        let many = Counted::COUNT as u64 + 7;
        let blocks: Vec<_> = std::thread::scope(|scope| {
            let made = (0..3).map(|_| {
                let count = &count;
                let make = move || (0..many).map(|n| counted(n, count)).collect::<Vec<_>>();
                scope.spawn(make)
            });
            let made: Vec<_> = made.collect();
            let made = made
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            made.flatten().collect()
        });
        assert!(
            blocks
                .iter()
                .map(|b| b.number[15])
                .eq((0..3).flat_map(|_| 0..many))
        );
        let (one, other): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|b| b.number[0] % 2 == 0);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(one));
            drop(other);
        });
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn blocks_come_to_a_thread_that_is_torn_down_too() {
        struct Late(Arc<()>);
        impl Drop for Late {
            fn drop(&mut self) {
                assert_eq!(counted(5, &self.0).number[3], 5);
            }
        }
        thread_local!(static LATE: Cell<Option<Late>> = const { Cell::new(None) });
        let count = Arc::new(());
        let late = Late(Arc::clone(&count));
        let thread = std::thread::spawn(move || {
            LATE.set(Some(late));
            // The slab is made after, and so torn down before.
            drop(counted(1, &Arc::new(())));
        });
        thread.join().expect("no panic");
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn raw_blocks_are_taken_back() {
        let count = Arc::new(());
        let mut block = counted(1, &count);
        block.number[0] = 9;
        let raw = block.into_raw();
        // SAFETY: it was given away just now.
        let block = unsafe { Block::from_raw(raw) };
        assert_eq!((block.number[0], block.number[1]), (9, 1));
        drop(block);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
