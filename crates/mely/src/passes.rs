//! Who may hold colors without a counted reference, and until when.
//!
//! See `docs/protocols.md`, "Passing".

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::cell::ColorRef;
use crate::remote::Remote;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, lock};

/// Whether a worker's outbox is in use: an odd number while it is, another one each
/// time.
#[derive(Debug)]
pub(crate) struct Passes(AtomicU64);

impl Passes {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The outbox is in use from now on; called by its worker alone.
    #[inline]
    pub(crate) fn begin(&self) {
        // Release is more than is needed: whoever drops a last reference has seen
        // the drop of the one by which this pass was made, and with it this store.
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }

    /// The outbox is empty.
    #[inline]
    pub(crate) fn end(&self) {
        // Release pairs with the acquire of `in_use`: who sees the end sees what was
        // delivered.
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }

    /// The number of the use, if the outbox is in use.
    #[inline]
    fn in_use(&self) -> Option<u64> {
        let number = self.0.load(Acquire);
        (!number.is_multiple_of(2)).then_some(number)
    }

    /// Whether that use is over.
    fn is_over(&self, number: u64) -> bool {
        self.0.load(Acquire) != number
    }
}

/// Whether no outbox can hold a color whose last counted reference the caller has.
#[inline]
pub(crate) fn nobody_passes(remotes: &[Arc<Remote>]) -> bool {
    remotes
        .iter()
        .all(|remote| remote.passes.in_use().is_none())
}

/// The last reference to a color, and the outboxes that may still hold it.
struct Waiting {
    color: ColorRef,
    uses: Vec<(usize, u64)>,
}

/// Colors that nobody refers to, but that an outbox may hold.
pub(crate) struct WaitingColors {
    count: AtomicUsize,
    colors: Mutex<Vec<Waiting>>,
}

impl WaitingColors {
    pub(crate) fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            colors: Mutex::new(Vec::new()),
        }
    }

    /// Keeps the last reference to a color until no outbox can hold it.
    pub(crate) fn keep(&self, color: ColorRef, remotes: &[Arc<Remote>]) {
        let in_use = |(worker, remote): (usize, &Arc<Remote>)| {
            remote.passes.in_use().map(|number| (worker, number))
        };
        let uses = remotes.iter().enumerate().filter_map(in_use).collect();
        lock(&self.colors).push(Waiting { color, uses });
        self.count.fetch_add(1, Release);
    }

    /// Whether there may be any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: whoever misses one, or the one who added it, comes by again.
        self.count.load(Relaxed) > 0
    }

    /// Takes those that no outbox can hold any more (all, if nothing runs any more).
    pub(crate) fn take(&self, remotes: &[Arc<Remote>], all: bool) -> Vec<ColorRef> {
        let mut colors = lock(&self.colors);
        let is_over = |&(worker, number): &(usize, u64)| remotes[worker].passes.is_over(number);
        let ready = |waiting: &mut Waiting| all || waiting.uses.iter().all(is_over);
        let taken: Vec<_> = colors.extract_if(.., ready).map(|w| w.color).collect();
        self.count.fetch_sub(taken.len(), Release);
        taken
    }
}
