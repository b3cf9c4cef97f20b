//! What the models watch: accesses, drops, and what has run.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::SeqCst;

use loom::cell::UnsafeCell;
use loom::sync::Condvar;

use crate::machine::sync::{Arc, Mutex, lock, unpoison};

/// State that loom watches: any two unordered accesses are an error.
pub(super) struct Watched(UnsafeCell<Vec<u32>>);

// SAFETY: loom checks that accesses are ordered, which is what is being tested.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(Vec::new()))
    }

    pub(super) fn add(&mut self, value: u32) -> usize {
        // SAFETY: `&mut self`, as far as the color keeps its promise; loom checks.
        self.0.with_mut(|list| unsafe {
            (*list).push(value);
            (*list).len()
        })
    }

    pub(super) fn values(&mut self) -> Vec<u32> {
        // SAFETY: as above.
        self.0.with_mut(|list| unsafe { (*list).clone() })
    }

    /// An access that may be beside others of its kind.
    pub(super) fn look(&self) {
        self.0.with(|_| ());
    }

    /// An access that comes after all others.
    pub(super) fn end(&self) {
        self.0.with_mut(|_| ());
    }
}

/// Counts its drops. The count is not loom's: nothing is ordered by it.
#[derive(Clone)]
pub(super) struct Drops(pub(super) std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Drops {
    pub(super) fn new() -> Self {
        Self(std::sync::Arc::default())
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// What is counted.
    pub(super) fn counted(&self) -> Counted {
        Counted {
            touched: Watched::new(),
            drops: self.clone(),
        }
    }
}

/// What is to be dropped once, after all that was done with it.
pub(super) struct Counted {
    pub(super) touched: Watched,
    drops: Drops,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.touched.add(0);
        self.drops.0.fetch_add(1, SeqCst);
    }
}

/// A gate that threads wait at until as many events as expected have run.
pub(super) struct Gate {
    run: Mutex<usize>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            run: Mutex::new(0),
            changed: Condvar::new(),
        })
    }

    pub(super) fn pass(&self) {
        *lock(&self.run) += 1;
        self.changed.notify_all();
    }

    pub(super) fn wait_for(&self, events: usize) {
        let mut run = lock(&self.run);
        while *run < events {
            run = unpoison(self.changed.wait(run));
        }
    }
}
