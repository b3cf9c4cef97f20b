//! The penalties that thieves have learned, for all workers of a runtime to see: who
//! times an event after a move is not who weighs the next ones.

use core::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use mely_sched::{AfterMove, Belief, Ewma, Penalty};

use crate::event::handler::{HANDLERS_MAX, HandlerId};

/// How many bits of a word hold the penalty: a learned one has 15.
const PENALTY_BITS: u32 = 32;

/// By number of the handler; 0 while nothing is known.
pub(crate) struct Penalties(Box<[AtomicU64; HANDLERS_MAX]>);

/// A learned penalty; another one after each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learned(u64);

impl Learned {
    const NOTHING: Learned = Learned(0);

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

/// What one worker knows of the penalty of a handler.
#[derive(Debug)]
pub(crate) struct Known {
    /// What it timed as a thief.
    after_move: Cell<AfterMove>,
    /// What some thief learned, when this worker last looked, and what is still
    /// believed of it.
    believed: Cell<(Learned, Belief)>,
}

impl Known {
    pub(crate) const fn new() -> Self {
        Self {
            after_move: Cell::new(AfterMove::new()),
            believed: Cell::new((Learned::NOTHING, Belief::FIRM)),
        }
    }

    /// The penalty to weigh with, of what was learned last.
    pub(crate) fn penalty(&self, learned: Learned) -> Penalty {
        self.belief(learned).in_penalty(learned.penalty())
    }

    /// An event was timed whose color had not moved.
    pub(crate) fn fade(&self, learned: Learned) {
        let mut belief = self.belief(learned);
        belief.fade();
        self.believed.set((learned, belief));
    }

    /// An event was timed whose color had moved here: the penalty by that, if there is
    /// enough to tell.
    pub(crate) fn sample(&self, cycles: u64, ordinary: &Ewma, learned: Learned) -> Option<Penalty> {
        let mut after_move = self.after_move.get();
        if self.belief(learned).is_weak() {
            after_move.doubt();
        }
        after_move.sample(cycles, ordinary);
        self.after_move.set(after_move);
        after_move.penalty(ordinary)
    }

    fn belief(&self, learned: Learned) -> Belief {
        match self.believed.get() {
            (same, belief) if same == learned => belief,
            _ => Belief::FIRM,
        }
    }
}
