//! The penalties that thieves have learned, for all workers of a runtime to see: who
//! times an event after a move is not who weighs the next ones.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use mely_sched::Penalty;

use crate::handler::{HANDLERS_MAX, HandlerId};

/// How many bits of a word hold the penalty: a learned one has 15.
const PENALTY_BITS: u32 = 32;

/// By number of the handler; 0 while nothing is known.
pub(crate) struct Penalties(Box<[AtomicU64; HANDLERS_MAX]>);

/// A learned penalty; another one after each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learned(u64);

impl Learned {
    pub(crate) const NOTHING: Learned = Learned(0);

    pub(crate) fn penalty(self) -> Penalty {
        Penalty::from_bits(self.0 % (1 << PENALTY_BITS))
    }
}

impl Penalties {
    pub(crate) fn new() -> Self {
        Self(Box::new([const { AtomicU64::new(0) }; HANDLERS_MAX]))
    }

    /// What any thief learned last.
    pub(crate) fn of(&self, handler: HandlerId) -> Learned {
        self.at(handler.index())
    }

    /// The same, of the handler with this index.
    pub(crate) fn at(&self, handler: usize) -> Learned {
        // Relaxed: an estimate.
        Learned(self.0[handler].load(Relaxed))
    }

    /// Tells all workers what a thief learned from its so manieth sample.
    pub(crate) fn learn(&self, handler: HandlerId, penalty: Penalty, sample: u64) {
        let word = sample << PENALTY_BITS | penalty.to_bits();
        // Relaxed: as above.
        self.0[handler.index()].store(word, Relaxed);
    }
}
