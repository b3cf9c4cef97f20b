//! `cache-aware`: a pipeline of five handlers over an array of 80 KB (*Vol de tâches*,
//! section 4.2.1, figures 3 and 4).
//!
//! The first handler allocates the array and attaches it to the message; the next three
//! add to, multiply and reduce all its elements; the last counts messages. Who steals a
//! message from a core without a common cache moves the array too.

use super::assumed::Open;
use super::pipeline::{self, CORES, Load, Pipeline};
use super::program::Workload;
use crate::mely::Handler;

/// As in the paper.
const ARRAY_BYTES: usize = 80 << 10;

/// For an element of 4 bytes two cycles: a load, an operation, a store and the loop
/// around them, of which the processor begins up to four in a cycle, and a compiler of
/// those years leaves dependences.
const WORK_CYCLES: u64 = 2 * ARRAY_BYTES as u64 / 4;

/// The processing time of a handler, for policies that know it.
const COST_CYCLES: u32 = 50_000;

static PIPELINE: Pipeline = Pipeline {
    handlers: [
        Handler::new("cache-aware::Allocate").cost_cycles(COST_CYCLES),
        Handler::new("cache-aware::Add").cost_cycles(COST_CYCLES),
        Handler::new("cache-aware::Multiply").cost_cycles(COST_CYCLES),
        Handler::new("cache-aware::Reduce").cost_cycles(COST_CYCLES),
    ],
    count: Handler::new("cache-aware::Count").cost_cycles(100),
    bytes: ARRAY_BYTES,
};

pub(super) static WORKLOAD: Workload = Workload {
    cores: CORES,
    counted: &[
        "cache-aware::Allocate",
        "cache-aware::Add",
        "cache-aware::Multiply",
        "cache-aware::Reduce",
        "cache-aware::Count",
    ],
    warm: 4,
    rounds: 40,
    build: |simulation, setup| {
        let load = Load {
            work_cycles: WORK_CYCLES,
            messages: setup.assumed.count(Open::CacheAwareMessages),
        };
        pipeline::build(&PIPELINE, simulation, load)
    },
};
