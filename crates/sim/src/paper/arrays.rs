//! Memory of the workloads, as their allocator gives it out.

use std::sync::{Arc, Mutex, PoisonError};

use crate::mely::Region;

/// Arrays of one size. Each worker has a list of free ones, and takes the last that it
/// freed, as the thread caches of the papers' allocator do (TCMalloc; *Efficient
/// Workstealing*, section IV).
pub(super) struct Arrays {
    bytes: usize,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    of_workers: Vec<Vec<u32>>,
    made: u32,
}

/// An array, and where it comes from.
pub(super) struct Array {
    number: u32,
    of: Arc<Arrays>,
}

impl Arrays {
    pub(super) fn new(workers: usize, bytes: usize) -> Arc<Self> {
        let free = Free {
            of_workers: vec![Vec::new(); workers],
            made: 0,
        };
        Arc::new(Self {
            bytes,
            free: Mutex::new(free),
        })
    }

    /// An array for a worker.
    pub(super) fn take(self: &Arc<Self>, worker: usize) -> Array {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let number = free.of_workers[worker].pop().unwrap_or_else(|| {
            free.made += 1;
            free.made
        });
        Array {
            number,
            of: Arc::clone(self),
        }
    }
}

impl Array {
    /// All of it.
    pub(super) fn region(&self) -> Region {
        Region::logical(self.number, self.of.bytes)
    }

    /// A worker frees it.
    pub(super) fn free(self, worker: usize) {
        let mut free = self.of.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.of_workers[worker].push(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_what_it_freed_last() {
        let arrays = Arrays::new(2, 64);
        let (one, two) = (arrays.take(0), arrays.take(0));
        let regions = (one.region(), two.region());
        assert_ne!(regions.0, regions.1);
        one.free(1);
        two.free(1);
        assert_eq!(arrays.take(1).region(), regions.1);
        assert_ne!(arrays.take(0).region(), regions.0);
        assert_eq!(arrays.take(1).region(), regions.0);
    }
}
