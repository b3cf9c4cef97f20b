//! Memory that cached files may take, counted exactly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A number of bytes to share. It guards no other memory, so every access is relaxed.
#[derive(Debug)]
pub(crate) struct Budget {
    used: Arc<AtomicUsize>,
    limit: usize,
}

/// Some bytes of a budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            used: Arc::default(),
            limit,
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    pub(crate) fn charge(&self, bytes: usize) -> Option<Charge> {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).ok()?;
        Some(Charge {
            used: self.used.clone(),
            bytes,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_refused_past_the_limit_and_given_back() {
        let budget = Budget::new(10);
        let first = budget.charge(7).unwrap();
        assert!(budget.charge(4).is_none());
        assert!(budget.charge(usize::MAX).is_none());
        let second = budget.charge(3).unwrap();
        drop(first);
        assert_eq!(budget.used(), 3);
        drop(second);
        assert_eq!(budget.used(), 0);
    }
}
