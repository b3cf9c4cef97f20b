//! Free blocks of memory, kept for reuse.
//!
//! Each worker has a small array of what it freed last ("hot"); an array, because
//! a linked free list is a chain of dependent cache misses. What is too many goes,
//! a chunk at a time, to a reserve that all workers share, and comes back from there
//! to the worker that needs it: memory that is freed on another core than the one
//! that allocates must go home. New blocks are of slabs (`slab.rs`).

use core::cell::{Cell, RefCell};
use core::ops::Deref;
use std::sync::Arc;

use crate::machine::prefetch;
use crate::machine::sync::{Mutex, lock};

/// How many blocks change hands at once: a lock (20–120 ns) for 256 blocks costs each
/// less than 0.5 ns.
const CHUNK: usize = if cfg!(loom) { 2 } else { 256 };

/// How many blocks ahead the line of a block is fetched for writing. A locked
/// instruction waits for all writes before it, so a block that comes from memory
/// must not be asked for only when it is written.
const PREFETCH_BLOCKS: usize = 8;

/// Free blocks that all workers of a runtime share.
#[cfg_attr(feature = "virtual", repr(align(64)))]
pub(crate) struct Reserve<B> {
    chunks: Mutex<Vec<Vec<B>>>,
    chunks_max: usize,
}

impl<B> Reserve<B> {
    /// A reserve of up to `blocks_max` blocks; more are freed.
    pub(crate) fn new(blocks_max: usize) -> Arc<Self> {
        Arc::new(Self {
            chunks: Mutex::new(Vec::new()),
            chunks_max: blocks_max / CHUNK,
        })
    }

    /// Frees all blocks.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.chunks));
        drop(all);
    }

    fn put(&self, chunk: Vec<B>) {
        let mut chunks = lock(&self.chunks);
        if chunks.len() < self.chunks_max {
            chunks.push(chunk);
        } else {
            drop(chunks);
            drop(chunk);
        }
    }

    fn get(&self) -> Option<Vec<B>> {
        lock(&self.chunks).pop()
    }
}

/// Free blocks of a worker.
pub(crate) struct Pool<B> {
    /// The block freed last: a handler that posts one event for each that it runs
    /// needs no other.
    hottest: Cell<Option<B>>,
    hot: RefCell<Vec<B>>,
    reserve: Arc<Reserve<B>>,
}

impl<B: Deref<Target: Sized>> Pool<B> {
    pub(crate) fn new(reserve: &Arc<Reserve<B>>) -> Self {
        Self {
            hottest: Cell::new(None),
            hot: RefCell::new(Vec::new()),
            reserve: Arc::clone(reserve),
        }
    }

    /// Takes a block, if there is one.
    #[inline]
    pub(crate) fn take(&self) -> Option<B> {
        // Not by `or_else`, which is called and not inlined.
        match self.hottest.take() {
            Some(block) => Some(block),
            None => self.take_hot(),
        }
    }

    #[inline(never)]
    fn take_hot(&self) -> Option<B> {
        let mut hot = self.hot.borrow_mut();
        if hot.is_empty() {
            *hot = self.reserve.get()?;
        }
        let block = hot.pop();
        if let Some(later) = hot.iter().nth_back(PREFETCH_BLOCKS) {
            prefetch::line(&raw const **later);
        }
        block
    }

    /// Keeps a block.
    #[inline]
    pub(crate) fn keep(&self, block: B) {
        if let Some(older) = self.hottest.replace(Some(block)) {
            self.keep_hot(older);
        }
    }

    #[inline(never)]
    fn keep_hot(&self, block: B) {
        let mut hot = self.hot.borrow_mut();
        hot.push(block);
        if hot.len() >= 2 * CHUNK {
            let newer = hot.split_off(CHUNK);
            let older = std::mem::replace(&mut *hot, newer);
            drop(hot);
            self.reserve.put(older);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_reuses_what_was_freed_last() {
        let pool = Pool::new(&Reserve::new(0));
        assert_eq!(pool.take(), None);
        pool.keep(Box::new(1));
        pool.keep(Box::new(2));
        assert_eq!(
            (pool.take(), pool.take(), pool.take()),
            (Some(Box::new(2)), Some(Box::new(1)), None)
        );
    }

    #[test]
    fn pool_gives_to_and_takes_from_the_reserve() {
        let reserve = Reserve::new(10 * CHUNK);
        let (busy, needy) = (Pool::new(&reserve), Pool::new(&reserve));
        (0..5 * CHUNK).for_each(|block| busy.keep(Box::new(block)));
        let mut moved: Vec<_> = std::iter::from_fn(|| needy.take()).map(|b| *b).collect();
        moved.extend(std::iter::from_fn(|| busy.take()).map(|b| *b));
        moved.sort_unstable();
        assert!(
            moved.into_iter().eq(0..5 * CHUNK),
            "none is lost or doubled"
        );
    }

    #[test]
    fn pool_frees_what_is_more_than_the_reserve_may_hold() {
        let block = Arc::new(());
        let pool = Pool::new(&Reserve::new(CHUNK));
        (0..5 * CHUNK).for_each(|_| pool.keep(Box::new(Arc::clone(&block))));
        assert!(Arc::strong_count(&block) <= 3 * CHUNK + 1);
        pool.reserve.clear();
        drop(pool);
        assert_eq!(Arc::strong_count(&block), 1);
    }
}
