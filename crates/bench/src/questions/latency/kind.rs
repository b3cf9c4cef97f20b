//! Latencies of one kind of thing, from when a run has begun.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::{Latencies, no_latencies};
use crate::measure::Failure;

/// Latencies of one kind, from what has been due since the run began.
pub(super) struct Kind {
    began: Arc<OnceLock<Instant>>,
    latencies: Mutex<Latencies>,
    /// How many there were, also before the run began.
    seen: AtomicUsize,
}

impl Kind {
    pub(super) fn new(began: &Arc<OnceLock<Instant>>) -> Result<Self, Failure> {
        Ok(Self {
            began: Arc::clone(began),
            latencies: Mutex::new(no_latencies()?),
            seen: AtomicUsize::new(0),
        })
    }

    /// What was due then has happened now.
    pub(super) fn record(&self, due: Instant) {
        if self.began.get().is_some_and(|began| due >= *began) {
            let late = u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mut latencies = self
                .latencies
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Never refused: it grows as needed.
            latencies.record(late).ok();
        }
        // Relaxed: only counted.
        self.seen.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }

    pub(super) fn latencies(&self) -> Latencies {
        let latencies = self.latencies.lock();
        latencies.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
