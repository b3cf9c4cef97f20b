//! Free memory of one kind, kept for reuse on the thread that freed it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::{self, MaybeUninit};
use core::ptr::NonNull;

/// Free blocks for a `T` each: an array, because a linked free list is a chain of
/// dependent cache misses.
///
/// Memory is reused where it was used last ("hot"), up to a limit; beyond it, it
/// goes back to the allocator. Blocks aligned to a cache line are worth keeping:
/// the allocator takes 100 ns and more for one.
pub(crate) struct Pool<T> {
    free: UnsafeCell<Vec<NonNull<T>>>,
    blocks_max: usize,
}

impl<T> Pool<T> {
    pub(crate) fn new(blocks_max: usize) -> Self {
        Self {
            free: UnsafeCell::new(Vec::new()),
            blocks_max,
        }
    }

    /// Memory for a `T`, uninitialised: from the pool, or from the allocator.
    #[inline]
    pub(crate) fn take(pool: Option<&Self>) -> NonNull<T> {
        let reused = pool.and_then(|pool| {
            // SAFETY: the pool is not `Sync`, and nothing else is called while the
            // reference lives.
            unsafe { &mut *pool.free.get() }.pop()
        });
        reused.unwrap_or_else(|| NonNull::from(Box::leak(Box::<T>::new_uninit())).cast())
    }

    /// Gives memory back.
    ///
    /// # Safety
    ///
    /// `block` came from [`take`](Self::take) (of any pool), is the caller's alone,
    /// and nothing in it is alive.
    #[inline]
    pub(crate) unsafe fn give_back(pool: Option<&Self>, block: NonNull<T>) {
        if let Some(pool) = pool {
            // SAFETY: as in `take`; pushing a pointer calls nothing of ours.
            let free = unsafe { &mut *pool.free.get() };
            if free.len() < pool.blocks_max {
                free.push(block);
                return;
            }
        }
        // SAFETY: `take` leaked exactly this box.
        drop(unsafe { Box::from_raw(block.cast::<MaybeUninit<T>>().as_ptr()) });
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        for block in mem::take(self.free.get_mut()) {
            // SAFETY: the pool owns its free blocks.
            unsafe { Self::give_back(None, block) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_reuses_what_came_back_last_and_keeps_no_more_than_its_limit() {
        let pool = Pool::<u64>::new(1);
        let (a, b) = (Pool::take(Some(&pool)), Pool::take(Some(&pool)));
        // SAFETY: both are ours, and nothing was put into them.
        unsafe {
            Pool::give_back(Some(&pool), a);
            Pool::give_back(Some(&pool), b);
        }
        assert_eq!(Pool::take(Some(&pool)), a);
        // SAFETY: as above.
        unsafe { Pool::give_back(None, a) };
    }
}
