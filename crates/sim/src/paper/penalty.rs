//! `penalty`: chains of events that walk through an array, all begun on the first core
//! (seed 000, section V-B, table V).
//!
//! The first core starts with many events A, each of its own color. A creates an array
//! that fits in the cache and posts a B of the same color; B accesses the next piece of
//! the array and posts the next B, until the array has been accessed completely. The
//! annotated penalty of B is 1000.
//!
//! The paper leaves the sizes open (see [`super::assumed`]). The size of a piece is
//! calibrated on the rate without stealing.

use std::sync::Arc;

use mely_papers::definitions::penalty::PENALTY;

use super::arrays::{Array, Arrays};
use super::assumed::Open;
use super::program::{Begin, Setup, Workload};
use super::rounds::{self, Round, Rounds, Source};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Context, Handler};

/// What an event B accesses. Calibrated: Libasync-smp without stealing.
const PIECE_BYTES: usize = 99 * 64;
/// What an allocator takes for a large piece of memory: not given, and little beside
/// what writing it takes.
const ALLOCATE_CYCLES: u64 = 500;

/// What profiling says: without stealing, from this simulation.
static CREATE: Handler = Handler::new("penalty::A").cost_cycles(48_000);
static ACCESS: Handler = Handler::new("penalty::B").cost_cycles(850).penalty(PENALTY);
static ROUND: Handler = Handler::new("penalty::Round");

pub(super) static WORKLOAD: Workload = Workload {
    cores: &[],
    counted: &["penalty::A", "penalty::B"],
    warm: 5,
    rounds: 40,
    build,
};

struct Chains {
    arrays: Arc<Arrays>,
    chains: usize,
    pieces: usize,
}

impl Source for Chains {
    const ROUND: &'static Handler = &ROUND;

    fn post(&mut self, round: &Arc<Round<Self>>, cx: &mut Context<'_, Rounds<Self>>) {
        let pieces = self.pieces;
        for _ in 0..self.chains {
            let (arrays, round) = (Arc::clone(&self.arrays), Arc::clone(round));
            cx.with_handler(&CREATE).post_parallel(move |_, cx| {
                let array = arrays.take(cx.worker());
                cx.spend(ALLOCATE_CYCLES);
                cx.touch(array.region(), Access::Write);
                let chain = Box::new(Chain {
                    array,
                    next: 0,
                    pieces,
                    round,
                });
                cx.with_handler(&ACCESS)
                    .post_or_shed(move |_, cx| chain.access(cx));
            });
        }
    }
}

/// What the events of a color pass on to each other.
struct Chain {
    array: Array,
    next: usize,
    pieces: usize,
    round: Arc<Round<Chains>>,
}

impl Chain {
    /// Event B.
    fn access(mut self: Box<Self>, cx: &mut Context<'_>) {
        let start = self.next * PIECE_BYTES;
        let piece = self.array.region().part(start..start + PIECE_BYTES);
        cx.touch(piece, Access::Write);
        self.next += 1;
        if self.next < self.pieces {
            cx.with_handler(&ACCESS)
                .post_or_shed(move |_, cx| self.access(cx));
            return;
        }
        let Self { array, round, .. } = *self;
        array.free(cx.worker());
        drop(round);
    }
}

fn build(simulation: &Simulation, setup: &Setup) -> Result<Begin, Error> {
    let pieces = setup.assumed.count(Open::PenaltyPieces);
    let chains = Chains {
        arrays: Arrays::new(simulation.handle().workers(), pieces * PIECE_BYTES),
        chains: setup.assumed.count(Open::PenaltyChains),
        pieces,
    };
    rounds::build(simulation, chains)
}
